import type { Quality } from "../../domain/booth.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { type ByteSource, byteSource, inflated, takeValue, TEXT, type Way } from "./columns.ts";
import type { Span } from "./missing.ts";

/**
 * A row's body, which is a chunk's body on the wire as well: docs/wire.md describes it for readers in other languages. Behind it
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
  let [next, held] = [first_seq, 0];
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
    ...{ flags: packed[1] ?? 0, count, runs, a: packed.subarray(at, at + lengths[0]) },
    ...{ b: packed.subarray(at + lengths[0], end), local: packed.subarray(end) },
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
  /** Where its values stand in block B. */
  readonly from: number;
  readonly end: number;
}

/** What was packed, as far as it is wanted. Throws RangeError, or zlib's error, where the bytes are none that packChunk made. */
export function unpackChunk(start: Start, packed: Buffer, isWanted: Wanted): Placed<LogRecord>[] {
  const { first_seq, boot, mono0, t0 } = start;
  const { count, runs, a, b, local } = headOf(first_seq, packed);
  const source = byteSource(inflated(a));
  const list = listOf(source);
  must(list.reduce((sum, one) => sum + one.count, 0) === count, "how many");
  if (!list.some(({ kind, tag }) => isWanted(kind, tag))) return [];
  const monos = monosOf(source, mono0);
  const { polls, places } = placesOf(source, list, { count, polls: monos.length });
  must(source.at() === source.length, "its times");
  const block = inflated(b);
  const qualities = oddQualities(block.subarray(list.at(-1)?.end ?? 0));
  const seqs = runs.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  const told = localsOf(local, count);
  const found = new Array<Placed<LogRecord> | undefined>(count);
  let index = 0;
  for (const { kind, tag, way, count: own, from, end } of list) {
    if (!isWanted(kind, tag)) {
      index += own;
      continue;
    }
    const take = valueTaker(way, block.subarray(from, end));
    for (const upTo = index + own; index < upTo; index += 1) {
      const place = places[index] ?? 0;
      const mono = monos[polls[index] ?? 0] ?? 0;
      const time = t0 + mono - mono0;
      const { off, source_off } = told(place);
      found[place] = {
        ...{ kind, seq: seqs[place], boot, mono, at: time + off, tag, value: take({ tag, mono }) },
        ...(source_off === undefined ? {} : { source_at: time + source_off }),
        ...{ quality: qualities.get(index) ?? "good", time },
        // Packed from a LogRecord: its shape is the one that went in.
      } as Placed<LogRecord>;
    }
  }
  return found.filter((record) => record !== undefined);
}

function listOf(source: ByteSource): Listed[] {
  const list: Listed[] = [];
  let from = 0;
  for (let left = source.number(); left > 0; left -= 1) {
    const kind = String.fromCharCode(source.number());
    const tag = source.block().toString();
    const [code, count, bytes] = [source.number(), source.number(), source.number()];
    list.push({ kind, tag, way: code, count, from, end: from + bytes });
    from += bytes;
  }
  return list;
}

function monosOf(source: ByteSource, mono0: number): number[] {
  const monos: number[] = [];
  const count = source.number();
  const usual = source.signed();
  for (let mono = mono0; monos.length < count;) {
    mono += usual + source.signed();
    monos.push(mono);
  }
  return monos;
}

/** Of each record, counted series by series: its poll, and its place in the order of seqs. */
function placesOf(
  source: ByteSource,
  list: readonly Listed[],
  sizes: { readonly count: number; readonly polls: number },
): { readonly polls: Uint32Array; readonly places: Uint32Array } {
  const polls = new Uint32Array(sizes.count);
  /** How many records each poll has, then where its next one stands. */
  const next = new Uint32Array(sizes.polls);
  let index = 0;
  for (const { count } of list) {
    for (let [left, poll] = [count, -1]; left > 0; left -= 1, index += 1) {
      poll += 1 + source.number();
      must(poll < sizes.polls, "its polls");
      polls[index] = poll;
      next[poll] = (next[poll] ?? 0) + 1;
    }
  }
  let before = 0;
  for (const [poll, size] of next.entries()) {
    next[poll] = before;
    before += size;
  }
  const places = polls.map((poll) => {
    const place = next[poll] ?? 0;
    next[poll] = place + 1;
    return place;
  });
  return { polls, places };
}

function valueTaker(way: Way, bytes: Buffer): (of: { readonly tag: string; readonly mono: number }) => unknown {
  if (way === TEXT) {
    const texts = (JSON.parse(bytes.toString()) as unknown[])[Symbol.iterator]();
    return () => texts.next().value;
  }
  const numbers = byteSource(bytes);
  const last: [number, number, number] = [0, 0, 0];
  return (of) => takeValue({ numbers, texts: [][Symbol.iterator]() }, { way, last }, of);
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

interface Told {
  readonly off: number;
  readonly source_off?: number;
}

const NOTHING_TOLD: Told = { off: 0 };

/** By the place in the order of seqs: how far the wall clock and the device's own were off. */
function localsOf(local: Buffer, count: number): (place: number) => Told {
  if (local.length === 0) return () => NOTHING_TOLD;
  const both = byteSource(inflated(local));
  const [offs, sources] = [both.block(), both.at() < both.length ? both.block() : null];
  const off = byteSource(offs);
  const source = sources === null ? null : byteSource(sources);
  const told: Told[] = [];
  let [now, left, source_off] = [0, off.at() < offs.length ? off.number() : Infinity, 0];
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
  return (place) => told[place] ?? NOTHING_TOLD;
}
