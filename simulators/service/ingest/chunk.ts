import { inflateRawSync } from "node:zlib";
import { z } from "zod";
import { textOf } from "../utf8.ts";

/** What a chunk may hold at most: a gateway puts some 4,000 records in one. */
const MAX_RECORDS = 20_000;
const MAX_INFLATED_BYTES = 4 * 1024 * 1024;
const VERSION = 3;
const QUALITIES = ["good", "uncertain", "bad"] as const;
const WAYS = { text: 100, single: 101, double: 102, coverage: 103, boolean: 104 } as const;
const MOST_DIGITS = 6;

/** A record as a chunk tells of it. */
export interface ChunkRecord {
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly mono: number;
  readonly value: unknown;
  readonly quality: string;
}

/** The bytes aren't a chunk's body, or its parts contradict each other. */
export class MalformedChunk extends Error {}

/** Bytes read from front to back. Numbers are unsigned LEB128. */
class Bytes {
  at = 0;
  readonly bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isOver(): boolean {
    return this.at === this.bytes.length;
  }

  take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw new MalformedChunk("cut short");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  number(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (!Number.isSafeInteger(value)) throw new MalformedChunk("a number beyond 2^53");
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  /** 0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ... */
  signed(): number {
    const code = this.number();
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  }

  double(): number {
    this.take(8);
    return this.#view.getFloat64(this.at - 8, true);
  }
}

function inflated(block: Uint8Array): Bytes {
  try {
    return new Bytes(inflateRawSync(block, { maxOutputLength: MAX_INFLATED_BYTES }));
  } catch (cause) {
    throw new MalformedChunk("a block isn't deflate's, or is too large", { cause });
  }
}

function textIn(bytes: Uint8Array): string {
  try {
    return textOf(bytes);
  } catch (cause) {
    throw new MalformedChunk("a text isn't UTF-8", { cause });
  }
}

interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly way: number;
  readonly count: number;
  readonly bytes: number;
}

/** Reads a chunk's body. Throws MalformedChunk. */
export function readChunk(body: Uint8Array, from: { readonly s0: number; readonly mono0: number }): ChunkRecord[] {
  const head = new Bytes(body);
  if (head.byte() !== VERSION) throw new MalformedChunk("another version");
  head.byte();
  const count = head.number();
  if (count === 0 || count > MAX_RECORDS) throw new MalformedChunk("how many records");
  const seqs = seqsOf(head, from.s0, count);
  const lengths = [head.number(), head.number()] as const;
  const a = inflated(head.take(lengths[0]));
  const b = inflated(head.take(lengths[1]));
  if (!head.isOver) throw new MalformedChunk("bytes behind its end");
  const list = seriesOf(a);
  if (list.reduce((sum, one) => sum + one.count, 0) !== count) throw new MalformedChunk("series and count");
  const monos = monosOf(a, from.mono0, count);
  const polls = pollsOf(a, list, monos.length);
  if (!a.isOver) throw new MalformedChunk("bytes behind its times");
  const records = list.flatMap(({ kind, tag, way, bytes }, index) => {
    const own = polls[index] ?? [];
    const values = valuesOf(new Bytes(b.take(bytes)), { way, tag, monos: own.map((poll) => monos[poll] ?? NaN) });
    return own.map((poll, nth) => ({ kind, tag, poll, mono: monos[poll] ?? NaN, value: values[nth] }));
  });
  const odd = qualitiesOf(b, count);
  // Sorting is stable, and series stand in their order within a poll.
  const ordered = records.map((record, index) => ({ ...record, quality: odd.get(index) ?? "good" }));
  ordered.sort((one, other) => one.poll - other.poll);
  return ordered.map(({ kind, tag, mono, value, quality }, index) => ({
    seq: seqs[index] ?? NaN,
    kind,
    tag,
    mono,
    value,
    quality,
  }));
}

function seqsOf(head: Bytes, s0: number, count: number): number[] {
  const seqs: number[] = [];
  let next = s0;
  for (let runs = head.number(); runs > 0; runs -= 1) {
    next += head.number();
    const length = head.number();
    if (length === 0 || seqs.length + length > count) throw new MalformedChunk("seqs and count");
    for (const end = next + length; next < end; next += 1) seqs.push(next);
  }
  if (seqs.length !== count || seqs[0] !== s0) throw new MalformedChunk("seqs and count");
  return seqs;
}

function seriesOf(a: Bytes): Series[] {
  const list: Series[] = [];
  for (let left = a.number(); left > 0; left -= 1) {
    const kind = String.fromCharCode(a.number());
    const tag = textIn(a.take(a.number()));
    const series = { kind, tag, way: a.number(), count: a.number(), bytes: a.number() };
    if (series.count === 0) throw new MalformedChunk("a series of nothing");
    list.push(series);
  }
  return list;
}

function monosOf(a: Bytes, mono0: number, count: number): number[] {
  const polls = a.number();
  if (polls > count) throw new MalformedChunk("more polls than records");
  const usual = a.signed();
  const monos: number[] = [];
  for (let mono = mono0; monos.length < polls;) monos.push((mono += usual + a.signed()));
  return monos;
}

function pollsOf(a: Bytes, list: readonly Series[], polls: number): number[][] {
  return list.map(({ count }) => {
    const own: number[] = [];
    for (let poll = 0; own.length < count; poll += 1) {
      poll += a.number();
      if (poll >= polls) throw new MalformedChunk("a poll that isn't there");
      own.push(poll);
    }
    return own;
  });
}

interface Values {
  readonly way: number;
  readonly tag: string;
  readonly monos: readonly number[];
}

function valuesOf(bytes: Bytes, { way, tag, monos }: Values): readonly unknown[] {
  if (way === WAYS.text) return textsOf(bytes, monos.length);
  let last = 0;
  const counts = [0, 0, 0];
  const values = monos.map((mono): unknown => {
    if (way === WAYS.coverage) {
      for (const index of counts.keys()) counts[index] = (counts[index] ?? 0) + bytes.signed();
      const [length = 0, polls = 0, max_interval_ms = 0] = counts;
      return { group: tag, from: mono, to: mono + length, polls, max_interval_ms };
    }
    const code = bytes.number();
    if (code === 0) return null;
    if (way === WAYS.boolean) return code === 2;
    if (way === WAYS.double) return bytes.double();
    last += code % 2 === 1 ? (code - 1) / 2 : -code / 2;
    if (way === WAYS.single) return singleOf(last);
    if (way > MOST_DIGITS) throw new MalformedChunk("a way that nobody knows");
    return last / 10 ** way;
  });
  if (!bytes.isOver) throw new MalformedChunk("bytes behind a tag's values");
  return values;
}

function textsOf(bytes: Bytes, count: number): readonly unknown[] {
  try {
    return z
      .array(z.unknown())
      .length(count)
      .parse(JSON.parse(textOf(bytes.bytes)));
  } catch (cause) {
    throw new MalformedChunk("a tag's texts", { cause });
  }
}

function singleOf(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setInt32(0, bits);
  return view.getFloat32(0);
}

function qualitiesOf(b: Bytes, count: number): Map<number, string> {
  const odd = new Map<number, string>();
  for (let index = 0; !b.isOver; index += 1) {
    index += b.number();
    const quality = QUALITIES[b.number()];
    if (quality === undefined || index >= count) throw new MalformedChunk("a quality of nothing");
    odd.set(index, quality);
  }
  return odd;
}
