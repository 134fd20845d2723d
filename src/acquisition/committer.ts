import { jittered, retrying } from "../domain/retrying.ts";
import { recordsOf } from "./rules/records.ts";
import type { Milliseconds, TakeNumber } from "../domain/units.ts";
import { KIND } from "../domain/record.ts";
import { type Committed, type TakenEntry, uncommitted } from "../domain/taken.ts";
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

/** Entries of a stream that an earlier process took and no commit holds. They are read from the tail part by part. */
export interface Leftover {
  readonly count: number;
  /** The last take; 0: there is none. */
  readonly last_take: TakeNumber;
  /** The newest record of a confirmed clock among the entries; empty: there is none. */
  readonly clock: readonly TakenEntry[];
  /** The next entries, oldest first; empty: all were given. */
  next(limit: number): readonly TakenEntry[];
}

export const NO_LEFTOVER: Leftover = { count: 0, last_take: 0, clock: [], next: () => [] };

/** Looks through what the tail holds of a stream beyond its last commit. At most one part of it is in memory at a time. */
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

/** Entries that wait for a commit: first the leftover, because the store takes entries in the order of their numbers alone, then new entries. */
function queueOf(leftover: Leftover) {
  const pending: TakenEntry[] = [];
  let left = leftover.count;
  return {
    add: (entry: TakenEntry): void => void pending.push(entry),
    /** The entries of the next commit. Parts of the leftover are given once: the caller holds them until they are committed. */
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

/** Groups taken entries into commits: one transaction each, at once where something urgent is among them. */
export function createCommitter(committing: Committing, leftover: Leftover) {
  const { clock, store, tail, turned, trouble } = committing;
  const { stream } = committing.stream;
  const rest = jittered(RETRY, committing.random);
  const added = createSignal(clock);
  const queue = queueOf(leftover);
  let urgent = true;
  /**
   * Entries of the commit that failed last. It is made again with the same entries, because it may have become durable all the same,
   * and the store recognizes it only by the same last take. null: none failed.
   */
  let again: readonly TakenEntry[] | null = null;
  let committedAt = Number.NEGATIVE_INFINITY;

  const commit = async (): Promise<void> => {
    const entries = again ?? queue.next();
    const last = entries.at(-1);
    if (last === undefined) return;
    urgent = queue.size() > entries.length;
    committedAt = clock.mono();
    again = entries;
    const result = await store.ingest(stream, recordsOf(entries, committing.bridge), last.take);
    again = null;
    queue.committed(entries.length);
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
    if (queue.size() === 0) return undefined;
    return urgent ? 0 : Math.max(0, committing.interval_ms - (clock.mono() - committedAt));
  };
  return {
    add(entry: TakenEntry, isUrgent: boolean): void {
      queue.add(entry);
      urgent ||= isUrgent;
      // Whoever waits already for the next commit waits as long as before.
      if (isUrgent || queue.size() === 1) added.raise();
    },
    /** No more may be taken until a commit succeeds: what isn't taken is an honest gap, what is taken is never dropped. */
    isFull: queue.isFull,
    pending: queue.size,
    /** Runs until aborted; then commits what is left, once. */
    async run(signal: AbortSignal): Promise<void> {
      while (!isOver(signal)) {
        const wait = idleFor();
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
