import { describe, expect, it } from "vitest";
import { render } from "../../../src/domain/messages/render.ts";
import { clickPlace } from "../../../src/tools/rules/click-addresses.ts";
import { MOST_COLUMNS, MOST_ROWS } from "../../../src/tools/rules/csv.ts";
import {
  isCrossed,
  notationOf,
  placeOf,
  placeText,
  type ReadRow,
  tableOf,
} from "../../../src/tools/rules/list-places.ts";
import { nextQuestion, type ReadingAnswers, readingOf } from "../../../src/tools/rules/list-reading.ts";
import { tableIn, tableOfFunction } from "../../../src/tools/rules/list-tables.ts";
import { numberIn, numberStyleOf, scalingOf } from "../../../src/tools/rules/list-values.ts";
import { type RegisterList, registerList, typeNamed } from "../../../src/tools/rules/register-list.ts";

function listOf(text: string): RegisterList {
  const list = registerList(text);
  if (list === null || "excess" in list) throw new Error("not a list");
  return list;
}

function rowsOf(list: RegisterList): readonly ReadRow[] {
  const crossed = isCrossed(list);
  return list.rows.map((row) => {
    const type = typeNamed(row.cells) ?? "?";
    const table = tableOf(row, list, { type, words: new Map() });
    const named = typeof table === "string" ? table : null;
    return { row, type, notation: notationOf(row, list, { type, table: named, crossed }) };
  });
}

/** Each row as name, type and place; if the list leaves a question open, only the question. */
function read(text: string, answers: ReadingAnswers = {}): readonly (readonly string[])[] {
  const rows = rowsOf(listOf(text));
  const open = nextQuestion({ rows }, answers);
  if (open !== null)
    return [[`asks ${open.options.join(" and ")}: ${open.choices.map(({ value }) => value).join(" ")}`]];
  const reading = readingOf({ rows }, answers);
  return rows.map((one) => {
    const place = placeOf(one, reading);
    const at = "message" in place ? `refused: ${render(place.message)}` : placeText(place);
    return [one.row.cells.name ?? "", one.type, at];
  });
}

/** Only the places. */
const places = (text: string, answers?: ReadingAnswers): readonly string[] =>
  read(text, answers).map((row) => row.at(-1) ?? "");

describe("a register list", () => {
  it("from CLICK software is read by its Modbus addresses and function codes", () => {
    const text = `Address,Data Type,Modbus Address,Function Code,Nickname,Initial Value,Retentive,Address Comment
X001,BIT,100001,"FC=02","Door",0,No,""
C1,BIT,16385,"FC=01,05,15","Burner On",0,No,"flame, proven"
DS1,INT,400001,"FC=03,06,16","Mode",0,Yes,""
DD1,INT2,416385,"FC=03,06,16","Cycles",0,Yes,""
DF1,FLOAT,7000h,"FC=03,06,16","Air ""Temp""",0,Yes,""
`;
    expect(listOf(text).maker).toBe("CLICK");
    expect(read(text)).toEqual([
      ["Door", "bool", "discrete:0"],
      ["Burner On", "bool", "coil:16384"],
      ["Mode", "int16", "holding:0"],
      ["Cycles", "int32", "holding:16384"],
      ['Air "Temp"', "float32", "holding:28672"],
    ]);
  });

  it("from CLICK software without Modbus addresses is read by the fixed CLICK address table, which also rejects contradicting rows", () => {
    const text =
      "Address,Data Type,Nickname\nX001,BIT,Door\nY002,BIT,Fan\nC5,BIT,Burner\nDS12,INT,Mode\nTXT2,TEXT,Half\nDS9000,INT,Gone\n";
    expect(places(text).slice(0, 4)).toEqual(["discrete:0", "coil:8193", "coil:16388", "holding:11"]);
    expect(places(text)[4]).toBe("refused: TXT2 begins in the middle of a register");
    expect(places(text)[5]).toMatch(/^refused: /);
    const wrong = "Address,Data Type,Modbus Address,Nickname\nDS1,INT,400007,Mode\n";
    expect(places(wrong)).toEqual(["refused: DS1 is holding:0 in every CLICK, but the list says 400007"]);
  });

  it("from Productivity software is read despite ## before its column heads, with types from the system IDs", () => {
    const text = `## System ID,Tag Name,Retentive Mode,Initial Value,MODBUS Start Address,MODBUS End Address,Number of Characters,Comment,
## 2.0,,,,,,,,
F32-000003,Air Temp,FALSE,0,400001,400002,,Booth air,
AIS32-000001,Raw,TRUE,,400027,400028,,,
STR-000001,Serial,TRUE,,400019,400022,8,,
C-000003,ESD_OK,false,True,000009,000009,,,
`;
    expect(registerList(text)).toMatchObject({
      maker: "Productivity",
      unknown: ["Retentive Mode", "Initial Value", "MODBUS End Address"],
    });
    expect(read(text)).toEqual([
      ["Air Temp", "float32", "holding:0"],
      ["Raw", "int32", "holding:26"],
      ["Serial", "string", "holding:18"],
      ["ESD_OK", "bool", "coil:8"],
    ]);
  });

  it("from Connected Components software is read, with semicolons as separators", () => {
    const text =
      "Variable Name;Data Type;Address;Addresses Used\r\nBoothMode;Int;400001;400001\r\nAirTemp;Real;400003;400003 - 400004\r\n";
    expect(listOf(text).maker).toBe("Connected Components");
    expect(read(text)).toEqual([
      ["BoothMode", "int16", "holding:0"],
      ["AirTemp", "float32", "holding:2"],
    ]);
  });

  it("from TIA software is read by byte offsets in a data block, and an odd offset of a number is rejected", () => {
    const block =
      "Name\tData type\tOffset\tStart value\tComment\nMode\tInt\t0.0\t0\t\nBurner\tBool\t4.1\tfalse\t\nLate\tBool\t5.0\tfalse\t\nTemp\tReal\t6.0\t0.0\t\nOdd\tInt\t7.0\t\t\n";
    expect(listOf(block).maker).toBe("TIA");
    expect(places(block)).toEqual([
      "holding:0",
      "holding:2.9",
      "holding:2.0",
      "holding:3",
      "refused: 7 begins in the middle of a register",
    ]);
  });

  it("with several data blocks requires a choice of the block that MB_HOLD_REG maps, and rows of other blocks are rejected", () => {
    const two = "Name,Address,Data Type\nAir,DB11.DBD8,Real\nPressure,DB42.DBD8,Real\nSmall,DB11.DBW12,Real\n";
    expect(read(two)).toEqual([["asks block: DB11 DB42 none"]]);
    expect(places(two, { block: "DB42" })).toEqual([
      "refused: the address is in DB11, but the PLC maps DB42 to Modbus",
      "holding:4",
      "refused: DB11.DBW12 does not have the size of the type float32",
    ]);
    const flags = "Name,Path,Data Type,Logical Address\nMode,Tags,Int,%MW10\nOn,Tags,Bool,%M12.3\n";
    expect(read(flags)).toEqual([["asks block: M words none"]]);
    expect(places(flags, { block: "M" })).toEqual(["holding:5", "holding:6.11"]);
    expect(places(flags, { block: "words" })[0]).toBe("holding:10");
  });

  it("is read except for rows whose address is ambiguous or invalid", () => {
    const text =
      "address,name,type\n400001,Mode,uint16\n400003.4,Door,bool\n10028,Coil?,bool\n300005,Temp,REAL\nx,Y,Z\n";
    expect(listOf(text).maker).toBe("generic");
    const [mode, door, coil, temp, bad] = read(text);
    expect([mode, door, temp]).toEqual([
      ["Mode", "uint16", "holding:0"],
      ["Door", "bool", "holding:2.4"],
      ["Temp", "float32", "input:4"],
    ]);
    expect(coil?.[2]).toContain("refused: 10028 is ambiguous");
    expect(bad).toEqual(["Y", "?", 'refused: "x" is not a Modbus address']);
  });

  it("with 400001.0 from a spreadsheet is read as register 400001, while a bit of a number is rejected", () => {
    const text = "Name,Address,Type\na,400001.0,INT\nb,400002.3,INT\nc,400003.3,BOOL\n";
    expect(places(text)).toEqual(["holding:0", expect.stringContaining("refused: "), "holding:2.3"]);
  });

  it("is not recognized without columns for name and address, and is rejected if too large or with an unclosed quote", () => {
    expect(registerList("a,b\n1,2\n")).toBeNull();
    expect(registerList("")).toBeNull();
    const wide = `${",".repeat(500_000)}name,address,type\n`;
    expect(registerList(wide)).toEqual({ excess: "columns", line: 1 });
    expect(MOST_COLUMNS).toBeLessThan(500_000);
    const long = `name,address,type\n${"a,400001,INT\n".repeat(MOST_ROWS + 1)}`;
    expect(registerList(long)).toMatchObject({ excess: "rows" });
    expect(registerList('name,address,type\na,400001,INT\nb,400002,INT,"WC\nc,400003,INT\n')).toEqual({
      excess: "quote",
      line: 3,
    });
  });

  it("with line breaks in a cell keeps the cell as a single line of text, and each row knows its line number", () => {
    const text =
      'Name,Address,Type,Description\nLock,400021,UINT16,"Bits:\r\n0x1 - in\u0007\u202e"\nSpare,400022,UINT16,\n';
    const { rows } = listOf(text);
    expect(rows.map(({ line, cells }) => [line, cells.label])).toEqual([
      [2, "Bits: 0x1 - in"],
      [4, undefined],
    ]);
  });
});

describe("the address base (0 or 1) of a register list", () => {
  const list = (...addresses: readonly string[]): string =>
    `Name,FC,Address,Type\n${addresses.map((at, i) => `n${i},3,${at},INT\n`).join("")}`;

  it("is asked for if a list with function codes gives only plain numbers", () => {
    expect(read(list("1", "0x10"))).toEqual([["asks base: 0 1"]]);
    expect(places(list("1", "0x10"), { base: "0" })).toEqual(["holding:1", "holding:16"]);
    expect(places(list("1", "0x10"), { base: "1" })).toEqual(["holding:0", "holding:15"]);
  });

  it.each([
    ["decimal", ["7", "0"], ["holding:7", "holding:0"]],
    ["hexadecimal", ["7", "0x0", "10h"], ["holding:7", "holding:0", "holding:16"]],
  ])("is 0 for all rows if one row has the %s address 0", (_, addresses, expected) => {
    expect(places(list(...addresses))).toEqual(expected);
  });

  it("is 0 for numbers that include the table's digit if a number is only the digit and zeros, such as 400000", () => {
    expect(places("Name,Address,Type\na,400000,INT\nb,400001,INT\n")).toEqual(["holding:0", "holding:1"]);
  });

  it("is asked for together with the register table if no column names the table", () => {
    const text = "Name,Address,Type\na,3,INT\n";
    expect(read(text)).toEqual([["asks table and base: holding:0 holding:1 input:0 input:1"]]);
    expect(places(text, { table: "input", base: "1" })).toEqual(["input:2"]);
    expect(read("Name,Address,Type\na,3,BOOL\n", { base: "1" })).toEqual([["asks bit-table: coil discrete"]]);
  });

  it("depends on the user's answer whether five digits such as 40002 include the table's digit", () => {
    const sunspec = "Name,FC,Address,Type\na,3,40000,INT\nb,3,40002,INT\n";
    expect(read(sunspec)).toEqual([["asks digits: table address"]]);
    expect(places(sunspec, { digits: "address", base: "0" })).toEqual(["holding:40000", "holding:40002"]);
    expect(places("Name,FC,Address,Type\na,3,40001,INT\n")).toEqual(["holding:0"]);
  });
});

describe("a column with register tables", () => {
  it.each([
    ["coil", "coil"],
    ["0x", "coil"],
    ["FC01", "coil"],
    ["Discrete Input", "discrete"],
    ["1xxxx", "discrete"],
    ["Read Discrete Inputs (02)", "discrete"],
    ["input", "some input"],
    ["Input Registers", "input"],
    ["3x", "input"],
    ["IR", "input"],
    ["FC 4", "input"],
    ["HR", "holding"],
    ["4x", "holding"],
    ["Holding Register", "holding"],
    ["FC=03,06,16", "holding"],
    ["Analog Output (holding)", "holding"],
    ["FC03,04", null],
    ["holding register (FC04)", null],
    ["3", null],
    ["Booth 1", null],
  ])("with the cell %j names the table %s", (cell, table) => {
    expect(tableIn(cell)).toBe(table);
  });

  it.each([
    ["3", "holding"],
    ["04", "input"],
    ["0x02", "discrete"],
    ["1, 5, 15", "coil"],
    ["3/4", null],
    ["Read", null],
  ])("with the function code %j names the table %s", (cell, table) => {
    expect(tableOfFunction(cell)).toBe(table);
  });

  it("is recognized by its cells if the column head is unknown, but not if no cell names a table", () => {
    expect(listOf("Name,Bereich,Address,Type\na,HR,0,INT\nb,IR,0,INT\n").columns).toContain("table");
    expect(listOf("Name,Area,Address,Type\na,Booth 1,0,INT\n").unknown).toEqual(["Area"]);
  });

  it("gives the table of each row", () => {
    const text = "Name,Register Type,Address,Type\nAir,input,0,FLOAT32\nDoor,discrete,3,BOOL\nSet,holding,0,FLOAT32\n";
    expect(places(text)).toEqual(["input:0", "discrete:3", "holding:0"]);
    expect(places("Name,Table,Address,Type\na,input,400001,INT\n")[0]).toContain("refused: 400001 is in the table");
  });
});

/** Rows of the address picker's own export: memory address and Modicon number. */
const CLICK_ADDRESSES = `
  X001:100001 X016:100016 X021:100017 X036:100032 X101:100033 X116:100048 X201:100065 X816:100272 Y001:8193
  Y021:8209 Y101:8225 C1:16385 C2000:18384 T1:145057 T500:145556 CT1:149153 CT250:149402 SC1:161441
  SC1000:162440 DS1:400001 DS4500:404500 DD1:416385 DD1000:418383 DH1:424577 DH500:425076 DF1:428673
  DF500:429671 XD0:357345 XD0u:357346 XD1:357347 XD8:357361 YD0:457857 YD8:457873 TD1:445057 TD500:445556
  CTD1:449153 CTD250:449651 SD1:361441 SD1000:362440 TXT1:436865 TXT3:436866 TXT999:437364
`;

describe("clickPlace", () => {
  it.each(
    CLICK_ADDRESSES.trim()
      .split(/\s+/)
      .map((row) => row.split(":")),
  )("finds the CLICK address %s at the Modicon number %s", (address = "", modicon) => {
    const place = clickPlace(address);
    if (place === null || place === "half") throw new Error(address);
    const digit = { coil: 0, discrete: 1, input: 3, holding: 4 }[place.table];
    expect(digit * 100_000 + place.address + 1).toBe(Number(modicon));
  });

  it.each("X017 X037 X120 X901 Y000 C0 C2001 T501 DS4501 DD1001 XD9 XD1u Q1 TXT1001".split(" "))(
    "returns null for %s, which is no address of a CLICK PLC",
    (address) => {
      expect(clickPlace(address)).toBeNull();
    },
  );
});

describe("the numbers in a register list", () => {
  it.each([
    ["0.1", false, 0.1],
    ["0,1", false, 0.1],
    ["1/10", false, 0.1],
    ["1,000", false, null],
    ["1,000", true, 1],
    ["1.000", true, null],
    ["x10", false, null],
    ["10^-1", false, null],
  ])("are parsed from %j (decimal comma: %s) as %s", (text, hasComma, value) => {
    expect(numberIn(text, hasComma)).toBe(value);
  });

  it("give the scale and offset of a linear Kepware scaling, and a non-linear scaling is rejected", () => {
    const kepware = (scaling: string): string =>
      `Tag Name,Address,Data Type,Scaling,Raw Low,Raw High,Scaled Low,Scaled High,Negate Value\nA,400001,Short,${scaling}\n`;
    const scaled = (text: string) => {
      const list = listOf(text);
      return list.rows.map((row) => scalingOf(row, numberStyleOf(list)));
    };
    expect(scaled(kepware("Linear,0,1000,0,250,0"))).toEqual([{ scale: 0.25, offset: 0 }]);
    expect(scaled(kepware("Linear,4000,20000,-50,150,0"))).toEqual([{ scale: 0.0125, offset: -100 }]);
    expect(scaled(kepware("Linear,0,1000,0,250,1"))).toEqual([{ scale: -0.25, offset: 0 }]);
    expect(scaled(kepware("None,,,,,"))).toEqual([{ scale: 1, offset: 0 }]);
    expect(scaled(kepware("Square Root,0,1000,0,250,0"))).toEqual(["Square Root"]);
  });

  it("leave open whether a whole-number scale multiplies or divides, unless another row or the column head decides", () => {
    const style = (head: string, ...scales: readonly string[]) =>
      numberStyleOf(listOf(`Name,Address,Type,${head}\n${scales.map((one) => `a,400001,INT,${one}\n`).join("")}`))
        .scale;
    expect(style("Scale", "10")).toBeNull();
    expect(style("Scale", "10", "0.1")).toBe("multiply");
    expect(style("Multiplier", "10")).toBe("multiply");
    expect(style("Scale", "1", "")).toBe("multiply");
  });
});
