import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { KIND } from "../../domain/record.ts";
/** How the values of one tag are written, the shortest way that gives every one of them back: with so many decimal digits, or as below. */
export type Way = number;

/** Numbers with more decimal places are written as floating point. */
const MOST_DIGITS = 6;
export const TEXT: Way = 100;
const SINGLE: Way = 101;
const DOUBLE: Way = 102;
const COVERAGE: Way = 103;
const BOOLEAN: Way = 104;
/** Differences of two must stay exact. */
const LARGEST = 2 ** 50;
const POWERS = Array.from({ length: MOST_DIGITS + 1 }, (_, digits) => 10 ** digits);

interface CoverageValue {
  readonly group: string;
  readonly from: number;
  readonly to: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

/** One tag's record, as far as its value is concerned. */
interface ValueOf {
  readonly value: unknown;
  readonly tag: string;
  readonly mono: number;
}

/** The way for all of one tag's values; `null` among numbers is a bad reading. */
export function wayFor(kind: string, records: readonly ValueOf[]): Way {
  if (kind === KIND.coverage) return records.every(isPlainCoverage) ? COVERAGE : TEXT;
  const numbers = records.map(({ value }) => value).filter((value) => value !== null);
  if (numbers.length > 0 && numbers.every((value) => typeof value === "boolean")) return BOOLEAN;
  if (!numbers.every((value) => typeof value === "number")) return TEXT;
  for (let digits = 0; digits <= MOST_DIGITS; digits += 1) {
    if (numbers.every((value) => isDecimal(value, digits))) return digits;
  }
  return numbers.every((value) => Math.fround(value) === value) ? SINGLE : DOUBLE;
}

function isDecimal(value: number, digits: number): boolean {
  const scaled = Math.round(value * 10 ** digits);
  return Math.abs(scaled) <= LARGEST && scaled / 10 ** digits === value;
}

function isPlainCoverage({ value, tag, mono }: ValueOf): boolean {
  const { group, from, to, polls, max_interval_ms } = value as CoverageValue;
  const counts = [to - from, polls, max_interval_ms];
  if (group !== tag || from !== mono || !counts.every((count) => Number.isInteger(count) && Math.abs(count) <= LARGEST))
    return false;
  return JSON.stringify(value) === JSON.stringify({ group, from, to, polls, max_interval_ms });
}

/** What was last written of one tag, from which the next is told: of a coverage, three numbers. */
export type Last = [number, number, number];

/** A series of values as it is written or read. */
interface Run {
  readonly way: Way;
  readonly last: Last;
}

/** Where a value goes: differences of numbers, and everything else as JSON. */
interface ValueSink {
  readonly numbers: ByteSink;
  readonly texts: unknown[];
}

interface ValueSource {
  readonly numbers: ByteSource;
  readonly texts: Iterator<unknown>;
}

export function putValue(sink: ValueSink, { way, last }: Run, { value }: ValueOf): void {
  if (way === TEXT) sink.texts.push(value);
  else if (way === COVERAGE) putCoverage(sink.numbers, last, value as CoverageValue);
  else if (way === BOOLEAN) sink.numbers.number(value === null ? 0 : value === true ? 2 : 1);
  else putNumber(sink.numbers, { way, last }, value as number | null);
}

/** 0 is the bad reading; a difference stands one above. */
function putNumber(numbers: ByteSink, { way, last }: Run, value: number | null): void {
  if (value === null) {
    numbers.number(0);
    return;
  }
  if (way === DOUBLE) {
    numbers.number(1);
    numbers.double(value);
    return;
  }
  const scaled = way === SINGLE ? bitsOf(value) : Math.round(value * 10 ** way);
  const difference = scaled - last[0];
  last[0] = scaled;
  numbers.number(difference >= 0 ? 2 * difference + 1 : -2 * difference);
}

function putCoverage(numbers: ByteSink, last: Last, { from, to, polls, max_interval_ms }: CoverageValue): void {
  for (const [index, count] of [to - from, polls, max_interval_ms].entries()) {
    numbers.signed(count - (last[index] ?? 0));
    last[index] = count;
  }
}

export function takeValue(source: ValueSource, { way, last }: Run, { tag, mono }: Omit<ValueOf, "value">): unknown {
  if (way === TEXT) return source.texts.next().value;
  if (way === COVERAGE) return takeCoverage(source.numbers, last, { tag, mono });
  if (way === BOOLEAN) return [null, false, true][source.numbers.number()] ?? null;
  return takeNumber(source.numbers, { way, last });
}

function takeNumber(numbers: ByteSource, { way, last }: Run): number | null {
  const code = numbers.number();
  if (code === 0) return null;
  if (way === DOUBLE) return numbers.double();
  last[0] += code % 2 === 1 ? (code - 1) / 2 : -code / 2;
  return way === SINGLE ? numberOf(last[0]) : last[0] / (POWERS[way] ?? NaN);
}

function takeCoverage(numbers: ByteSource, last: Last, { tag, mono }: Omit<ValueOf, "value">): CoverageValue {
  for (const index of [0, 1, 2] as const) last[index] += numbers.signed();
  const [length, polls, max_interval_ms] = last;
  return { group: tag, from: mono, to: mono + length, polls, max_interval_ms };
}

const FLOAT = new DataView(new ArrayBuffer(4));

/** A single's bits as a whole number: neighbours in value are neighbours there. */
function bitsOf(value: number): number {
  FLOAT.setFloat32(0, value);
  return FLOAT.getInt32(0);
}

function numberOf(bits: number): number {
  FLOAT.setInt32(0, bits);
  return FLOAT.getFloat32(0);
}

export type ByteSink = ReturnType<typeof byteSink>;

/** Bytes put one after the other. */
export function byteSink() {
  let buffer = Buffer.alloc(256);
  let length = 0;
  const room = (more: number): void => {
    if (length + more > buffer.length) buffer = Buffer.concat([buffer], 2 * (length + more));
  };
  const number = (value: number): void => {
    room(8);
    let rest = value;
    while (rest >= 128) {
      buffer[length++] = 128 + (rest % 128);
      rest = Math.floor(rest / 128);
    }
    buffer[length++] = rest;
  };
  return {
    /** A whole number from 0 up to 2^53 - 1, seven bits to a byte, the lowest first. */
    number,
    /** A whole number between -2^52 and 2^52: the small ones of either sign are short. */
    signed: (value: number): void => number(value >= 0 ? 2 * value : -2 * value - 1),
    double(value: number): void {
      room(8);
      length = buffer.writeDoubleLE(value, length);
    },
    /** Bytes behind their length. */
    block(bytes: Uint8Array): void {
      number(bytes.length);
      room(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    bytes: (): Buffer => buffer.subarray(0, length),
  };
}

/** Takes bytes in the order in which they were put. Each throws RangeError at the end. */
export class ByteSource {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  number(): number {
    // Most are less than 128; behind the end a number seems to go on.
    let value = this.#buffer[this.#at++] ?? 128;
    if (value < 128) return value;
    value -= 128;
    for (let unit = 128; ; unit *= 128) {
      const byte = this.#buffer[this.#at++];
      if (byte === undefined) throw new RangeError("a number goes beyond the end");
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  double(): number {
    this.#at += 8;
    return this.#buffer.readDoubleLE(this.#at - 8);
  }

  block(): Buffer {
    const begin = this.#blockBegin();
    return this.#buffer.subarray(begin, this.#at);
  }

  /** A block of UTF-8: a buffer of its own for each would be most of the work. */
  text(): string {
    const begin = this.#blockBegin();
    return this.#buffer.toString("utf8", begin, this.#at);
  }

  /** Where it begins; it ends where the next is taken. */
  #blockBegin(): number {
    const length = this.number();
    const begin = this.#at;
    if (begin + length > this.length) throw new RangeError("a block goes beyond the end");
    this.#at += length;
    return begin;
  }

  /** How many have been taken. */
  at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#buffer.length;
  }
}

export function byteSource(buffer: Buffer): ByteSource {
  return new ByteSource(buffer);
}

/** Much more than any row holds: what a damaged length may not exceed. */
const LARGEST_BYTES = 64_000_000;

const LEAST_ROOM_BYTES = 256;

/** Small tables: making them is most of what a short column costs. */
const DEFLATE = { level: 9, windowBits: 12, memLevel: 5 };

const TRIED_TWICE_BYTES = 512;

const STRATEGIES = [constants.Z_DEFAULT_STRATEGY, constants.Z_HUFFMAN_ONLY];

/** Long columns of small numbers are shorter without a search for repeats, texts and constant ones with it. */
export function deflated(column: Buffer, finishFlush: number = constants.Z_FINISH): Buffer {
  const ways = column.length < TRIED_TWICE_BYTES ? [constants.Z_DEFAULT_STRATEGY] : STRATEGIES;
  const tries = ways.map((strategy) => deflateRawSync(column, { ...DEFLATE, strategy, finishFlush }));
  return tries.reduce((best, one) => (one.length < best.length ? one : best));
}

/** Parts with odds of their own, as one stream: a reader inflates them at once. */
export function deflatedParts(parts: readonly Buffer[]): Buffer {
  if (parts.every(({ length }) => length < TRIED_TWICE_BYTES)) return deflated(Buffer.concat(parts));
  const last = parts.length - 1;
  return Buffer.concat(
    parts.map((part, index) => deflated(part, index === last ? constants.Z_FINISH : constants.Z_SYNC_FLUSH)),
  );
}

/** Most columns are short, and Node's own 16 KB of room for each would be most of the work. */
export function inflated(block: Buffer): Buffer {
  return inflateRawSync(block, {
    maxOutputLength: LARGEST_BYTES,
    chunkSize: Math.max(LEAST_ROOM_BYTES, 4 * block.length),
  });
}
