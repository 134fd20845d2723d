import { answered, decideChange, decideUndo, type KnownEntries } from "./rules/filter-entries.ts";
import type { EntryAnswer, FilterChange } from "../domain/entry.ts";
import type { LogRecord } from "../domain/record.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { Signal } from "../domain/signal.ts";
import type { Booth, StateView } from "../runtime/booth.ts";

/** An entry is committed at once; a store that hasn't by then has trouble of its own to tell of. */
const COMMITTED_WITHIN_MS: Milliseconds = 10_000;

export interface EntryParts {
  readonly clock: Clock;
  readonly view: StateView;
  readonly news: Signal;
  readonly signal: AbortSignal;
}

/** Writes a person's word that a filter was changed into the booth's log, and tells what the fold made of it. */
export async function changeFilter(booth: Booth, change: FilterChange, parts: EntryParts): Promise<EntryAnswer> {
  const decided = decideChange(change, known(booth, parts), booth.parameters());
  if (decided.kind !== "write") return decided;
  const { id, filter, ago_ms, by } = change;
  booth.intake.record((when) => {
    const value = { filter, source: "technician", installed_at: when.at - ago_ms, ago_ms, flagged: false, by, id };
    return { kind: "f", ...when, tag: "", value, quality: "good" } as LogRecord;
  });
  for (const [tag, { role, filter: of }] of Object.entries(booth.parameters().tags)) {
    if (role === "filter_minutes" && of === filter) booth.intake.logAnew(tag);
  }
  return outcome(booth, { id, undone: false }, parts);
}

/** Withdraws an entry. */
export async function undoFilter(
  booth: Booth,
  { id, by }: Pick<FilterChange, "id" | "by">,
  parts: EntryParts,
): Promise<EntryAnswer> {
  const decided = decideUndo(id, known(booth, parts));
  if (decided.kind !== "write") return decided;
  const value = { seq: decided.seq, by };
  booth.intake.record((when) => ({ kind: "x", ...when, tag: "", value, quality: "good" }));
  return outcome(booth, { id, undone: true }, parts);
}

/** Waits until the fold has seen what was written. */
async function outcome(
  booth: Booth,
  { id, undone }: { readonly id: string; readonly undone: boolean },
  parts: EntryParts,
): Promise<EntryAnswer> {
  const { clock, news, signal } = parts;
  const until = clock.mono() + COMMITTED_WITHIN_MS;
  for (;;) {
    const answer = answered(id, known(booth, parts), { undone });
    if (answer !== null) return answer;
    const left = until - clock.mono();
    if (left <= 0) return { kind: "waiting" };
    await news.wait(signal, left);
  }
}

function known({ board: { state } }: Booth, { clock, view }: EntryParts): KnownEntries {
  if (state === undefined) return { entries: [], seqOf: () => undefined };
  return { entries: view.entriesOf(state, clock), seqOf: (id) => view.seqOfEntry(state, id) };
}
