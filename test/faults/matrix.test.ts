import { expect, it } from "vitest";
import type { FaultEntry } from "../support/faults.ts";
import { madeDocument } from "../support/made-block.ts";
import { accountOf, strangers } from "./account.ts";
import { MATRIX, type MatrixRow } from "./matrix.ts";
import { countedText, matrixBlock } from "./texts.ts";

const ROWS: readonly MatrixRow[] = [
  { row: 1, fault: "killed", expected: "back" },
  { row: 2, fault: "starved", expected: "back", nightly_because: "it takes long" },
];

function entry(row: number, more: Partial<FaultEntry> = {}): FaultEntry {
  return { row, fault: `fault of ${row}`, injected: 3, lost: 0, doubled: 0, wrong: 0, passed: true, ...more };
}

it("has 45 rows, numbered from 1", () => {
  expect(MATRIX.map(({ row }) => row)).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
});

it("stands in docs/reliability.md as it is (npm run faults -- --write)", async () => {
  const { is, should } = await madeDocument(matrixBlock());
  expect(is).toBe(should);
});

it.each([
  ["a row of every run without an entry", [entry(2)], ["no test has injected it in this run", null]],
  ["a row that waits for the night", [entry(1)], [null, null]],
  ["an entry that lost something", [entry(1, { lost: 1 })], ["failed: fault of 1", null]],
  ["an entry that doubled something", [entry(1, { doubled: 1 })], ["failed: fault of 1", null]],
  ["an entry with a wrong value", [entry(1, { wrong: 1 })], ["failed: fault of 1", null]],
  ["an entry that didn't pass", [entry(1), entry(2, { passed: false })], [null, "failed: fault of 2"]],
  ["an entry that injected nothing", [entry(1, { injected: 0 })], ["nothing injected: fault of 1", null]],
] as const)("ci: %s", (_, entries, troubles) => {
  expect(accountOf(ROWS, entries, "ci").map(({ trouble }) => trouble)).toEqual(troubles);
});

it("by night the rows that wait for it must have been injected, the others needn't", () => {
  const troubles = (entries: readonly FaultEntry[]) =>
    accountOf(ROWS, entries, "nightly").map(({ trouble }) => trouble);
  expect(troubles([])).toEqual([null, "no test has injected it in this run"]);
  expect(troubles([entry(2)])).toEqual([null, null]);
});

it("adds up the entries of a row, and names those of no row", () => {
  const entries = [entry(1), entry(1, { fault: "another", injected: 4, lost: 2 }), entry(46)];
  const [first] = accountOf(ROWS, entries, "ci");
  expect(first).toMatchObject({ entries: 2, injected: 7, lost: 2, doubled: 0, wrong: 0 });
  expect(strangers(ROWS, entries)).toEqual([entry(46)]);
  expect(countedText(accountOf(ROWS, entries, "ci"))).toBe(
    [
      "row  fault    injected  lost/doubled/wrong  expected",
      "1    killed   7         2/0/0               back      failed: another",
      "2    starved  -         -                   back      by night: it takes long",
    ].join("\n"),
  );
});
