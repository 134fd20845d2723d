import {
  type FirstOf,
  isBitTable,
  type ModbusPoint,
  type ModbusType,
  pointWidth,
  type ValueRules,
} from "../../domain/profile.ts";
import { scaleBigint, scaleFloat32, scaleFloat64, scaleInteger } from "./scaling.ts";
import type { Quality, TagValue } from "../../domain/booth.ts";

/** Why a value that the device did send is no value. The driver adds `hole` and `exception_<code>` for what it didn't. */
export type DecodeReason =
  "sentinel" | "nan" | "inf" | "below_min" | "above_max" | "not_text" | "not_bcd" | "missing" | "wrong_type";

/** A value, or null with quality bad and the reason; nothing in between. */
export type Decoded =
  | { readonly value: Exclude<TagValue, null>; readonly quality: Extract<Quality, "good"> }
  | { readonly value: null; readonly quality: Extract<Quality, "bad">; readonly reason: DecodeReason };

/** What one read of a block brought: registers as 0..65535, or bits. */
export type BlockData =
  | { readonly kind: "words"; readonly words: readonly number[] }
  | { readonly kind: "bits"; readonly bits: readonly boolean[] };

export interface Orders extends WordOrders {
  readonly string_order: FirstOf;
}

const good = (value: Exclude<TagValue, null>): Decoded => ({ value, quality: "good" });
const bad = (reason: DecodeReason): Decoded => ({ value: null, quality: "bad", reason });

/** The value of a point that starts at `index` of the block. Pure; data that is too short decodes as `missing`. */
export function decodePoint(point: ModbusPoint, orders: Orders, at: { data: BlockData; index: number }): Decoded {
  const { data, index } = at;
  if (data.kind === "bits") {
    const bit = data.bits[index];
    return bit === undefined || !isBitTable(point.table) ? bad("missing") : good(bit);
  }
  const words = data.words.slice(index, index + pointWidth(point));
  if (words.length < pointWidth(point) || isBitTable(point.table)) return bad("missing");
  return decodeWords(point, orders, words);
}

function decodeWords(point: ModbusPoint, orders: Orders, words: readonly number[]): Decoded {
  if (point.type === "string") return decodeText(words, point.string_order ?? orders.string_order);
  const ordered = inOrder(point, orders, words);
  if (point.type === "bool") return good((((ordered[0] ?? 0) >> (point.bit ?? 0)) & 1) === 1);
  const raw = rawNumber(point.type, ordered);
  if (raw === null) return bad("not_bcd");
  return decodeNumber(point, raw, point.type === "float32" || point.type === "float64" ? point.type : "integer");
}

/** How a raw number was carried; a whole number of 64 bits comes as a bigint. */
export type NumberKind = "integer" | "float32" | "float64";

const SCALES = { integer: scaleInteger, float32: scaleFloat32, float64: scaleFloat64 } as const;

/**
 * What a raw number means by the rules of its tag, whatever way it came. Text for one with labels, and for a whole
 * number that no number holds without loss. Pure.
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

/** Text as it is shown: no blanks at its end; control characters mean that no text stands there. Pure. */
export function cleanText(text: string): Decoded {
  return /[\u0000-\u001f\u007f-\u009f]/.test(text) ? bad("not_text") : good(text.trimEnd());
}

function isSentinel(sentinel: number | string, raw: number | bigint, kind: NumberKind): boolean {
  const number = Number(sentinel);
  // A float tag may have a sentinel with a fraction, which no whole number equals and BigInt refuses.
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

/** Up to the first NUL, trailing blanks dropped. Latin-1; control characters mean that no text stands there. */
function decodeText(words: readonly number[], order: FirstOf): Decoded {
  const codes = words.flatMap((word) => (order === "low_first" ? [word & 0xff, word >> 8] : [word >> 8, word & 0xff]));
  const end = codes.indexOf(0);
  const text = end === -1 ? codes : codes.slice(0, end);
  return cleanText(String.fromCharCode(...text));
}

/** Order of words in a value and of bytes in a register. */
export interface WordOrders {
  readonly word_order: FirstOf;
  readonly byte_order?: FirstOf;
}

const scratch = new DataView(new ArrayBuffer(8));

const swapped = (word: number): number => ((word & 0xff) << 8) | (word >> 8);

/** The words of a value, most significant first, each with its high byte first. */
export function inOrder(point: ModbusPoint, orders: WordOrders, words: readonly number[]): readonly number[] {
  const lowByteFirst = (point.byte_order ?? orders.byte_order) === "low_first";
  const straight = lowByteFirst ? words.map(swapped) : words;
  const isReversed = straight.length > 1 && (point.word_order ?? orders.word_order) === "low_first";
  return isReversed ? straight.toReversed() : straight;
}

/**
 * What the registers hold: a bigint for the 64-bit integers, a number for all else, null for digits that are none (BCD).
 * @param words as many as the type takes, as `inOrder` gives them
 */
export function rawNumber(type: ModbusType, words: readonly number[]): number | bigint | null {
  if (type === "bcd16" || type === "bcd32") return digitsOf(words);
  switch (type) {
    case "int16":
      return bytesOf(words).getInt16(0);
    case "uint32":
      return bytesOf(words).getUint32(0);
    case "int32":
      return bytesOf(words).getInt32(0);
    case "uint64":
      return bytesOf(words).getBigUint64(0);
    case "int64":
      return bytesOf(words).getBigInt64(0);
    case "float32":
      return bytesOf(words).getFloat32(0);
    case "float64":
      return bytesOf(words).getFloat64(0);
    default:
      return words[0] ?? 0;
  }
}

function bytesOf(words: readonly number[]): DataView {
  words.forEach((word, i) => {
    scratch.setUint16(2 * i, word);
  });
  return scratch;
}

function digitsOf(words: readonly number[]): number | null {
  const digits = words.map((word) => word.toString(16).padStart(4, "0")).join("");
  return /^\d+$/.test(digits) ? Number(digits) : null;
}
