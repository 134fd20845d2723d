import type { LogState } from "../../domain/booth-state.ts";
import type { EntryAnswer, FilterChange } from "../../domain/entry.ts";
import type { Parameters } from "../../domain/parameters.ts";
import type { Milliseconds, Seq } from "../../domain/units.ts";

/**
 * Longest time since an entered filter change. The booth's use is kept this long, so that it can be assigned to the filter that was fitted
 * then.
 */
export const MAX_AGO_MS: Milliseconds = 36 * 3_600_000;

type Entries = Pick<LogState, "entries" | "seqOfEntry">;

/** Decides about a requested filter change: returns an answer at once, or "write" if the change must be written to the log. */
export function decideChange(
  change: FilterChange,
  log: Entries,
  parameters: Parameters | null,
): EntryAnswer | { readonly kind: "write" } {
  const known = log.entries().find(({ id }) => id === change.id);
  if (known !== undefined) return { kind: "done", entry: known };
  if (parameters?.filters[change.filter] === undefined)
    return refused(`the booth has no ${change.filter.replace("_", " ")}`);
  if (change.ago_ms < 0) return refused("a change that is still to come can't be entered");
  if (change.ago_ms > MAX_AGO_MS) return refused("a change over 36 h ago can't be entered any more");
  return { kind: "write" };
}

/** Decides about an undo: returns an answer at once, or "write" with the record `seq` whose undo must be written to the log. */
export function decideUndo(id: string, log: Entries): EntryAnswer | { readonly kind: "write"; readonly seq: Seq } {
  const entry = log.entries().find((one) => one.id === id);
  const seq = log.seqOfEntry(id);
  if (entry === undefined || seq === undefined) return refused("no such entry is known");
  if (entry.outcome === "undone") return { kind: "done", entry };
  if (entry.outcome !== "entered") return refused("the entry changed nothing, so there is nothing to undo");
  if (entry.undo_until === null) return refused("it is over 24 h ago, or the filter was changed again since");
  return { kind: "write", seq };
}

/** Returns the answer after the log's state includes the record; null if it doesn't yet. */
export function answered(id: string, log: Entries, { undone }: { readonly undone: boolean }): EntryAnswer | null {
  const entry = log.entries().find((one) => one.id === id);
  if (entry === undefined || (undone && entry.outcome !== "undone")) return null;
  return { kind: "done", entry };
}

function refused(reason: string): EntryAnswer {
  return { kind: "refused", reason };
}
