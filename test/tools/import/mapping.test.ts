import { describe, expect, it } from "vitest";
import { imported, importBench } from "./bench.ts";

const PLACE = ["name", "address", "bit", "type"];

/** Lists as people and tools write them, each with the addresses that are right. */
const LISTS: readonly (readonly [
  what: string,
  text: string,
  options: readonly string[],
  tags: readonly unknown[][],
])[] = [
  [
    "function codes and a register 0 count from 0",
    "Name,Function Code,Register,Data Type\nBooth mode,3,0,UINT16\nCycle count,3,1,UINT32\nDoor open,2,0,BOOL\n",
    [],
    [
      ["booth_mode", "holding:0", undefined, "uint16"],
      ["cycle_count", "holding:1", undefined, "uint32"],
      ["door_open", "discrete:0", undefined, "bool"],
    ],
  ],
  [
    "a column of register types names the table",
    "Name,Register Type,Address,Type\nInlet air,input,0,FLOAT32\nDoor,discrete,3,BOOL\nSetpoint,holding,0,FLOAT32\n",
    [],
    [
      ["inlet_air", "input:0", undefined, "float32"],
      ["door", "discrete:3", undefined, "bool"],
      ["setpoint", "holding:0", undefined, "float32"],
    ],
  ],
  [
    "a description of several lines is one cell",
    'Name,Address,Type,Description\nLock state,400021,UINT16,"Bits of the lock:\n0x1 - plug in\n0x2 - plug locked"\nSpare,400022,UINT16,none\n',
    [],
    [
      ["lock_state", "holding:20", undefined, "uint16"],
      ["spare", "holding:21", undefined, "uint16"],
    ],
  ],
  [
    "a CLICK's memory addresses need no Modbus column",
    'Address,Data Type,Nickname,Initial Value\nX001,BIT,"DoorShut",0\nY002,BIT,"FanRun",0\nC5,BIT,"BurnerOk",0\nDS12,INT,"BoothMode",0\nTD4,INT,"PurgeTime",0\n',
    [],
    [
      ["door_shut", "discrete:0", undefined, "bool"],
      ["fan_run", "coil:8193", undefined, "bool"],
      ["burner_ok", "coil:16388", undefined, "bool"],
      ["booth_mode", "holding:11", undefined, "int16"],
      ["purge_time", "holding:45059", undefined, "int16"],
    ],
  ],
  [
    "heads such as Point, Modbus Address, Format and Units are recognized",
    "Point,Modbus Address,Format,Units\nBooth step,40101,UINT16,\nSupply air,40102,FLOAT32,degC\n",
    [],
    [
      ["booth_step", "holding:100", undefined, "uint16"],
      ["supply_air", "holding:101", undefined, "float32"],
    ],
  ],
  [
    "German heads are recognized",
    "Bezeichnung;Registerart;Registeradresse;Datentyp;Skalierungsfaktor;Maßeinheit;Bemerkung\nZuluft;Input Register;12;INT16;0,1;°C;Kanal\nTür;Coil;0;BOOL;;;\n",
    [],
    [
      ["zuluft", "input:12", undefined, "int16"],
      ["tur", "coil:0", undefined, "bool"],
    ],
  ],
  [
    "Spanish heads are recognized",
    "Nombre de la variable;Código de función;Dirección;Tipo de dato;Factor de escala;Unidad de medida;Descripción\nAire;04;30;INT16;0,1;°C;entrada\nPuerta;02;0;BOOL;;;\n",
    [],
    [
      ["aire", "input:30", undefined, "int16"],
      ["puerta", "discrete:0", undefined, "bool"],
    ],
  ],
  [
    "columns chosen by hand replace the recognized ones",
    "Gerätetext;Nr.;Codierung;Name\nZuluft;400013;REAL;x1\n",
    ["--columns", "A=name,B=address,C=type,D=none"],
    [["zuluft", "holding:12", undefined, "float32"]],
  ],
  [
    "a list without heads is read by the letters of its columns",
    "Zuluft;400013;REAL\nAbluft;400015;REAL\n",
    ["--columns", "A=name,B=address,C=type"],
    [
      ["zuluft", "holding:12", undefined, "float32"],
      ["abluft", "holding:14", undefined, "float32"],
    ],
  ],
  [
    "only the chosen lines are imported, but an unchosen line proves that the list counts from 0",
    "Name,FC,Address,Type\na,3,0,INT\nb,3,1,INT\nc,3,2,INT\nd,3,3,INT\n",
    ["--rows", "3,5"],
    [
      ["b", "holding:1", undefined, "int16"],
      ["d", "holding:3", undefined, "int16"],
    ],
  ],
  [
    "a list without types gets the type of the option",
    "Name,Address\na,400001\n",
    ["--type", "uint32"],
    [["a", "holding:0", undefined, "uint32"]],
  ],
];

describe("profile import", () => {
  it.each(LISTS)("%s", async (...[, text, options, tags]) => {
    expect(await imported(["list.csv", text], PLACE, { options })).toEqual(tags);
  });

  it("takes units of time as people write them, and gives no unit for a name alone", async () => {
    const text =
      "Name,Address,Type,Unit\nExhaust filter time,400031,UINT16,minutes\nExhaust filter hours,400032,UINT16,\nOutdoor temperature,400033,INT16,degF\n";
    expect(await imported(["list.csv", text], ["name", "unit", "role"])).toEqual([
      ["exhaust_filter_time", "min", "filter_minutes"],
      ["exhaust_filter_hours", undefined, undefined],
      ["outdoor_temperature", "F", undefined],
    ]);
  });

  it("lists the columns of a list whose heads it does not know, and names the option", async () => {
    const said = await imported(["list.csv", "Gerätetext;Nr.\nZuluft;400013\n"], []);
    expect(said).toContain("Name them with --columns");
    expect(said).toContain("The columns are: A Gerätetext, B Nr.");
  });

  it("refuses a wrong column or line with an example", async () => {
    const file = ["list.csv", "Name,Address,Type\na,400001,INT\n"] as const;
    expect(await imported(file, [], { options: ["--columns", "A=colour"] })).toContain("A=name,B=address");
    expect(await imported(file, [], { options: ["--rows", "2-x"] })).toContain("2,5-20");
  });

  it("imports 3 of 20,000 rows and refuses all 20,000, because a profile takes fewer tags", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `Tag ${i},${400_001 + i},INT`);
    const text = ["Name,Address,Type", ...rows].join("\n");
    expect(await imported(["list.csv", text], ["address"], { options: ["--rows", "2,10001,20001"] })).toEqual([
      ["holding:0"],
      ["holding:9999"],
      ["holding:19999"],
    ]);
    expect(await imported(["list.csv", text], [])).toContain("has 20000 names, more than 2000");
    expect(await imported(["list.csv", `${text}\nmore,400001,INT`], [])).toContain("more than 20000 rows");
  });

  it("asks for the type on a terminal if the list has none", async () => {
    const { run, asked, tags } = await importBench();
    expect(await run(["list.csv", "Name,Address\nair,400001\n"], [], "float32")).toMatchObject({ code: 0 });
    expect(asked[0]).toBe("The list has no column of types. Which type do the chosen rows have?");
    expect(tags()).toMatchObject([{ name: "air", type: "float32" }]);
  });
});
