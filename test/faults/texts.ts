import { aligned } from "../support/aligned.ts";
import type { MadeBlock } from "../support/made-block.ts";
import type { RowAccount } from "./account.ts";
import { SECTIONS, type MatrixRow } from "./matrix.ts";

/** The matrix with a run's counts, for a terminal. */
export function countedText(accounts: readonly RowAccount[]): string {
  const cells = accounts.map(({ row, entries, injected, lost, doubled, wrong, trouble }) => [
    row.row.toString(),
    row.fault,
    entries === 0 ? "-" : injected.toString(),
    entries === 0 ? "-" : `${lost}/${doubled}/${wrong}`,
    row.expected,
    trouble ?? "",
  ]);
  return aligned([["row", "fault", "injected", "lost/doubled/wrong", "expected", ""], ...cells]);
}

/** The matrix without counts, as it stands in the documents: a table for each section. */
export function matrixBlock(): MadeBlock {
  const line = ({ row, fault, expected }: MatrixRow): string => `| ${row} | ${fault} | ${expected} |`;
  const tables = SECTIONS.map(({ title, rows }) =>
    [`| row | ${title.toLowerCase()} | expected |`, "| --- | --- | --- |", ...rows.map(line)].join("\n"),
  );
  return { document: "docs/reference/fault-matrix.md", name: "fault matrix", markdown: tables.join("\n\n") };
}
