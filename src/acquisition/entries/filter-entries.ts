import { answered, decideChange, decideUndo } from "../rules/filter-entries.ts";
import type { EntryAnswer, FilterChange } from "../../domain/entry.ts";
import { KIND, type LogRecord } from "../../domain/record.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Clock } from "../../domain/machine.ts";
import type { Signal } from "../../domain/signal.ts";
import type { PolledBooth } from "../link.ts";

/** Longest wait for the commit of an entry. An entry is committed at once; if the store needs longer, the store itself reports a fault. */
const COMMITTED_WITHIN_MS: Milliseconds = 10_000;

type Booth = Pick<PolledBooth, "state" | "intake" | "parameters">;

/** Inputs for waiting until an entry is committed. */
interface EntryWait {
  readonly clock: Clock;
  readonly progress: Signal;
  readonly signal: AbortSignal;
}

/** Writes a technician's filter change into the booth's log. Returns the result after the log's state includes it. */
export async function changeFilter(booth: Booth, change: FilterChange, waiting: EntryWait): Promise<EntryAnswer> {
  const decided = decideChange(change, booth.state.log, booth.parameters());
  if (decided.kind !== "write") return decided;
  const { id, filter, ago_ms, by } = change;
  booth.intake.record((when) => {
    const value = { filter, source: "technician", installed_at: when.at - ago_ms, ago_ms, flagged: false, by, id };
    return { kind: KIND.filter, ...when, tag: "", value, quality: "good" } as LogRecord;
  });
  for (const [tag, { role, filter: of }] of Object.entries(booth.parameters().tags)) {
    if (role === "filter_minutes" && of === filter) booth.intake.logAnew(tag);
  }
  return outcome(booth, { id, undone: false }, waiting);
}

/** Withdraws a technician's filter change. */
export async function undoFilter(booth: Booth, { id, by }: Pick<FilterChange, "id" | "by">, waiting: EntryWait) {
  const decided = decideUndo(id, booth.state.log);
  if (decided.kind !== "write") return decided;
  const value = { seq: decided.seq, by };
  booth.intake.record((when) => ({ kind: KIND.void, ...when, tag: "", value, quality: "good" }));
  return outcome(booth, { id, undone: true }, waiting);
}

/** Waits until the log's state includes the written record. */
async function outcome(
  booth: Booth,
  { id, undone }: { id: string; undone: boolean },
  waiting: EntryWait,
): Promise<EntryAnswer> {
  const { clock, progress, signal } = waiting;
  const until = clock.mono() + COMMITTED_WITHIN_MS;
  for (;;) {
    const answer = answered(id, booth.state.log, { undone });
    if (answer !== null) return answer;
    const left = until - clock.mono();
    if (left <= 0) return { kind: "waiting" };
    await progress.wait(signal, left);
  }
}
