import { cutBatches } from "./rules/batches.ts";
import type { LaneName } from "./rules/lanes.ts";
import type { Placed } from "../domain/record.ts";
import type { Seq } from "../domain/units.ts";
import type { Store, StreamInfo } from "../store/port.ts";

/** Records read from the store at a time: taking in more at once would keep a poll waiting. */
const READ_LIMIT = 1_000;
/** Records read before they are cut: a whole batch of short ones, and more. */
const CUT_AT = 4_000;

/** What of a lane goes next. */
export interface LaneBatch {
  /** Empty: the lane has nothing in those seqs. */
  readonly batch: readonly Placed[];
  /** The seqs that it stands for; those of them that a log's lane doesn't have were given up. */
  readonly from: Seq;
  readonly to: Seq;
}

/** Reads one lane of a log batch by batch. */
export interface LaneReader {
  /** The batch behind `after`, of records up to `end` and so many at most. `most`: null: as many as fit. */
  next(after: Seq, end: Seq, most?: number | null): Promise<LaneBatch>;
}

interface ReaderParts {
  readonly store: Store;
  readonly info: () => StreamInfo;
}

export function laneReaders(parts: ReaderParts): Readonly<Record<LaneName, LaneReader>> {
  return { terms: contextRecordsReader(parts), live: logReader(parts), backlog: logReader(parts) };
}

/** Parameters and clocks alone. */
function contextRecordsReader({ store, info }: ReaderParts): LaneReader {
  return {
    async next(after, end, most) {
      const { records, looked_to } = await store.terms(info().stream, after + 1, end);
      const [cut = []] = cutBatches(records);
      const batch = cut.slice(0, most ?? cut.length);
      const [first, last] = [batch[0], batch.at(-1)];
      return { batch, from: first?.seq ?? after + 1, to: last?.seq ?? looked_to };
    },
  };
}

/**
 * Everything. Rejects where the store has no record behind `after`, though it should. A full store may have given up all of a stretch, and
 * hold nothing but what goes under another name, as after a salvage, or what still waits for a sync: then there is nothing up to `end`.
 */
function logReader({ store, info }: ReaderParts): LaneReader {
  let ready: (readonly Placed[])[] = [];
  /** The last cut of what was read: more may belong to it. */
  let rest: readonly Placed[] = [];
  /** Found behind `after`, within the stretch or beyond it. */
  let found = false;
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
  const fillFew = async (after: Seq, most: number): Promise<void> => {
    const records = await store.read(info().stream, after + 1, most);
    found = records.length > 0;
    ready = cutBatches(records).slice(0, 1);
    rest = [];
  };
  return {
    async next(after, end, most = null) {
      if (most !== null) await fillFew(after, most);
      else if ((ready[0]?.[0]?.seq ?? 0) <= after) await fill(after, end);
      // Another name of the log may begin where this one was read beyond.
      const batch = (ready.shift() ?? []).filter(({ seq }) => seq <= end);
      if (batch.length === 0 && !found && info().oldest_seq <= end)
        throw new Error(`the store has no record from seq ${(after + 1).toString()} on, though it should`);
      return { batch, from: after + 1, to: batch.at(-1)?.seq ?? end };
    },
  };
}
