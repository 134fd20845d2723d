import { expect, it } from "vitest";
import { readSource } from "../../../src/tools/import/read.ts";
import { CommandError } from "../../../src/tools/command.ts";
import { MOST_ROWS } from "../../../src/tools/rules/csv.ts";
import { listOf } from "../../../src/tools/rules/register-list.ts";

const SIZE = 1_000_000;

/** A structure that contains itself many times. */
const RECURSIVE = `<Symbolconfiguration><TypeList><TypeUserDef name="T">${'<UserDefElement iecname="a" type="T"/>'.repeat(30)}</TypeUserDef></TypeList><NodeList><Node name="x" type="T"/></NodeList></Symbolconfiguration>`;

it.each([
  ["only line breaks", "\n".repeat(SIZE)],
  ["only blanks", " ".repeat(SIZE)],
  ["only opening braces", "{".repeat(SIZE)],
  ["opening braces of a template", `source: modbus\n${"{{ ".repeat(20_000)}`],
  ["line breaks before a template", `${"\n".repeat(100_000)}source: modbus`],
  ["a template that is too long", `${"\n".repeat(SIZE + 1)}source: modbus`],
  ["only opening brackets", `[${"[".repeat(SIZE)} inputs.modbus`],
  ["deeply nested tags", '{"tagType":"Folder","tags":['.repeat(SIZE / 40)],
  ["only elements", `<UANodeSet>${"<a>".repeat(SIZE / 4)}`],
  ["entities that multiply", '<!DOCTYPE x [<!ENTITY a "&b;&b;">]><UANodeSet><Uri>&a;</Uri></UANodeSet>'],
  ["a structure that contains itself", RECURSIVE],
  ["aliases that multiply", `modbus:\n  - &a [${"1,".repeat(50)}]\n  - sensors: [*a, *a]\n    address: 1\n`],
])("the reader of lists ends for a file of %s, with an error that names the file or with rows", async (_, text) => {
  try {
    const { tables, maker } = await readSource("list.txt", new TextEncoder().encode(text));
    const list = listOf(tables, new Map(), maker);
    expect(list === null || "excess" in list || list.rows.length <= MOST_ROWS).toBe(true);
  } catch (error) {
    expect(error).toBeInstanceOf(CommandError);
    expect(String(error)).toContain("list.txt");
  }
});
