import type {
  ModbusPoint,
  ModbusProfile,
  ModbusTag,
  ModbusType,
  OpcuaType,
  ProfileTag,
} from "../../src/domain/profile.ts";
import type { Quantity } from "./quantities.ts";

type Type = ModbusType | OpcuaType;
type Point = ProfileTag["point"];

const BYTES: Readonly<Record<Type, number>> = {
  uint8: 1,
  int8: 1,
  bool: 2,
  uint16: 2,
  int16: 2,
  bcd16: 2,
  uint32: 4,
  int32: 4,
  float32: 4,
  bcd32: 4,
  uint64: 8,
  int64: 8,
  float64: 8,
  string: 2,
};

/** Returns the number of registers of a point; 1 for a coil. */
export function widthOf(point: ModbusPoint): number {
  return point.type === "string" ? (point.length ?? 1) : BYTES[point.type] / 2;
}

const isFloat = (type: Type): boolean => type === "float32" || type === "float64";
const isSigned = (type: Type): boolean => type.startsWith("int");

/** Returns the number of different values of a register or variable of that type. */
function sizeOf(point: Point): number {
  if (point.type === "bcd16") return 10_000;
  return point.type === "bcd32" ? 100_000_000 : 2 ** (8 * BYTES[point.type]);
}

/**
 * Returns the whole number that an integer register or variable stores for a value in the tag's unit. Counters count
 * full steps only. The result is modulo the type's size, as a PLC's counter wraps.
 */
export function rawInteger(tag: ProfileTag, value: number): number {
  const { point } = tag;
  const exact = (value - point.offset) / point.scale;
  const whole = tag.counter || tag.role === "uptime" ? Math.floor(exact + 1e-6) : Math.round(exact);
  const size = sizeOf(point);
  if (Math.abs(whole) < size / 2 && (whole >= 0 || isSigned(point.type))) return whole;
  const wrapped = ((whole % size) + size) % size;
  return isSigned(point.type) && wrapped >= size / 2 ? wrapped - size : wrapped;
}

/** Returns the raw value with that label, or the text as a number. */
export function unlabelled(point: Point, value: Quantity): number {
  const known = Object.entries(point.labels ?? {}).find(([, label]) => label === value);
  return Number(known ? known[0] : value);
}

/** Returns the value's bytes, most significant first. */
function bytesOf(tag: ModbusTag, value: Quantity): Buffer {
  const { point } = tag;
  const bytes = Buffer.alloc(BYTES[point.type]);
  const number = unlabelled(point, value);
  if (isFloat(point.type)) {
    const raw = (number - point.offset) / point.scale;
    if (point.type === "float32") bytes.writeFloatBE(raw);
    else bytes.writeDoubleBE(raw);
    return bytes;
  }
  const whole = BigInt(rawInteger(tag, Number.isFinite(number) ? number : 0));
  const coded = point.type.startsWith("bcd") ? BigInt(`0x${whole}`) : whole;
  const hex = BigInt.asUintN(8 * bytes.length, coded).toString(16);
  return Buffer.from(hex.padStart(2 * bytes.length, "0"), "hex");
}

function textWords(point: ModbusPoint, text: string, lowFirst: boolean): readonly number[] {
  return Array.from({ length: point.length ?? 1 }, (_, i) => {
    const first = text.charCodeAt(2 * i) || 0;
    const second = text.charCodeAt(2 * i + 1) || 0;
    return lowFirst ? (second << 8) | first : (first << 8) | second;
  });
}

function isOn(value: Quantity): boolean {
  return value === true || (typeof value === "number" && value !== 0);
}

/**
 * Returns the registers of a point in the device's order of words and bytes. A bit in a register is returned as that
 * bit's weight.
 */
export function encodePoint(profile: ModbusProfile, tag: ModbusTag, value: Quantity): readonly number[] {
  const { point } = tag;
  const { quirks } = profile;
  if (point.type === "string") {
    return textWords(point, String(value), (point.string_order ?? quirks.string_order) === "low_first");
  }
  if (point.table === "coil" || point.table === "discrete") return [isOn(value) ? 1 : 0];
  const bytes = point.type === "bool" ? Buffer.alloc(2) : bytesOf(tag, value);
  if (point.type === "bool") bytes.writeUInt16BE(isOn(value) ? 1 << (point.bit ?? 0) : 0);
  if ((point.byte_order ?? quirks.byte_order) === "low_first") bytes.swap16();
  const words = Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readUInt16BE(2 * i));
  return (point.word_order ?? quirks.word_order) === "low_first" ? words.toReversed() : words;
}
