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
  return (point.word_order ?? orders.word_order) === "low_first" ? straight.toReversed() : straight;
}

/**
 * What the registers hold: a bigint for the 64-bit integers, a number for all else, null for digits that are none (BCD).
 * @param words as many as the type takes, as `inOrder` gives them
 */
export function rawNumber(type: ModbusType, words: readonly number[]): number | bigint | null {
  if (type === "bcd16" || type === "bcd32") return digitsOf(words);
  for (const [i, word] of words.entries()) scratch.setUint16(2 * i, word);
  switch (type) {
    case "int16":
      return scratch.getInt16(0);
    case "uint32":
      return scratch.getUint32(0);
    case "int32":
      return scratch.getInt32(0);
    case "uint64":
      return scratch.getBigUint64(0);
    case "int64":
      return scratch.getBigInt64(0);
    case "float32":
      return scratch.getFloat32(0);
    case "float64":
      return scratch.getFloat64(0);
    default:
      return scratch.getUint16(0);
  }
}

function digitsOf(words: readonly number[]): number | null {
  const digits = words.map((word) => word.toString(16).padStart(4, "0")).join("");
  return /^\d+$/.test(digits) ? Number(digits) : null;
}
