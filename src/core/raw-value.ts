import type { FirstOf, ModbusPoint, ModbusType } from "./types/profile.ts";

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
