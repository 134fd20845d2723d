import type { Quality, TagValue } from "../../domain/booth.ts";
import {
  type FirstOf,
  isBitTable,
  type ModbusPoint,
  type ModbusType,
  pointWidth,
  type ValueRules,
} from "../../domain/profile.ts";

/** Maximum number of decimal places for which a power of ten is used to compute exactly. */
const MAX_DECIMALS = 12;
const POWERS = Array.from({ length: MAX_DECIMALS + 1 }, (_, decimals) => 10 ** decimals);

/** Bounds the cache of decimal places. A profile has a dozen scales and offsets, which are needed for each value. */
const MAX_KNOWN = 1_000;
const knownDecimals = new Map<number, number>();

/** Counts the decimal places in the shortest notation of `x`: 0.1 -> 1, 25 -> 0, 1e-7 -> 7. */
function decimalsOf(x: number): number {
  const known = knownDecimals.get(x);
  if (known !== undefined) return known;
  const [mantissa = "", exponent = "0"] = String(x).split("e");
  const fraction = mantissa.split(".")[1] ?? "";
  const decimals = Math.max(0, fraction.length - Number(exponent));
  if (knownDecimals.size >= MAX_KNOWN) knownDecimals.clear();
  knownDecimals.set(x, decimals);
  return decimals;
}

/**
 * Computes raw x scale + offset for an integer raw value, without the noise of binary fractions (123 x 0.1 = 12.3). Calculates in integers
 * of the last decimal place if they fit; otherwise rounds to 15 significant digits (as for a scale of 1/3).
 */
export function scaleInteger(raw: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return raw;
  const decimals = offset === 0 ? decimalsOf(scale) : Math.max(decimalsOf(scale), decimalsOf(offset));
  const power = POWERS[decimals] ?? 10 ** decimals;
  const exact = raw * Math.round(scale * power) + Math.round(offset * power);
  const scaled =
    decimals <= MAX_DECIMALS && Number.isSafeInteger(exact)
      ? exact / power
      : Number((raw * scale + offset).toPrecision(15));
  return scaled + 0; // no negative zero: it wouldn't survive JSON
}

/**
 * Returns the shortest decimal that has the same value as a 32-bit float (71.1, not 71.0999984741211). Stored, shown and sent values then
 * have no digits that the device never had.
 */
export function shortestFloat32(value: number): number {
  for (const digits of [6, 7, 8]) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short + 0;
  }
  return Number(value.toPrecision(9)) + 0;
}

/** Computes value x scale + offset for a 32-bit float. Rounds to 9 digits, because more digits would be noise. */
function scaleFloat32(value: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return shortestFloat32(value);
  return Number((shortestFloat32(value) * scale + offset).toPrecision(9)) + 0;
}

/** Computes value x scale + offset for a 64-bit float. Rounds to 15 digits, because more digits would be noise. */
function scaleFloat64(value: number, scale: number, offset: number): number {
  if (scale === 1 && offset === 0) return value + 0;
  return Number((value * scale + offset).toPrecision(15)) + 0;
}

/**
 * Computes raw x scale + offset for a 64-bit integer, exactly. Returns a number if it holds the result without loss, otherwise decimal
 * text. If the scale or the offset has no short decimal notation (1/3), the result has 15 significant digits.
 */
function scaleBigint(raw: bigint, scale: number, offset: number): number | string {
  const decimals = Math.max(decimalsOf(scale), decimalsOf(offset));
  const power = 10 ** decimals;
  const factor = Math.round(scale * power);
  const shift = Math.round(offset * power);
  if (decimals > MAX_DECIMALS || !Number.isSafeInteger(factor) || !Number.isSafeInteger(shift)) {
    return Number((Number(raw) * scale + offset).toPrecision(15)) + 0;
  }
  const exact = raw * BigInt(factor) + BigInt(shift);
  if (BigInt.asIntN(54, exact) === exact && Number.isSafeInteger(Number(exact))) return Number(exact) / power + 0;
  return decimalText(exact, decimals);
}

function decimalText(exact: bigint, decimals: number): string {
  const sign = exact < 0n ? "-" : "";
  const digits = (exact < 0n ? -exact : exact).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return fraction === "" ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

/** Why the device's data is not a usable value. The driver adds `hole` and `exception_<code>` for points without data. */
type DecodeReason =
  "sentinel" | "nan" | "inf" | "below_min" | "above_max" | "not_text" | "not_bcd" | "missing" | "wrong_type";

/** A good value, or null with a reason. */
export type Decoded =
  | { readonly value: Exclude<TagValue, null>; readonly quality: Extract<Quality, "good"> }
  | { readonly value: null; readonly quality: Extract<Quality, "bad">; readonly reason: DecodeReason };

/** Orders of the words in a value, of the bytes in a register, and of the characters in a register. */
export interface Orders {
  readonly word_order: FirstOf;
  readonly byte_order?: FirstOf;
  readonly string_order: FirstOf;
}

const good = (value: Exclude<TagValue, null>): Decoded => ({ value, quality: "good" });
export const bad = (reason: DecodeReason): Decoded => ({ value: null, quality: "bad", reason });

/**
 * Decodes the value of a point that starts at `index` of a block's words: registers as 0..65535, or bits as 0 and 1. Pure. Returns bad with
 * reason `missing` if the block is too short.
 */
export function decodePoint(
  point: ModbusPoint,
  orders: Orders,
  { words, index }: { readonly words: readonly number[]; readonly index: number },
): Decoded {
  const width = pointWidth(point);
  if (index < 0 || words.length < index + width) return bad("missing");
  if (isBitTable(point.table)) return good(words[index] === 1);
  if (point.type === "string") {
    return decodeText(words.slice(index, index + width), point.string_order ?? orders.string_order);
  }
  const isSwapped = (point.byte_order ?? orders.byte_order) === "low_first";
  const isReversed = (point.word_order ?? orders.word_order) === "low_first";
  for (let i = 0; i < width; i++) {
    const word = words[index + (isReversed ? width - 1 - i : i)] ?? 0;
    scratch.setUint16(2 * i, word, isSwapped);
  }
  if (point.type === "bool") return good(((scratch.getUint16(0) >> (point.bit ?? 0)) & 1) === 1);
  const raw = READ[point.type](scratch);
  if (raw === null) return bad("not_bcd");
  return decodeNumber(point, raw, point.type === "float32" || point.type === "float64" ? point.type : "integer");
}

/** Type of a raw number on the wire. A 64-bit integer is a bigint. */
type NumberKind = "integer" | "float32" | "float64";

const SCALES = { integer: scaleInteger, float32: scaleFloat32, float64: scaleFloat64 } as const;

/**
 * Applies the rules of a tag (sentinels, labels, scale, range) to a raw number of any protocol. Returns text for a tag with labels, and for
 * an integer that no number holds without loss. Pure.
 */
export function decodeNumber(rules: ValueRules, raw: number | bigint, kind: NumberKind): Decoded {
  if (rules.sentinels.length > 0 && rules.sentinels.some((sentinel) => isSentinel(sentinel, raw, kind)))
    return bad("sentinel");
  if (Number.isNaN(raw)) return bad("nan");
  if (raw === Infinity || raw === -Infinity) return bad("inf");
  if (rules.labels !== undefined) return good(labelOf(rules.labels, String(raw)));
  const { scale, offset } = rules;
  return inRange(rules, typeof raw === "bigint" ? scaleBigint(raw, scale, offset) : SCALES[kind](raw, scale, offset));
}

/** Removes blanks at the end of a text. Returns bad for control characters, because the registers then hold no text. Pure. */
export function cleanText(text: string): Decoded {
  return /[\u0000-\u001f\u007f-\u009f]/.test(text) ? bad("not_text") : good(text.trimEnd());
}

function isSentinel(sentinel: number | string, raw: number | bigint, kind: NumberKind): boolean {
  const number = Number(sentinel);
  // Compares a 64-bit integer only with a whole sentinel. A sentinel of a float tag can have a fraction, for which BigInt() would throw.
  if (typeof raw === "bigint") return Number.isInteger(number) && BigInt(sentinel) === raw;
  return raw === (kind === "float32" ? Math.fround(number) : number);
}

function labelOf(labels: Readonly<Record<string, string>>, raw: string): string {
  return Object.hasOwn(labels, raw) ? (labels[raw] ?? raw) : raw;
}

function inRange({ min, max }: ValueRules, value: number | string): Decoded {
  const number = Number(value);
  if (!Number.isFinite(number)) return bad("inf");
  if (min !== undefined && number < min) return bad("below_min");
  if (max !== undefined && number > max) return bad("above_max");
  return good(value);
}

/** Decodes Latin-1 text up to the first NUL. */
function decodeText(words: readonly number[], order: FirstOf): Decoded {
  const codes = words.flatMap((word) => (order === "low_first" ? [word & 0xff, word >> 8] : [word >> 8, word & 0xff]));
  const end = codes.indexOf(0);
  const text = end === -1 ? codes : codes.slice(0, end);
  return cleanText(String.fromCharCode(...text));
}

/**
 * Bytes of the value being decoded, most significant first. One buffer serves all values: a list of words for each value was a large part
 * of a poll's garbage.
 */
const scratch = new DataView(new ArrayBuffer(8));

/** Returns the raw number: a bigint for 64-bit integers; null if the digits aren't valid BCD. */
const READ: Readonly<Record<Exclude<ModbusType, "bool" | "string">, (bytes: DataView) => number | bigint | null>> = {
  int16: (bytes) => bytes.getInt16(0),
  uint16: (bytes) => bytes.getUint16(0),
  uint32: (bytes) => bytes.getUint32(0),
  int32: (bytes) => bytes.getInt32(0),
  uint64: (bytes) => bytes.getBigUint64(0),
  int64: (bytes) => bytes.getBigInt64(0),
  float32: (bytes) => bytes.getFloat32(0),
  float64: (bytes) => bytes.getFloat64(0),
  bcd16: (bytes) => decimalOf(bytes.getUint16(0)),
  bcd32: (bytes) => decimalOf(bytes.getUint32(0)),
};

/** Reads hexadecimal digits as decimal digits. Returns null if one of the digits is a letter. */
function decimalOf(bcd: number): number | null {
  const digits = bcd.toString(16);
  return /^\d+$/.test(digits) ? Number(digits) : null;
}
