import { isBitTable, pointWidth } from "./profile.ts";
import { scaleFloat32, scaleFloat64, scaleInteger } from "./scaling.ts";
import type { Quality, TagValue } from "./types/booth.ts";
import type { ModbusPoint, ModbusQuirks, ValueRules } from "./types/profile.ts";

/** Why a value that the device did send is no value. The driver adds `hole` and `exception_<code>` for what it didn't. */
export type DecodeReason =
  "sentinel" | "nan" | "inf" | "below_min" | "above_max" | "not_text" | "missing" | "wrong_type";

/** A value, or null with quality bad and the reason; nothing in between. */
export type Decoded =
  | { readonly value: Exclude<TagValue, null>; readonly quality: Extract<Quality, "good"> }
  | { readonly value: null; readonly quality: Extract<Quality, "bad">; readonly reason: DecodeReason };

/** What one read of a block brought: registers as 0..65535, or bits. */
export type BlockData =
  | { readonly kind: "words"; readonly words: readonly number[] }
  | { readonly kind: "bits"; readonly bits: readonly boolean[] };

export type Orders = Pick<ModbusQuirks, "word_order" | "string_order">;

const scratch = new DataView(new ArrayBuffer(4));

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
  if (point.type === "bool") return good((((words[0] ?? 0) >> (point.bit ?? 0)) & 1) === 1);
  if (point.type === "string") return decodeText(words, orders.string_order);
  const raw = rawNumber(point, point.word_order ?? orders.word_order, words);
  return decodeNumber(point, raw, point.type === "float32" ? "float32" : "integer");
}

const SCALES = { integer: scaleInteger, float32: scaleFloat32, float64: scaleFloat64 } as const;

/** What a raw number of that kind means by the rules of its tag. Pure. */
export function decodeNumber(rules: ValueRules, raw: number, kind: keyof typeof SCALES): Decoded {
  const carried = (value: number): number => (kind === "float32" ? Math.fround(value) : value);
  if (rules.sentinels.some((sentinel) => raw === carried(sentinel))) return bad("sentinel");
  if (Number.isNaN(raw)) return bad("nan");
  if (!Number.isFinite(raw)) return bad("inf");
  return inRange(rules, SCALES[kind](raw, rules.scale, rules.offset));
}

/** Text as it is shown: no blanks at its end; control characters mean that no text stands there. Pure. */
export function cleanText(text: string): Decoded {
  return /[\u0000-\u001f\u007f-\u009f]/.test(text) ? bad("not_text") : good(text.trimEnd());
}

function inRange(point: ValueRules, value: number): Decoded {
  if (!Number.isFinite(value)) return bad("inf");
  if (point.min !== undefined && value < point.min) return bad("below_min");
  if (point.max !== undefined && value > point.max) return bad("above_max");
  return good(value);
}

function rawNumber(point: ModbusPoint, order: Orders["word_order"], words: readonly number[]): number {
  const [first = 0, second = 0] = words;
  if (point.type === "uint16") return first;
  if (point.type === "int16") return first >= 0x8000 ? first - 0x10000 : first;
  const lowFirst = order === "low_first";
  scratch.setUint16(0, lowFirst ? second : first);
  scratch.setUint16(2, lowFirst ? first : second);
  if (point.type === "float32") return scratch.getFloat32(0);
  return point.type === "int32" ? scratch.getInt32(0) : scratch.getUint32(0);
}

/** Up to the first NUL, trailing blanks dropped. Latin-1; control characters mean that no text stands there. */
function decodeText(words: readonly number[], order: Orders["string_order"]): Decoded {
  const codes = words.flatMap((word) => (order === "low_first" ? [word & 0xff, word >> 8] : [word >> 8, word & 0xff]));
  const end = codes.indexOf(0);
  const text = end === -1 ? codes : codes.slice(0, end);
  return cleanText(String.fromCharCode(...text));
}
