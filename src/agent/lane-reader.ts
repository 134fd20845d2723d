import { cutBatches } from "../core/batches.ts";
import type { Placed } from "../core/types/record.ts";
import type { Seq } from "../core/types/units.ts";
import type { Store, StreamInfo } from "../ports.ts";

/** Records read from the store at a time: two batches' worth, so that the window can be filled from one read. */
const READ_LIMIT = 1_000;

/** Reads one lane of a log batch by batch. */
export interface LaneReader {
  /** The batch behind `after`, of records up to `end` at most. Rejects where the store has none, though it should. */
  next(after: Seq, end: Seq): Promise<readonly Placed[]>;
}

export function laneReader({ store, info }: { readonly store: Store; readonly info: () => StreamInfo }): LaneReader {
  let ready: (readonly Placed[])[] = [];
  return {
    async next(after, end) {
      // A lane that has jumped ahead leaves what was read for it to the other one.
      if ((ready[0]?.[0]?.seq ?? 0) <= after) {
        const records = await store.read(info().stream, after + 1, READ_LIMIT);
        ready = [...cutBatches(records.filter(({ seq }) => seq <= end))];
      }
      // Another name of the log may begin where this one was read beyond.
      const batch = (ready.shift() ?? []).filter(({ seq }) => seq <= end);
      if (batch.length === 0)
        throw new Error(`the store has no record from seq ${(after + 1).toString()} on, though it should`);
      return batch;
    },
  };
}
