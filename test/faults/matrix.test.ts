import { expect, it } from "vitest";
import type { FaultEntry } from "../support/faults.ts";
import { madeDocument } from "../support/made-block.ts";
import { accountOf, strangers } from "./account.ts";
import { MATRIX, type MatrixRow } from "./matrix.ts";
import { countedText, matrixBlock } from "./texts.ts";

const ROWS: readonly MatrixRow[] = [
  { row: 1, fault: "killed", expected: "back" },
  { row: 2, fault: "starved", expected: "back" },
];

function entry(row: number, more: Partial<FaultEntry> = {}): FaultEntry {
  return { row, fault: `fault of ${row}`, injected: 3, lost: 0, doubled: 0, wrong: 0, passed: true, ...more };
}

it("the fault matrix has unique row numbers, without a gap in the first 45", () => {
  const rows = MATRIX.map(({ row }) => row).toSorted((a, b) => a - b);
  expect(rows).toEqual([...new Set(rows)]);
  expect(rows.slice(0, 45)).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
});

it("docs/reference/fault-matrix.md contains the current fault matrix (npm run faults -- --write)", async () => {
  const { is, should } = await madeDocument(matrixBlock());
  expect(is).toBe(should);
});

it.each([
  ["reports a row without an entry", [entry(2)], ["no test has injected it in this run", null]],
  ["accepts rows that have an entry each", [entry(1), entry(2)], [null, null]],
  ["reports a row that lost something", [entry(1, { lost: 1 }), entry(2)], ["failed: fault of 1", null]],
  ["reports a row that duplicated something", [entry(1, { doubled: 1 }), entry(2)], ["failed: fault of 1", null]],
  ["reports a row with a wrong value", [entry(1, { wrong: 1 }), entry(2)], ["failed: fault of 1", null]],
  ["reports a row that did not pass", [entry(1), entry(2, { passed: false })], [null, "failed: fault of 2"]],
  [
    "reports a row that injected no fault",
    [entry(1, { injected: 0 }), entry(2)],
    ["nothing injected: fault of 1", null],
  ],
] as const)("the fault account %s", (_, entries, troubles) => {
  expect(accountOf(ROWS, entries).map(({ trouble }) => trouble)).toEqual(troubles);
});

it("the fault account sums up the entries of a row, and lists entries whose row does not exist", () => {
  const entries = [entry(1), entry(1, { fault: "another", injected: 4, lost: 2 }), entry(46)];
  const [first] = accountOf(ROWS, entries);
  expect(first).toMatchObject({ entries: 2, injected: 7, lost: 2, doubled: 0, wrong: 0 });
  expect(strangers(ROWS, entries)).toEqual([entry(46)]);
  expect(countedText(accountOf(ROWS, entries))).toBe(
    [
      "row  fault    injected  lost/doubled/wrong  expected",
      "1    killed   7         2/0/0               back      failed: another",
      "2    starved  -         -                   back      no test has injected it in this run",
    ].join("\n"),
  );
});
