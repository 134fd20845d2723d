import { fullJitter } from "../domain/backoff.ts";
import { recordsOf } from "../domain/commit.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { Clock, Logger, Random } from "../domain/machine.ts";
import type { Ingested, Store, StreamInfo } from "../store/port.ts";
import type { Tail } from "./port.ts";
import { createSignal, isOver } from "../domain/signal.ts";
import { LOOP_MS, type CameRound } from "../domain/pulse.ts";

/** Entries held, in memory and in the tail, while the store can't commit: about 14 h of one booth at 1 Hz, some 15 MB. */
const MAX_PENDING = 50_000;
/** One commit takes at most this many, so that a long backlog of the tail doesn't make one huge transaction. */
const MAX_ENTRIES_PER_COMMIT = 2_000;
const RETRY = { base_ms: 500, cap_ms: 10_000 };

export interface CommitterParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly tail: Tail;
  readonly log: Logger;
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

/** Groups taken entries into commits: one transaction each, at once where something urgent is among them. */
export interface Committer {
  add(entry: TakenEntry, urgent: boolean): void;
  /** No more may be taken until a commit succeeds: what isn't taken is an honest gap, what is taken is never dropped. */
  isFull(): boolean;
  pending(): number;
  /** Runs until aborted; then commits what is left, once. */
  run(signal: AbortSignal): Promise<void>;
}

export function createCommitter(parts: CommitterParts, leftover: readonly TakenEntry[]): Committer {
  const { clock } = parts;
  const bell = createSignal(clock);
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
    const result = await parts.store.ingest(parts.stream.stream, recordsOf(entries, parts.bridge), last.take);
    again = null;
    pending.splice(0, entries.length);
    parts.tail.committed(parts.stream.stream, last.take);
    parts.committed(result);
  };
  const idleFor = (): Milliseconds | undefined => {
    if (pending.length === 0) return undefined;
    return urgent ? 0 : Math.max(0, parts.interval_ms - (clock.mono() - committedAt));
  };
  return {
    add(entry, isUrgent) {
      pending.push(entry);
      urgent ||= isUrgent;
      // Whoever waits already for the next commit waits as long as before.
      if (isUrgent || pending.length === 1) bell.ring();
    },
    isFull: () => pending.length >= MAX_PENDING,
    pending: () => pending.length,
    async run(signal) {
      let failures = 0;
      while (!isOver(signal)) {
        const wait = idleFor();
        parts.turned?.((wait ?? Number.POSITIVE_INFINITY) + LOOP_MS);
        try {
          if (wait !== 0) await bell.wait(signal, wait);
          else {
            await commit();
            if (failures > 0) parts.trouble("");
            failures = 0;
          }
        } catch (error) {
          if (isOver(signal)) break;
          if (failures === 0) parts.trouble(error instanceof Error ? error.message : String(error));
          urgent = true;
          const rest = fullJitter(failures++, RETRY, () => parts.random.next()) + 1;
          parts.turned?.(rest + LOOP_MS);
          await clock.sleep(rest, signal).catch(() => undefined);
        }
      }
      while (pending.length > 0) await commit();
    },
  };
}
