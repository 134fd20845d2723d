import type { Quality } from "../../domain/booth.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { type ByteSource, byteSource, inflated, type Last, takeValue, TEXT, type Way } from "./columns.ts";
import type { Span } from "./missing.ts";

/**
 * A row's body, which is a chunk's body on the wire as well: docs/reference/wire.md describes it for readers in other languages. Behind it
 * in the row stands what never leaves the box.
 */
export const CHUNK_VERSION = 3;

/** Flags, the second byte: whether the chunk holds a gap record; whether it holds parameters or a clock record. */
export const HAS_GAP = 1;
export const HAS_CONTEXT = 2;

export const QUALITIES: readonly Quality[] = ["good", "uncertain", "bad"];
/** Much more than any row holds: what a damaged count may not exceed. */
const MOST_RECORDS = 1_000_000;

/** Where a row begins, from which its records are told. */
export interface Start {
  readonly first_seq: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
}

/** Whether records of a kind and tag are wanted. */
export type Wanted = (kind: string, tag: string) => boolean;

/** A chunk's head: all that is told without inflating anything. */
interface Head {
  readonly flags: number;
  readonly count: number;
  readonly runs: readonly Span[];
  readonly a: Buffer;
  readonly b: Buffer;
  readonly local: Buffer;
}

function headOf(first_seq: number, packed: Buffer): Head {
  const source = byteSource(packed.subarray(2));
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
  const lengths = [source.number(), source.number()] as const;
  const at = 2 + source.at();
  const end = at + lengths[0] + lengths[1];
  must(end <= packed.length, "its blocks");
  return {
    flags: packed[1] ?? 0,
    count,
    runs,
    a: packed.subarray(at, at + lengths[0]),
    b: packed.subarray(at + lengths[0], end),
    local: packed.subarray(end),
  };
}

function must(isSo: boolean, what: string): void {
  if (!isSo) throw new RangeError(`a chunk's parts don't fit each other: ${what}`);
}

/** The part of a row that is sent. */
export function bodyOf(packed: Buffer): Buffer {
  const { local } = headOf(0, packed);
  return packed.subarray(0, packed.length - local.length);
}

/** The seqs of what was packed, as runs. */
export function chunkSeqs(first_seq: number, packed: Buffer): readonly Span[] {
  return headOf(first_seq, packed).runs;
}

/** Whether parameters or a clock record are in it. */
export function hasContext(packed: Buffer): boolean {
  return ((packed[1] ?? 0) & HAS_CONTEXT) !== 0;
}

interface Listed {
  readonly kind: string;
  readonly tag: string;
  readonly way: Way;
  readonly count: number;
  readonly wanted: boolean;
  /** Records of the series before it. */
  readonly before: number;
  /** Where its values stand in block B. */
  readonly from: number;
  readonly end: number;
}

/** A record as its chunk's body tells it; what never leaves the box stands behind it. */
export type Told = Omit<Placed<LogRecord>, "at" | "source_at">;

/** What was packed, as far as it is wanted. Throws RangeError, or zlib's error, where the bytes are none that packChunk made. */
export function unpackChunk(start: Start, packed: Buffer, isWanted: Wanted): Placed<LogRecord>[] {
  const head = headOf(start.first_seq, packed);
  const local = localsOf(head.local, head.count);
  const make = (told: Told, place: number): Placed<LogRecord> => {
    const { off, source_off } = local(place);
    const at = told.time + off;
    const record = source_off === undefined ? { ...told, at } : { ...told, at, source_at: told.time + source_off };
    // Packed from a LogRecord: its shape is the one that went in.
    return record as Placed<LogRecord>;
  };
  return wantedIn(start, head, { isWanted, make });
}

/** The same by the body alone: two inflates, and of what isn't wanted it is only counted where it stands. */
export function toldInChunk(start: Start, packed: Buffer, isWanted: Wanted): Told[] {
  return wantedIn(start, headOf(start.first_seq, packed), { isWanted, make: (told) => told });
}

/** `make` gets each wanted record with its place among all. */
interface Wish<T> {
  readonly isWanted: Wanted;
  readonly make: (told: Told, place: number) => T;
}

function wantedIn<T>({ boot, mono0, t0 }: Start, { count, runs, a, b }: Head, { isWanted, make }: Wish<T>): T[] {
  const source = byteSource(inflated(a));
  const list = listOf(source, isWanted);
  must(list.reduce((sum, one) => sum + one.count, 0) === count, "how many");
  const wanted = list.filter((one) => one.wanted);
  if (wanted.length === 0) return [];
  const monos = monosOf(source, mono0);
  const { polls, places } = placesOf(source, list, monos.length);
  must(source.at() === source.length, "its times");
  const block = inflated(b);
  const qualities = oddQualities(block.subarray(list.at(-1)?.end ?? 0));
  const seqAt = seqsBy(runs);
  // A series alone is in order.
  const found = new Array<T | undefined>(wanted.length === 1 ? 0 : count);
  let nth = 0;
  for (const one of wanted) {
    const { kind, tag } = one;
    const take = valueTaker(one, block.subarray(one.from, one.end));
    for (let index = one.before; index < one.before + one.count; index += 1, nth += 1) {
      const place = places[nth] ?? 0;
      const mono = monos[polls[nth] ?? 0] ?? 0;
      const quality = qualities.get(index) ?? "good";
      const told = { kind, seq: seqAt(place), boot, mono, tag, value: take(mono), quality, time: t0 + mono - mono0 };
      // Packed from a LogRecord, as it is told.
      const record = make(told as Told, place);
      if (wanted.length === 1) found.push(record);
      else found[place] = record;
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
    const tag = source.text();
    const way = source.number();
    const count = source.number();
    const bytes = source.number();
    list.push({ kind, tag, way, count, wanted: isWanted(kind, tag), before, from, end: from + bytes });
    from += bytes;
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

/** Of each wanted record, series by series: its poll, and its place in the order of all seqs. */
interface Places {
  readonly polls: readonly number[];
  readonly places: readonly number[];
}

function placesOf(source: ByteSource, list: readonly Listed[], length: number): Places {
  const polls: number[] = [];
  const before: number[] = [];
  /** How many records each poll has so far, then where its first one stands. */
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

/** The seq of the record at a place; mostly asked for in ascending order. */
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

function valueTaker({ tag, way }: Listed, bytes: Buffer): (mono: number) => unknown {
  if (way === TEXT) {
    const texts = (JSON.parse(bytes.toString()) as unknown[])[Symbol.iterator]();
    return () => texts.next().value;
  }
  const source = { numbers: byteSource(bytes), texts: [][Symbol.iterator]() };
  const run = { way, last: [0, 0, 0] as Last };
  return (mono) => takeValue(source, run, { tag, mono });
}

function oddQualities(block: Buffer): Map<number, Quality> {
  const source = byteSource(block);
  const found = new Map<number, Quality>();
  for (let index = 0; source.at() < block.length; index += 1) {
    index += source.number();
    found.set(index, QUALITIES[source.number()] ?? "good");
  }
  return found;
}

interface Local {
  readonly off: number;
  readonly source_off?: number;
}

const NOTHING_LOCAL: Local = { off: 0 };

/** By the place in the order of seqs: how far the wall clock and the device's own were off. */
function localsOf(local: Buffer, count: number): (place: number) => Local {
  if (local.length === 0) return () => NOTHING_LOCAL;
  const both = byteSource(inflated(local));
  const offs = both.block();
  const sources = both.at() < both.length ? both.block() : null;
  const off = byteSource(offs);
  const source = sources === null ? null : byteSource(sources);
  const told: Local[] = [];
  let now = 0;
  let left = off.at() < offs.length ? off.number() : Infinity;
  let source_off = 0;
  while (told.length < count) {
    if (left === 0) {
      now += off.signed();
      // The record at which it changes is one of those that it holds for.
      left = off.at() < offs.length ? off.number() + 1 : Infinity;
    }
    left -= 1;
    if (source === null || source.number() === 0) told.push({ off: now });
    else {
      source_off += source.signed();
      told.push({ off: now, source_off });
    }
  }
  return (place) => told[place] ?? NOTHING_LOCAL;
}
