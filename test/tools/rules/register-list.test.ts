import { describe, expect, it } from "vitest";
import { placeIn, registerList, typeNamed } from "../../../src/tools/rules/register-list.ts";

/** Each row as name, type and place. */
function read(text: string): readonly (readonly string[])[] {
  const list = registerList(text);
  return (list?.rows ?? []).map((row) => {
    const type = typeNamed(row.cells) ?? "?";
    const place = placeIn(row, type, { first: 1 });
    const at = "message" in place ? `refused: ${place.message}` : `${place.table}:${place.address}`;
    return [row.cells.name ?? "", type, "bit" in place ? `${at}.${String(place.bit)}` : at];
  });
}

describe("register lists", () => {
  it("of CLICK: the Modbus address counts, and its function code says which table", () => {
    const text = `Address,Data Type,Modbus Address,Function Code,Nickname,Initial Value,Retentive,Address Comment
X001,BIT,100001,"FC=02","Door",0,No,""
C1,BIT,16385,"FC=01,05,15","Burner On",0,No,"flame, proven"
DS1,INT,400001,"FC=03,06,16","Mode",0,Yes,""
DD1,INT2,416385,"FC=03,06,16","Cycles",0,Yes,""
DF1,FLOAT,7000h,"FC=03,06,16","Air ""Temp""",0,Yes,""
`;
    expect(registerList(text)?.maker).toBe("CLICK");
    expect(read(text)).toEqual([
      ["Door", "bool", "discrete:0"],
      ["Burner On", "bool", "coil:16384"],
      ["Mode", "int16", "holding:0"],
      ["Cycles", "int32", "holding:16384"],
      ['Air "Temp"', "float32", "holding:28672"],
    ]);
  });

  it("of Productivity: marks before its heads, types in the system's ids", () => {
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

  it("of Connected Components, with semicolons", () => {
    const text =
      "Variable Name;Data Type;Address;Addresses Used\r\nBoothMode;Int;400001;400001\r\nAirTemp;Real;400003;400003 - 400004\r\n";
    expect(registerList(text)?.maker).toBe("Connected Components");
    expect(read(text)).toEqual([
      ["BoothMode", "int16", "holding:0"],
      ["AirTemp", "float32", "holding:2"],
    ]);
  });

  it("of TIA: bytes of a data block, or of the flags", () => {
    const block =
      "Name\tData type\tOffset\tStart value\tComment\nMode\tInt\t0.0\t0\t\nBurner\tBool\t4.1\tfalse\t\nLate\tBool\t5.0\tfalse\t\nTemp\tReal\t6.0\t0.0\t\n";
    expect(registerList(block)?.maker).toBe("TIA");
    expect(read(block)).toEqual([
      ["Mode", "int16", "holding:0"],
      ["Burner", "bool", "holding:2.9"],
      ["Late", "bool", "holding:2.0"],
      ["Temp", "float32", "holding:3"],
    ]);
    const tags = "Name,Path,Data Type,Logical Address,Comment\nMode,Tags,Int,%MW10,\nOn,Tags,Bool,%M12.3,\n";
    expect(read(tags)).toEqual([
      ["Mode", "int16", "holding:5"],
      ["On", "bool", "holding:6.11"],
    ]);
  });

  it("of nobody in particular; what can be read in two ways is refused", () => {
    const text = "address,name,type\n1,Mode,uint16\n400003.4,Door,bool\n10028,Coil?,bool\n300005,Temp,REAL\nx,Y,Z\n";
    expect(registerList(text)?.maker).toBe("generic");
    const [mode, door, coil, temp, bad] = read(text);
    expect([mode, door, temp]).toEqual([
      ["Mode", "uint16", "holding:0"],
      ["Door", "bool", "holding:2.4"],
      ["Temp", "float32", "input:4"],
    ]);
    expect(coil?.[2]).toContain("refused: 10028 can be read in two ways");
    expect(bad).toEqual(["Y", "?", 'refused: "x" is no Modbus address']);
  });

  it("is none without a name and an address", () => {
    expect(registerList("a,b\n1,2\n")).toBeNull();
    expect(registerList("")).toBeNull();
  });
});
