import { type Offered, takenRecords } from "./batch.ts";
import { canonical } from "./canonical.ts";
import { readChunk, recordsOfChunk, seqsOf, type Series } from "./chunk.ts";
import { isChunk, offsetOf, openMessage, PACKED_KINDS, type Reach } from "./chunk-message.ts";
import { unpack } from "./unpack.ts";

/** A record as readers get it. `value` is canonical JSON. */
export type StoredRecord = [
  kind: string,
  tag: string,
  boot: string,
  mono: number,
  time: number,
  value: string,
  quality: string,
  seq: number,
];

/** Filter for records. Absent fields don't limit. */
export interface Wanted {
  readonly kinds?: readonly string[];
  readonly tags?: readonly string[];
  /** Limits readings to these tags. */
  readonly readings_of?: ReadonlySet<string>;
  /** Range of seqs, both ends included. */
  readonly seqs?: readonly [from: number, to: number];
  /** Range of times, without the end. */
  readonly times?: { readonly start: number; readonly end: number };
}

/** A message to be stored, and the range in which it, together with its rows, has every seq. */
export interface Kept extends Reach {
  readonly from: number;
  readonly to: number;
  readonly boot: string;
  /** Corrected time minus mono. */
  readonly offset_ms: number;
  readonly message: Uint8Array;
}

/** Returns a batch in its stored form; undefined: a record has a fault, or no record may stay packed. */
export function keptOf(records: readonly Offered[], message: Uint8Array): Kept | undefined {
  const first = records.find(isPacked);
  const from = records[0];
  const last = records.at(-1);
  if (first === undefined || from === undefined || last === undefined) return undefined;
  let first_mono = Infinity;
  let last_mono = -Infinity;
  let end_mono = -Infinity;
  for (const record of records) {
    const { kind, mono, value, fault } = record;
    if (fault !== undefined) return undefined;
    if (!isPacked(record)) continue;
    first_mono = Math.min(first_mono, mono);
    last_mono = Math.max(last_mono, mono);
    end_mono = Math.max(end_mono, kind === "h" ? mono + lengthOf(value) : mono);
  }
  const reach = { first_mono, last_mono, end_mono };
  return { from: from.seq, to: last.seq, boot: first.boot, offset_ms: first.time - first.mono, message, ...reach };
}

function isPacked({ kind }: Offered): boolean {
  return PACKED_KINDS.includes(kind);
}

/** Returns the length of a coverage record that has an answered poll. */
function lengthOf(value: string): number {
  const { from, to, polls } = JSON.parse(value) as {
    readonly from: number;
    readonly to: number;
    readonly polls: number;
  };
  return polls > 0 ? Math.max(0, to - from) : 0;
}

export function isOf({ kind, tag }: Pick<Series, "kind" | "tag">, { kinds, tags, readings_of }: Wanted): boolean {
  const isMeant = kind !== "r" || (readings_of?.has(tag) ?? true);
  return isMeant && (kinds?.includes(kind) ?? true) && (tags?.includes(tag) ?? true);
}

/** Returns all records of a stored message that have no rows, in seq order. */
export function recordsIn(message: Uint8Array): StoredRecord[] {
  return [...told(message, {})];
}

/** Yields the records of a kept message that have no rows: a chunk's body, or a batch's records of the packed kinds. */
export function* told(message: Uint8Array, wanted: Wanted): Generator<StoredRecord, undefined> {
  if (isChunk(message)) {
    const { head, body } = openMessage(message);
    const offset = offsetOf(head);
    const isWanted = (one: Series): boolean => isOf(one, wanted);
    for (const { kind, tag, mono, value, quality, seq } of recordsOfChunk(readChunk(body, head), isWanted)) {
      yield [kind, tag, head.boot, mono, mono + offset, canonical(value), quality, seq];
    }
    return;
  }
  const unpacked = unpack(message);
  if ("error" in unpacked) throw new Error(`a batch that was kept can't be read: ${unpacked.error}`);
  const isWanted = (one: { readonly kind: string; readonly tag: string }): boolean =>
    PACKED_KINDS.includes(one.kind) && isOf(one, wanted);
  for (const { kind, tag, boot, mono, time, value, quality, seq } of takenRecords(unpacked.batch, isWanted)) {
    yield [kind, tag, boot, mono, time, value, quality, seq];
  }
}

/** Yields the ranges of its seqs. */
export function* seqsIn(message: Uint8Array): Generator<[from: number, to: number], undefined> {
  if (isChunk(message)) {
    const { head, body } = openMessage(message);
    for (const [from, to] of seqsOf(body, head.s0)) yield [from, to];
  } else for (const [, , , , , , , seq] of told(message, {})) yield [seq, seq];
}
