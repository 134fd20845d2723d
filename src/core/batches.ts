import type { Placed } from "./types/record.ts";

/** Most records in one batch; with 12 to 90 bytes each it stays near the 32 KiB that a batch aims at. */
const MAX_RECORDS = 500;
/** Rough size of a batch before gzip, from the records' values. */
const TARGET_BYTES = 32_768;
/** Column overhead of one record without its value. */
const RECORD_BYTES = 12;

/**
 * Cuts records, in seq order, into batches: each unbroken in seq, of one boot and one clock offset (so that times follow
 * from the first), within the size limits. A record larger than the target is a batch alone. A hole in seq starts a new batch.
 */
export function cutBatches(records: readonly Placed[]): readonly (readonly Placed[])[] {
  const batches: Placed[][] = [];
  let bytes = 0;
  for (const record of records) {
    const size = RECORD_BYTES + JSON.stringify(record.value).length;
    const batch = batches.at(-1);
    const last = batch?.at(-1);
    if (
      batch !== undefined &&
      last !== undefined &&
      belongs(last, record) &&
      batch.length < MAX_RECORDS &&
      bytes + size <= TARGET_BYTES
    ) {
      batch.push(record);
      bytes += size;
    } else {
      batches.push([record]);
      bytes = size;
    }
  }
  return batches;
}

function belongs(last: Placed, next: Placed): boolean {
  return next.seq === last.seq + 1 && next.boot === last.boot && next.time - next.mono === last.time - last.mono;
}
