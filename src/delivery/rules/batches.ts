import type { Placed } from "../../domain/record.ts";

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
