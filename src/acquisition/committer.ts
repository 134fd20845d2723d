import { errorText } from "../domain/messages/message-error.ts";
import type { Text } from "../domain/message.ts";
import { jittered, retrying } from "../domain/retrying.ts";
import { recordsOf } from "./rules/records.ts";
import type { Milliseconds, TakeNumber } from "../domain/units.ts";
import { KIND } from "../domain/record.ts";
import { type Committed, type TakenEntry, uncommitted } from "../domain/taken.ts";
import type { Clock, Random } from "../domain/machine.ts";
import type { Ingested, Store, StreamInfo } from "../store/port.ts";
import type { Tail } from "./port.ts";
import { createSignal, isOver, LOOP_MS, type CameRound } from "../domain/signal.ts";

/**
 * Maximum number of entries in memory and in the tail file while the store can't commit. That is about 14 h of one booth at 1 Hz, some 15
 * MB.
 */
const MAX_PENDING = 50_000;
/** Maximum number of entries in one commit, so that a long backlog doesn't become one huge transaction. */
const MAX_ENTRIES_PER_COMMIT = 2_000;
const RETRY = { base_ms: 500, cap_ms: 10_000 };

interface Committing {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly interval_ms: Milliseconds;
  /** Returns the longest interval between two answered polls of a group that one coverage record may span. */
  readonly bridge: (group: string) => Milliseconds;
  readonly committed: (result: Ingested) => void;
  /** Called with the reason if commits fail, and with "" when they succeed again. */
  readonly trouble: (reason: Text) => void;
  readonly turned?: CameRound;
}

export type Committer = ReturnType<typeof createCommitter>;

/** Uncommitted entries of a booth's log that an earlier process left. They are read from the tail file part by part. */
export interface Leftover {
  readonly count: number;
  /** The number ("take") of the last entry that an earlier process left; 0: it left no entries. */
  readonly last_take: TakeNumber;
  /** The newest record of a synchronized clock among the entries; empty: no such record. */
  readonly clock: readonly TakenEntry[];
  /** Returns the next entries, oldest first; empty after the last entry. */
  next(limit: number): readonly TakenEntry[];
}

export const NO_LEFTOVER: Leftover = { count: 0, last_take: 0, clock: [], next: () => [] };

/** Finds the log's uncommitted entries in the tail file. At most one part of them is in memory at a time. */
export function leftoverOf(tail: Pick<Tail, "leftover">, committed: Committed): Leftover {
  const { stream } = committed;
  let after = committed.last_take;
  const next = (limit: number): readonly TakenEntry[] => {
    for (;;) {
      const left = tail.leftover({ stream, after, limit });
      const part = left.filter((entry) => entry.stream === stream && entry.take > after).slice(0, limit);
      const last = part.at(-1);
      if (last === undefined) return [];
      after = last.take;
      const entries = uncommitted(part, committed);
      if (entries.length > 0) return entries;
    }
  };
  let count = 0;
  let clock: readonly TakenEntry[] = [];
  for (let part = next(MAX_ENTRIES_PER_COMMIT); part.length > 0; part = next(MAX_ENTRIES_PER_COMMIT)) {
    count += part.length;
    const synced = part.findLast(isSynced);
    if (synced !== undefined) clock = [synced];
  }
  const last_take = count === 0 ? 0 : after;
  after = committed.last_take;
  return { count, last_take, clock, next };
}

function isSynced(entry: TakenEntry): boolean {
  return entry.kind === "record" && entry.record.kind === KIND.clock && entry.record.value.state === "synced";
}

/**
 * Queues entries for commits: first those that an earlier process left, then new entries. The store accepts entries only in ascending
 * order.
 */
function queueOf(leftover: Leftover) {
  const pending: TakenEntry[] = [];
  let left = leftover.count;
  return {
    add: (entry: TakenEntry): void => void pending.push(entry),
    /**
     * Returns the entries of the next commit. Each entry that an earlier process left is returned only once, so the caller must keep it
     * until it is committed.
     */
    next(): readonly TakenEntry[] {
      const older = left > 0 ? leftover.next(MAX_ENTRIES_PER_COMMIT) : [];
      if (older.length > 0) return older;
      left = 0;
      return pending.slice(0, MAX_ENTRIES_PER_COMMIT);
    },
    committed(count: number): void {
      if (left > 0) left -= count;
      else pending.splice(0, count);
    },
    size: (): number => left + pending.length,
    isFull: (): boolean => pending.length >= MAX_PENDING,
  };
}

/**
 * Groups a booth's entries into commits of one transaction each: every `interval_ms`, and at once if an entry is urgent. A failed commit is
 * retried with backoff and with the same entries. It may have become durable; the store then recognizes it by the number of its last entry.
 * Entries wait in memory and in the tail file. At `MAX_PENDING` the intake must stop (`isFull`). After the abort, `run` commits the
 * remaining entries once.
 */
export function createCommitter(committing: Committing, leftover: Leftover) {
  const { clock, store, tail, turned, trouble } = committing;
  const { stream } = committing.stream;
  const backoffMs = jittered(RETRY, committing.random);
  const added = createSignal(clock);
  const queue = queueOf(leftover);
  let urgent = true;
  /** Entries of the commit that failed last; null: the last commit succeeded. */
  let failed: readonly TakenEntry[] | null = null;
  let committedAt = Number.NEGATIVE_INFINITY;

  const commit = async (): Promise<void> => {
    const entries = failed ?? queue.next();
    const last = entries.at(-1);
    if (last === undefined) return;
    urgent = queue.size() > entries.length;
    committedAt = clock.mono();
    failed = entries;
    const result = await store.ingest(stream, recordsOf(entries, committing.bridge), last.take);
    failed = null;
    queue.committed(entries.length);
    tail.committed(stream, last.take);
    committing.committed(result);
  };
  const commitRetrying = (signal: AbortSignal): Promise<unknown> =>
    retrying(
      { clock, signal, wait: (failures) => 1 + backoffMs(failures), waits: (ms) => turned?.(ms + LOOP_MS) },
      () => commit().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error)))),
      (failure, failures) => {
        if (failure === undefined) {
          if (failures > 0) trouble("");
          return null;
        }
        signal.throwIfAborted();
        if (failures === 0) trouble(errorText(failure));
        return {};
      },
    );
  /** Returns the time until the next commit is due; undefined if no entry waits. */
  const untilDue = (): Milliseconds | undefined => {
    if (queue.size() === 0) return undefined;
    return urgent ? 0 : Math.max(0, committing.interval_ms - (clock.mono() - committedAt));
  };
  return {
    add(entry: TakenEntry, isUrgent: boolean): void {
      queue.add(entry);
      urgent ||= isUrgent;
      // Wakes the loop only for an urgent or a first entry. If the queue already had entries, the loop wakes up when their commit is due.
      if (isUrgent || queue.size() === 1) added.raise();
    },
    /** Returns whether new entries must be refused until a commit succeeds. */
    isFull: queue.isFull,
    pending: queue.size,
    /** Runs until the signal aborts. Then commits the remaining entries once. */
    async run(signal: AbortSignal): Promise<void> {
      while (!isOver(signal)) {
        const wait = untilDue();
        turned?.((wait ?? Number.POSITIVE_INFINITY) + LOOP_MS);
        await (wait === 0 ? commitRetrying(signal) : added.wait(signal, wait)).catch((error: unknown) => {
          if (!isOver(signal)) throw error;
        });
      }
      while (queue.size() > 0) await commit();
      turned?.(Number.POSITIVE_INFINITY);
    },
  };
}
