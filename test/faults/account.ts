import type { FaultEntry } from "../support/faults.ts";
import type { MatrixRow } from "./matrix.ts";

/** A row of the matrix with what a run counted for it. */
export interface RowAccount {
  readonly row: MatrixRow;
  /** How many tests entered something. */
  readonly entries: number;
  readonly injected: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  /** Returns what is wrong as a sentence; null: nothing. */
  readonly trouble: string | null;
}

/** Every row of the matrix beside the run's entries, in the matrix's order. */
export function accountOf(matrix: readonly MatrixRow[], entries: readonly FaultEntry[]): RowAccount[] {
  return matrix.map((row) => {
    const own = entries.filter((entry) => entry.row === row.row);
    const sum = (of: (entry: FaultEntry) => number): number => own.reduce((total, entry) => total + of(entry), 0);
    return {
      row,
      entries: own.length,
      injected: sum(({ injected }) => injected),
      lost: sum(({ lost }) => lost),
      doubled: sum(({ doubled }) => doubled),
      wrong: sum(({ wrong }) => wrong),
      trouble: troubleOf(own),
    };
  });
}

/** Entries that name no row of the matrix: a number mistyped in a test. */
export function strangers(matrix: readonly MatrixRow[], entries: readonly FaultEntry[]): readonly FaultEntry[] {
  return entries.filter((entry) => !matrix.some(({ row }) => row === entry.row));
}

function troubleOf(own: readonly FaultEntry[]): string | null {
  const bad = own.filter(({ passed, lost, doubled, wrong }) => !passed || lost + doubled + wrong > 0);
  if (bad.length > 0) return `failed: ${bad.map(({ fault }) => fault).join("; ")}`;
  const idle = own.filter(({ injected }) => !(injected > 0));
  if (idle.length > 0) return `nothing injected: ${idle.map(({ fault }) => fault).join("; ")}`;
  return own.length === 0 ? "no test has injected it in this run" : null;
}
