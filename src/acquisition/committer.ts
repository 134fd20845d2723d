import { jittered, retrying } from "../domain/retrying.ts";
import { recordsOf } from "./rules/records.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { Clock, Random } from "../domain/machine.ts";
import type { Ingested, Store, StreamInfo } from "../store/port.ts";
import type { Tail } from "./port.ts";
import { createSignal, isOver, LOOP_MS, type CameRound } from "../domain/signal.ts";

/** Entries held, in memory and in the tail, while the store can't commit: about 14 h of one booth at 1 Hz, some 15 MB. */
const MAX_PENDING = 50_000;
/** One commit takes at most this many, so that a long backlog of the tail doesn't make one huge transaction. */
const MAX_ENTRIES_PER_COMMIT = 2_000;
const RETRY = { base_ms: 500, cap_ms: 10_000 };

interface Committing {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly interval_ms: Milliseconds;
  /** Widest spacing of two answered polls of a group that one coverage record may span. */
  readonly bridge: (group: string) => Milliseconds;
  readonly committed: (result: Ingested) => void;
  /** Says how the store is: "" well, else what is wrong. */
  readonly trouble: (reason: string) => void;
  /** Absent: nobody watches over the loop. */
  readonly turned?: CameRound;
}

export type Committer = ReturnType<typeof createCommitter>;

/** Groups taken entries into commits: one transaction each, at once where something urgent is among them. */
export function createCommitter(committing: Committing, leftover: readonly TakenEntry[]) {
  const { clock, store, tail, turned, trouble } = committing;
  const { stream } = committing.stream;
  const rest = jittered(RETRY, committing.random);
  const added = createSignal(clock);
  const pending: TakenEntry[] = [...leftover];
  let urgent = true;
  /**
   * Entries of the commit that failed last: it is made again just as it was, for it may have become durable all the same, and only
   * by the same last take does the store know it. null: none failed.
   */
  let again: number | null = null;
  let committedAt = Number.NEGATIVE_INFINITY;

  const commit = async (): Promise<void> => {
    const entries = pending.slice(0, again ?? MAX_ENTRIES_PER_COMMIT);
    const last = entries.at(-1);
    if (last === undefined) return;
    urgent = pending.length > entries.length;
    committedAt = clock.mono();
    again = entries.length;
    const result = await store.ingest(stream, recordsOf(entries, committing.bridge), last.take);
    again = null;
    pending.splice(0, entries.length);
    tail.committed(stream, last.take);
    committing.committed(result);
  };
  const commitRetrying = (signal: AbortSignal): Promise<unknown> =>
    retrying(
      {
        clock,
        signal,
        wait: (failures) => 1 + rest(failures),
        waits: (ms) => turned?.(ms + LOOP_MS),
      },
      () => commit().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
      (failure, failures) => {
        if (failure === undefined) {
          if (failures > 0) trouble("");
          return null;
        }
        signal.throwIfAborted();
        if (failures === 0) trouble(failure.message);
        return {};
      },
    );
  const idleFor = (): Milliseconds | undefined => {
    if (pending.length === 0) return undefined;
    return urgent ? 0 : Math.max(0, committing.interval_ms - (clock.mono() - committedAt));
  };
  return {
    add(entry: TakenEntry, isUrgent: boolean): void {
      pending.push(entry);
      urgent ||= isUrgent;
      // Whoever waits already for the next commit waits as long as before.
      if (isUrgent || pending.length === 1) added.raise();
    },
    /** No more may be taken until a commit succeeds: what isn't taken is an honest gap, what is taken is never dropped. */
    isFull: () => pending.length >= MAX_PENDING,
    pending: () => pending.length,
    /** Runs until aborted; then commits what is left, once. */
    async run(signal: AbortSignal): Promise<void> {
      while (!isOver(signal)) {
        const wait = idleFor();
        turned?.((wait ?? Number.POSITIVE_INFINITY) + LOOP_MS);
        await (wait === 0 ? commitRetrying(signal) : added.wait(signal, wait)).catch((error: unknown) => {
          if (!isOver(signal)) throw error;
        });
      }
      while (pending.length > 0) await commit();
      turned?.(Number.POSITIVE_INFINITY);
    },
  };
}
