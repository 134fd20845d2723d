import type { ByteSink, ByteSource } from "./bytes.ts";

/** How the values of one tag are written: the shortest way that gives every one of them back. */
export type Way =
  | { readonly kind: "decimal"; readonly digits: number }
  | { readonly kind: "single" }
  | { readonly kind: "double" }
  | { readonly kind: "coverage" }
  | { readonly kind: "text" };

/** Numbers with more decimal places are written as floating point. */
const MOST_DIGITS = 6;
/** Differences of two must stay exact. */
const LARGEST = 2 ** 50;
const TEXT_CODE = 100;
const POWERS = Array.from({ length: MOST_DIGITS + 1 }, (_, digits) => 10 ** digits);
const CODES = { single: 101, double: 102, coverage: 103 } as const;

interface CoverageValue {
  readonly group: string;
  readonly from: number;
  readonly to: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

/** One tag's record, as far as its value is concerned. */
export interface ValueOf {
  readonly value: unknown;
  readonly tag: string;
  readonly mono: number;
}

/** The way for all of one tag's values; `null` among numbers is a bad reading. */
export function wayFor(kind: string, records: readonly ValueOf[]): Way {
  if (kind === "h") return records.every(isPlainCoverage) ? { kind: "coverage" } : { kind: "text" };
  const numbers = records.map(({ value }) => value).filter((value) => value !== null);
  if (!numbers.every((value) => typeof value === "number")) return { kind: "text" };
  for (let digits = 0; digits <= MOST_DIGITS; digits += 1) {
    if (numbers.every((value) => isDecimal(value, digits))) return { kind: "decimal", digits };
  }
  return { kind: numbers.every((value) => Math.fround(value) === value) ? "single" : "double" };
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

/** A byte's number for a way, and back. */
export function codeOf(way: Way): number {
  if (way.kind === "decimal") return way.digits;
  return way.kind === "text" ? TEXT_CODE : CODES[way.kind];
}

export function wayOf(code: number): Way {
  if (code <= MOST_DIGITS) return { kind: "decimal", digits: code };
  const kind = (["single", "double", "coverage"] as const).find((name) => CODES[name] === code);
  return { kind: kind ?? "text" };
}

/** What was last written of one tag, from which the next is told: of a coverage, three numbers. */
export type Last = [number, number, number];

/** Where a value goes: differences of numbers, and everything else as JSON. */
export interface ValueSink {
  readonly numbers: ByteSink;
  readonly texts: unknown[];
}

export interface ValueSource {
  readonly numbers: ByteSource;
  readonly texts: Iterator<unknown>;
}

export function putValue(sink: ValueSink, { way, last }: { way: Way; last: Last }, { value }: ValueOf): void {
  if (way.kind === "text") sink.texts.push(value);
  else if (way.kind === "coverage") putCoverage(sink.numbers, last, value as CoverageValue);
  else putNumber(sink.numbers, { way, last }, value as number | null);
}

/** 0 is the bad reading; a difference stands one above. */
function putNumber(numbers: ByteSink, { way, last }: { way: Way; last: Last }, value: number | null): void {
  if (value === null) {
    numbers.number(0);
    return;
  }
  if (way.kind === "double") {
    numbers.number(1);
    numbers.double(value);
    return;
  }
  const scaled = way.kind === "decimal" ? Math.round(value * 10 ** way.digits) : bitsOf(value);
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

export function takeValue(
  source: ValueSource,
  { way, last }: { way: Way; last: Last },
  { tag, mono }: Omit<ValueOf, "value">,
): unknown {
  if (way.kind === "text") return source.texts.next().value;
  if (way.kind === "coverage") return takeCoverage(source.numbers, last, { tag, mono });
  return takeNumber(source.numbers, { way, last });
}

/** Goes past a value of a series of which none is wanted. */
export function passValue({ numbers, texts }: ValueSource, { way }: { way: Way }): void {
  if (way.kind === "text") texts.next();
  else if (way.kind === "coverage") for (let count = 0; count < 3; count += 1) numbers.number();
  else if (numbers.number() !== 0 && way.kind === "double") numbers.double();
}

function takeNumber(numbers: ByteSource, { way, last }: { way: Way; last: Last }): number | null {
  const code = numbers.number();
  if (code === 0) return null;
  if (way.kind === "double") return numbers.double();
  last[0] += code % 2 === 1 ? (code - 1) / 2 : -code / 2;
  return way.kind === "decimal" ? last[0] / (POWERS[way.digits] ?? NaN) : numberOf(last[0]);
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
