import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { readXlsx } from "../../../src/tools/import/xlsx.ts";
import { workbook, workbookParts } from "../../support/workbook.ts";

const SHEET = "xl/worksheets/sheet1.xml";

async function read(bytes: Uint8Array) {
  const found = await readXlsx({ name: "list.xlsx", bytes, text: "" });
  return found?.tables.map((table) => table()) ?? [];
}

/** A workbook whose sheet is this text. */
function withSheet(text: string | Uint8Array): Uint8Array {
  const parts = { ...workbookParts({ List: [["Name"]] }), [SHEET]: typeof text === "string" ? strToU8(text) : text };
  return zipSync(parts, { level: 1 });
}

/** The size that an archive states for a part, replaced by another one in all places. */
function stating(archive: Uint8Array, size: number, other: number): Uint8Array {
  const bytes = Buffer.from(archive);
  const said = Buffer.alloc(4);
  said.writeUInt32LE(size);
  for (let at = bytes.indexOf(said); at >= 0; at = bytes.indexOf(said, at + 1)) bytes.writeUInt32LE(other, at);
  return new Uint8Array(bytes);
}

describe("the reader of workbooks", () => {
  it("reads 20,000 rows and keeps numbers as they are written", async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => [`Tag ${i}`, 400_001 + i, 0.1, `comment ${i}`]);
    const [table] = await read(workbook({ List: [["Name", "Address", "Scale", "Comment"], ...rows] }));
    expect(table).toHaveLength(20_001);
    expect(table).toContainEqual({ line: 20_001, cells: ["Tag 19999", "420000", "0.1", "comment 19999"] });
  });

  it("refuses a small archive that unpacks to 200 MB, without using that memory", async () => {
    const size = 123_456;
    const bomb = stating(withSheet(Buffer.alloc(size, 0x20)), size, 200_000_000);
    const before = process.memoryUsage.rss();
    await expect(read(bomb)).rejects.toThrow("needs too much memory or time");
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
  });

  it("refuses an archive that states a smaller size than it unpacks to", async () => {
    const size = 5_000_000;
    const bomb = stating(withSheet(Buffer.alloc(size, 0x20)), size, 5_000);
    await expect(read(bomb)).rejects.toThrow("is not a readable workbook");
  });

  it("refuses a cell so far away that the empty cells before it would fill the memory", async () => {
    const far =
      '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>';
    await expect(read(withSheet(far))).rejects.toThrow("needs too much memory or time");
  });
});
