import type { LogReach } from "../domain/booth-state.ts";
import type { LogChunk, Placed } from "../domain/record.ts";
import type { Seq } from "../domain/units.ts";
import type { NextChunk } from "../store/port.ts";
import type { DeliveredLog } from "./port.ts";
import type { LaneName } from "./rules/sending.ts";

/** Records read from the store at a time: taking in more at once would keep a poll waiting. */
const READ_LIMIT = 1_000;
/** Records read before they are cut: a whole batch of short ones, and more. */
const CUT_AT = 4_000;

/** What of a lane goes next. */
export interface LaneBatch {
  /** Empty: the lane has nothing in those seqs. */
  readonly batch: readonly Placed[];
  /** It goes as it stands in the store; `batch` is then empty. */
  readonly chunk?: LogChunk;
  /** The seqs that it stands for; those of them that a log's lane doesn't have were given up. */
  readonly from: Seq;
  readonly to: Seq;
}

/** Reads one lane of a log: the batch behind `after`, of records up to `end` and so many at most. `most`: null: as many as fit. */
type LaneReader = (after: Seq, end: Seq, most?: number | null) => Promise<LaneBatch>;

export function laneReaders(store: DeliveredLog, info: () => LogReach): Readonly<Record<LaneName, LaneReader>> {
  return {
    context: contextRecordsReader(store, info),
    live: logReader(store, info),
    backlog: logReader(store, info),
  };
}

/** What the backlog goes on with behind `from`, as it stands in the store; what was read beyond it is kept for the next ones. */
export function chunkReader(store: DeliveredLog, info: () => LogReach): (from: Seq, end: Seq) => Promise<NextChunk> {
  let ready: readonly NextChunk[] = [];
  /** Where what is ready begins. */
  let begins: Seq = 0;
  const given = (next: NextChunk, rest: readonly NextChunk[]): NextChunk => {
    [ready, begins] = [rest, next.to + 1];
    return next;
  };
  return async (from, end) => {
    const [known, ...others] = begins === from ? ready : [];
    if (known !== undefined && known.to <= end) return given(known, others);
    const [next, ...rest] = await store.chunks(info().stream, from, end);
    return given(next, rest);
  };
}

/** Parameters and clocks alone. */
function contextRecordsReader(store: DeliveredLog, info: () => LogReach): LaneReader {
  return async (after, end, most) => {
    const { records, looked_to } = await store.contextRecords(info().stream, after + 1, end);
    const [cut = []] = cutBatches(records);
    const batch = cut.slice(0, most ?? cut.length);
    return { batch, from: batch[0]?.seq ?? after + 1, to: batch.at(-1)?.seq ?? looked_to };
  };
}

/**
 * Everything. Rejects where the store has no record behind `after`, though it should. A full store may have given up all of a stretch, and
 * hold nothing but what goes under another name, as after a salvage, or what still waits for a sync: then there is nothing up to `end`.
 */
function logReader(store: DeliveredLog, info: () => LogReach): LaneReader {
  let ready: (readonly Placed[])[] = [];
  /** The last cut of what was read: more may belong to it. */
  let rest: readonly Placed[] = [];
  /** Found behind `after`, within the stretch or beyond it. */
  let found = false;
  /** Up to where batches were given: what is ready follows on that. */
  let given: Seq | null = null;
  const fill = async (after: Seq, end: Seq): Promise<void> => {
    // A lane that has jumped ahead leaves what was read for it to the other one.
    const records = rest[0]?.seq === after + 1 ? [...rest] : [];
    let isMore = true;
    while (isMore && records.length < CUT_AT) {
      const more = await store.read(info().stream, (records.at(-1)?.seq ?? after) + 1, READ_LIMIT);
      records.push(...more);
      isMore = more.length === READ_LIMIT && (more.at(-1)?.seq ?? end) < end;
    }
    found = records.length > 0;
    ready = [...cutBatches(records.filter(({ seq }) => seq <= end))];
    rest = isMore && ready.length > 1 ? (ready.pop() ?? []) : [];
  };
  return async (after, end, most = null) => {
    if (most !== null) {
      const records = await store.read(info().stream, after + 1, most);
      found = records.length > 0;
      [ready, rest] = [cutBatches(records).slice(0, 1), []];
    } else if (given !== after || ready.length === 0) await fill(after, end);
    // Another name of the log may begin where this one was read beyond.
    const batch = (ready.shift() ?? []).filter(({ seq }) => seq <= end);
    if (batch.length === 0 && !found && info().oldest_seq <= end)
      throw new Error(`the store has no record from seq ${after + 1} on, though it should`);
    given = batch.at(-1)?.seq ?? end;
    return { batch, from: after + 1, to: given };
  };
}

/**
 * What a batch aims at before gzip, by a rough reckoning: some 2,400 readings, 8 KB when zipped. With four under way that fills a
 * line of 1 Mbit/s and 100 ms; beyond it, zipping gains little. A batch may be 128 KiB long.
 */
const TARGET_BYTES = 48 * 1024;
/** Kind, tag index and time of one record in its columns. */
const RECORD_BYTES = 16;

/**
 * Cuts records, in seq order, into batches: each unbroken in seq, of one boot and one clock offset (so that times follow
 * from the first), within the size limits. A record larger than the target is a batch alone. A hole in seq starts a new batch.
 */
export function cutBatches(records: readonly Placed[]): readonly (readonly Placed[])[] {
  const batches: Placed[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = RECORD_BYTES + lengthOf(record.value);
    const batch = batches.at(-1);
    const last = batch?.at(-1);
    if (batch !== undefined && last !== undefined && belongs(last, record) && bytes + size <= TARGET_BYTES) {
      batch.push(record);
      bytes += size;
    } else {
      batches.push([record]);
      bytes = size;
    }
  }
  return batches;
}

function lengthOf(value: unknown): number {
  return typeof value === "number" ? String(value).length : JSON.stringify(value).length;
}

function belongs(last: Placed, next: Placed): boolean {
  return next.seq === last.seq + 1 && next.boot === last.boot && next.time - next.mono === last.time - last.mono;
}
