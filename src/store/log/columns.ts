import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { KIND } from "../../domain/record.ts";

/**
 * The encoding of a series (the values of one tag): the shortest that restores each value exactly. 0 to 6 mean numbers with that many
 * decimal digits; the other encodings have names below.
 */
export type Encoding = number;

/** Maximum number of decimal places; numbers with more are written as floating point. */
const MOST_DIGITS = 6;
export const TEXT: Encoding = 100;
const SINGLE: Encoding = 101;
const DOUBLE: Encoding = 102;
const COVERAGE: Encoding = 103;
const BOOLEAN: Encoding = 104;
/** Largest number that is written as a difference. Differences of two such numbers are exact. */
const LARGEST = 2 ** 50;
const POWERS = Array.from({ length: MOST_DIGITS + 1 }, (_, digits) => 10 ** digits);

interface CoverageValue {
  readonly group: string;
  readonly from: number;
  readonly to: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

/** The fields of a record that decide how its value is encoded. */
interface ValueOf {
  readonly value: unknown;
  readonly tag: string;
  readonly mono: number;
}

/** Returns the encoding for all values of one series. A `null` among numbers is a bad reading. */
export function encodingFor(kind: string, records: readonly ValueOf[]): Encoding {
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

/** Returns a function that writes the next value of a series. A number is written as its difference from the previous number. TEXT values aren't supported. */
export function valueWriter(sink: ByteSink, encoding: Encoding): (value: unknown) => void {
  const last: [number, number, number] = [0, 0, 0];
  if (encoding === BOOLEAN) return (value) => sink.number([null, false, true].indexOf(value as boolean | null));
  if (encoding === COVERAGE) {
    return (value) => {
      const { from, to, polls, max_interval_ms } = value as CoverageValue;
      for (const [index, count] of [to - from, polls, max_interval_ms].entries()) {
        sink.signed(count - (last[index] ?? 0));
        last[index] = count;
      }
    };
  }
  return (value) => {
    // Writes each difference plus one, because 0 stands for a bad reading.
    if (typeof value !== "number") sink.number(0);
    else if (encoding === DOUBLE) {
      sink.number(1);
      sink.double(value);
    } else {
      const scaled = encoding === SINGLE ? bitsOf(value) : Math.round(value * 10 ** encoding);
      const difference = scaled - last[0];
      last[0] = scaled;
      sink.number(difference >= 0 ? 2 * difference + 1 : -2 * difference);
    }
  };
}

/** Returns a function that reads the next value of a series written by valueWriter. Not for TEXT. */
export function valueReader(source: ByteSource, encoding: Encoding, tag: string): (mono: number) => unknown {
  const last: [number, number, number] = [0, 0, 0];
  if (encoding === BOOLEAN) return () => [null, false, true][source.number()] ?? null;
  if (encoding === COVERAGE) {
    return (from): CoverageValue => {
      for (const index of [0, 1, 2] as const) last[index] += source.signed();
      const [length, polls, max_interval_ms] = last;
      return { group: tag, from, to: from + length, polls, max_interval_ms };
    };
  }
  return () => {
    const code = source.number();
    if (code === 0) return null;
    if (encoding === DOUBLE) return source.double();
    last[0] += code % 2 === 1 ? (code - 1) / 2 : -code / 2;
    return encoding === SINGLE ? numberOf(last[0]) : last[0] / (POWERS[encoding] ?? NaN);
  };
}

const FLOAT = new DataView(new ArrayBuffer(4));

/** Returns the bits of a single-precision number as an integer: close numbers have close bits. */
function bitsOf(value: number): number {
  FLOAT.setFloat32(0, value);
  return FLOAT.getInt32(0);
}

function numberOf(bits: number): number {
  FLOAT.setInt32(0, bits);
  return FLOAT.getFloat32(0);
}

type ByteSink = ReturnType<typeof byteSink>;

/** Returns a growing buffer to which values can be appended. */
export function byteSink() {
  let buffer = Buffer.alloc(256);
  let length = 0;
  const reserve = (more: number): void => {
    if (length + more > buffer.length) buffer = Buffer.concat([buffer], 2 * (length + more));
  };
  const number = (value: number): void => {
    reserve(8);
    let rest = value;
    while (rest >= 128) {
      buffer[length++] = 128 + (rest % 128);
      rest = Math.floor(rest / 128);
    }
    buffer[length++] = rest;
  };
  return {
    /** Appends an integer from 0 to 2^53 - 1 with seven bits per byte, lowest bits first. */
    number,
    /** Appends an integer between -2^52 and 2^52. Small numbers of either sign take few bytes. */
    signed: (value: number): void => number(value >= 0 ? 2 * value : -2 * value - 1),
    double(value: number): void {
      reserve(8);
      length = buffer.writeDoubleLE(value, length);
    },
    /** Appends the number of bytes, then the bytes. */
    block(bytes: Uint8Array): void {
      number(bytes.length);
      reserve(bytes.length);
      buffer.set(bytes, length);
      length += bytes.length;
    },
    bytes: (): Buffer => buffer.subarray(0, length),
  };
}

/** Reads values in the order in which they were appended to a sink. Each read past the end throws a RangeError. */
export class ByteSource {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  number(): number {
    // Fast path, because most numbers are one byte. At the end of the buffer, 128 makes the loop continue and throw.
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
    const length = this.number();
    const begin = this.#at;
    if (begin + length > this.length) throw new RangeError("a block goes beyond the end");
    this.#at += length;
    return this.#buffer.subarray(begin, this.#at);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.length;
  }

  /** Number of bytes read so far. */
  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#buffer.length;
  }
}

/** Limit of an inflated block, far above any row. It bounds the memory if a length is damaged. */
const LARGEST_BYTES = 64_000_000;
const LEAST_OUTPUT_BYTES = 256;

/** Options of zlib with small tables, because allocating tables is most of the cost of a short column. */
const DEFLATE = { level: 9, windowBits: 12, memLevel: 5 };

const TRIED_TWICE_BYTES = 512;

const STRATEGIES = [constants.Z_DEFAULT_STRATEGY, constants.Z_HUFFMAN_ONLY];

/** Deflates a column. Long columns are also tried without a search for repeats, which makes columns of small numbers shorter. */
export function deflated(column: Buffer, finishFlush: number = constants.Z_FINISH): Buffer {
  const strategies = column.length < TRIED_TWICE_BYTES ? [constants.Z_DEFAULT_STRATEGY] : STRATEGIES;
  const tries = strategies.map((strategy) => deflateRawSync(column, { ...DEFLATE, strategy, finishFlush }));
  return tries.reduce((best, one) => (one.length < best.length ? one : best));
}

/** Deflates parts, each with its own symbol statistics, into one stream that a reader inflates as a whole. */
export function deflatedParts(parts: readonly Buffer[]): Buffer {
  if (parts.every(({ length }) => length < TRIED_TWICE_BYTES)) return deflated(Buffer.concat(parts));
  const last = parts.length - 1;
  return Buffer.concat(
    parts.map((part, index) => deflated(part, index === last ? constants.Z_FINISH : constants.Z_SYNC_FLUSH)),
  );
}

/** Inflates a block into a small output buffer. Node's default of 16 KB would be most of the cost for a short column. */
export function inflated(block: Buffer): Buffer {
  return inflateRawSync(block, {
    maxOutputLength: LARGEST_BYTES,
    chunkSize: Math.max(LEAST_OUTPUT_BYTES, 4 * block.length),
  });
}
