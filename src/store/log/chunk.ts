import type { Quality } from "../../domain/booth.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { ByteSource, type Encoding, inflated, TEXT, valueReader } from "./columns.ts";
import type { Span } from "./missing.ts";

/**
 * Version of a row's body. A chunk (a row of many records) is sent with the same body: docs/reference/wire.md describes it for readers in
 * other languages. In a row, a local part that is never sent follows the body.
 */
export const CHUNK_VERSION = 3;

/** Flags in the second byte of the body: the chunk holds a gap record; it holds parameters or a clock record. */
export const HAS_GAP = 1;
export const HAS_CONTEXT = 2;

export const QUALITIES: readonly Quality[] = ["good", "uncertain", "bad"];
/** Limit of a count, far above any real row. It bounds the memory if the count is damaged. */
const MOST_RECORDS = 1_000_000;

/** The first seq and times of a row. The packed records are relative to them. */
export interface Start {
  readonly first_seq: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
}

/** A function that returns whether records with that kind and tag are to be unpacked. */
export type Wanted = (kind: string, tag: string) => boolean;

/** A chunk's head, which can be read without inflating the rest. */
interface Head {
  readonly count: number;
  readonly runs: readonly Span[];
  readonly a: Buffer;
  readonly b: Buffer;
  readonly local: Buffer;
}

function headOf(first_seq: number, packed: Buffer): Head {
  const source = new ByteSource(packed.subarray(2));
  const count = source.number();
  const runs: Span[] = [];
  let next = first_seq;
  let held = 0;
  for (let left = source.number(); left > 0; left -= 1) {
    const from = next + source.number();
    next = from + source.number();
    held += next - from;
    runs.push([from, next - 1]);
  }
  must(held === count && count <= MOST_RECORDS, "its seqs");
  const lengthA = source.number();
  const lengthB = source.number();
  const at = 2 + source.at;
  const end = at + lengthA + lengthB;
  must(end <= packed.length, "its blocks");
  const b = packed.subarray(at + lengthA, end);
  return { count, runs, a: packed.subarray(at, at + lengthA), b, local: packed.subarray(end) };
}

function must(isSo: boolean, what: string): void {
  if (!isSo) throw new RangeError(`a chunk's parts don't fit each other: ${what}`);
}

/** Returns the part of a packed row that is sent to the service. */
export function bodyOf(packed: Buffer): Buffer {
  const { local } = headOf(0, packed);
  return packed.subarray(0, packed.length - local.length);
}

/** Returns the seqs of the packed records, as ranges. */
export function chunkSeqs(first_seq: number, packed: Buffer): readonly Span[] {
  return headOf(first_seq, packed).runs;
}

/** Returns whether the chunk holds context records (parameters or a clock record), which are sent first. */
export function hasContext(packed: Buffer): boolean {
  return ((packed[1] ?? 0) & HAS_CONTEXT) !== 0;
}

interface Listed {
  readonly kind: string;
  readonly tag: string;
  readonly encoding: Encoding;
  readonly count: number;
  readonly wanted: boolean;
  /** Number of records in all earlier series (a series: all records of one kind and tag). */
  readonly before: number;
  /** Offset of the series' values in block B. */
  readonly from: number;
  readonly end: number;
}

/** Unpacks the wanted records. Throws a RangeError or zlib's error if packChunk didn't make these bytes. */
export function unpackChunk(start: Start, packed: Buffer, isWanted: Wanted): Placed<LogRecord>[] {
  const { boot, mono0, t0 } = start;
  const { count, runs, a, b, local } = headOf(start.first_seq, packed);
  const source = new ByteSource(inflated(a));
  const list = listOf(source, isWanted);
  must(list.reduce((sum, one) => sum + one.count, 0) === count, "how many");
  const wanted = list.filter((one) => one.wanted);
  if (wanted.length === 0) return [];
  const monos = monosOf(source, mono0);
  const { polls, places } = placesOf(source, list, monos.length);
  must(source.at === source.length, "its times");
  const block = inflated(b);
  const qualities = oddQualities(block.subarray(list.at(-1)?.end ?? 0));
  const { offsets, sources } = localsOf(local, count);
  const seqAt = seqsBy(runs);
  const found = new Array<Placed<LogRecord> | undefined>(count);
  let nth = 0;
  for (const { kind, tag, encoding, before, ...one } of wanted) {
    const next = nextValue({ tag, encoding }, block.subarray(one.from, one.end));
    for (let index = before; index < before + one.count; index += 1, nth += 1) {
      const place = places[nth] ?? 0;
      const mono = monos[polls[nth] ?? 0] ?? 0;
      const quality = qualities.get(index) ?? "good";
      const time = t0 + mono - mono0;
      const at = time + (offsets[place] ?? 0);
      const record = { kind, seq: seqAt(place), boot, mono, at, tag, value: next(mono), quality, time };
      const source_off = sources[place];
      // TypeScript can't see that the unpacked fields are those of a LogRecord.
      found[place] = (
        source_off === undefined ? record : { ...record, source_at: time + source_off }
      ) as Placed<LogRecord>;
    }
  }
  return found.filter((record) => record !== undefined);
}

function listOf(source: ByteSource, isWanted: Wanted): Listed[] {
  const list: Listed[] = [];
  let from = 0;
  let before = 0;
  for (let left = source.number(); left > 0; left -= 1) {
    const kind = String.fromCharCode(source.number());
    const tag = source.block().toString();
    const encoding = source.number();
    const count = source.number();
    const end = from + source.number();
    list.push({ kind, tag, encoding, count, wanted: isWanted(kind, tag), before, from, end });
    from = end;
    before += count;
  }
  return list;
}

function monosOf(source: ByteSource, mono0: number): Float64Array {
  const count = source.number();
  must(count <= source.length, "its polls");
  const monos = new Float64Array(count);
  const usual = source.signed();
  let mono = mono0;
  for (let poll = 0; poll < count; poll += 1) {
    mono += usual + source.signed();
    monos[poll] = mono;
  }
  return monos;
}

/** The poll of each wanted record, series by series, and the record's index among all records of the row by seq. */
interface Places {
  readonly polls: readonly number[];
  readonly places: readonly number[];
}

function placesOf(source: ByteSource, list: readonly Listed[], length: number): Places {
  const polls: number[] = [];
  const before: number[] = [];
  /** First holds the number of records of each poll, and later the index of the poll's first record. */
  const starts = new Uint32Array(length);
  for (const one of list) {
    let poll = -1;
    for (let left = one.count; left > 0; left -= 1) {
      poll += 1 + source.number();
      const size = starts[poll] ?? 0;
      starts[poll] = size + 1;
      if (!one.wanted) continue;
      polls.push(poll);
      before.push(size);
    }
    must(poll < length, "its polls");
  }
  let start = 0;
  for (let poll = 0; poll < length; poll += 1) {
    const size = starts[poll] ?? 0;
    starts[poll] = start;
    start += size;
  }
  return { polls, places: before.map((size, nth) => size + (starts[polls[nth] ?? 0] ?? 0)) };
}

/** Returns a function from a record's index to its seq. Calls are mostly in ascending order. */
function seqsBy(runs: readonly Span[]): (place: number) => number {
  let run = 0;
  let begin = 0;
  return (place) => {
    if (place < begin) {
      run = 0;
      begin = 0;
    }
    for (;;) {
      const from = runs[run]?.[0] ?? 0;
      const length = (runs[run]?.[1] ?? Infinity) - from + 1;
      if (place < begin + length) return from + place - begin;
      begin += length;
      run += 1;
    }
  };
}

function nextValue({ tag, encoding }: Pick<Listed, "tag" | "encoding">, bytes: Buffer): (mono: number) => unknown {
  if (encoding !== TEXT) return valueReader(new ByteSource(bytes), encoding, tag);
  const texts = (JSON.parse(bytes.toString()) as unknown[])[Symbol.iterator]();
  return () => texts.next().value;
}

function oddQualities(block: Buffer): Map<number, Quality> {
  const source = new ByteSource(block);
  const found = new Map<number, Quality>();
  for (let index = 0; !source.isAtEnd; index += 1) {
    index += source.number();
    found.set(index, QUALITIES[source.number()] ?? "good");
  }
  return found;
}

/**
 * The times of a chunk's records, by record index. `offsets`: the errors of the wall clock; `sources`: the device's own times, if it sent
 * any.
 */
interface Locals {
  readonly offsets: readonly number[];
  readonly sources: readonly (number | undefined)[];
}

function localsOf(local: Buffer, count: number): Locals {
  const offsets: number[] = [];
  const sources: (number | undefined)[] = [];
  if (local.length === 0) return { offsets, sources };
  const blocks = new ByteSource(inflated(local));
  const offset = new ByteSource(blocks.block());
  const source = blocks.isAtEnd ? null : new ByteSource(blocks.block());
  let now = 0;
  let left = offset.isAtEnd ? Infinity : offset.number();
  let source_off = 0;
  while (offsets.length < count) {
    if (left === 0) {
      now += offset.signed();
      // Adds one, because the stored count excludes the record at which the offset changes.
      left = offset.isAtEnd ? Infinity : offset.number() + 1;
    }
    left -= 1;
    offsets.push(now);
    if (source === null) continue;
    const isNamed = source.number() !== 0;
    if (isNamed) source_off += source.signed();
    sources.push(isNamed ? source_off : undefined);
  }
  return { offsets, sources };
}
