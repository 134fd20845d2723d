import { bad, cleanText, type Decoded, decodeNumber } from "../rules/decode.ts";
import type { OpcuaPoint } from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import type { TagName } from "../../domain/units.ts";

/** A server's answer for one variable, as plain data. Types are the standard's built-in types (OPC 10000-6, 5.1.2). */
export interface RawValue {
  /** Built-in type: 1 Boolean, 2..9 integers by size, 10 Float, 11 Double, 12 String, 21 LocalizedText; 0: no value. */
  readonly type: number;
  readonly isScalar: boolean;
  readonly value: unknown;
  /** Name of the status code. `code` is its number, whose two highest bits are the severity. */
  readonly status: string;
  readonly code: number;
  /** The device's time in ms since 1970; null: none was sent. The time may be invalid. */
  readonly source_at: number | null;
}

const BOOLEAN = 1;
const FLOAT = 10;
const DOUBLE = 11;
const STRING = 12;
const LOCALIZED_TEXT = 21;
const INTEGERS: ReadonlySet<number> = new Set([2, 3, 4, 5, 6, 7]);
const INT64 = 8;
const UINT64 = 9;
/** Longest accepted text. A tag is shown in a table cell, so a longer text is not a tag's value. */
const MAX_TEXT_CHARS = 500;

/** Makes one tag's sample. `insecure`: the connection isn't secured, so the value is uncertain. Pure. */
export function sampleOf(
  { name, point }: { readonly name: TagName; readonly point: OpcuaPoint },
  raw: RawValue,
  { insecure }: { readonly insecure: boolean },
): Sample {
  const source = raw.source_at !== null && Number.isSafeInteger(raw.source_at) ? { source_at: raw.source_at } : {};
  const severity = raw.code >>> 30;
  if (severity >= 2) return { tag: name, value: null, quality: "bad", reason: raw.status, ...source };
  const decoded = decodeValue(point, raw);
  if (decoded.quality === "bad") return { tag: name, ...decoded, ...source };
  const { value } = decoded;
  if (severity === 1) return { tag: name, value, quality: "uncertain", reason: raw.status, ...source };
  if (insecure) return { tag: name, value, quality: "uncertain", reason: "insecure", ...source };
  return { tag: name, value, quality: "good", ...source };
}

/** Decodes a value by the type that the server sent. Integers of any size are accepted; a value of another kind is bad. */
export function decodeValue(point: OpcuaPoint, { type, isScalar, value }: RawValue): Decoded {
  if (type === 0 || value === null || value === undefined) return bad("missing");
  if (!isScalar) return bad("wrong_type");
  if (point.type === "bool") return type === BOOLEAN ? { value: value === true, quality: "good" } : bad("wrong_type");
  if (point.type === "string") return decodeText(type, value);
  const float = point.type === "float32" || point.type === "float64";
  if (type === FLOAT && float && typeof value === "number") return decodeNumber(point, value, "float32");
  if (type === DOUBLE && float && typeof value === "number") return decodeNumber(point, value, "float64");
  if (INTEGERS.has(type) && typeof value === "number") return decodeNumber(point, value, "integer");
  const wide = type === INT64 || type === UINT64 ? wideOf(type, value) : null;
  return wide === null ? bad("wrong_type") : decodeNumber(point, wide, "integer");
}

function decodeText(type: number, value: unknown): Decoded {
  const text =
    type === LOCALIZED_TEXT && typeof value === "object" && value !== null && "text" in value ? value.text : value;
  if (type !== STRING && type !== LOCALIZED_TEXT) return bad("wrong_type");
  if (text === null) return bad("missing");
  return typeof text !== "string" || text.length > MAX_TEXT_CHARS ? bad("wrong_type") : cleanText(text);
}

/** Converts a 64-bit integer from the library's form [high, low]. */
function wideOf(type: number, value: unknown): bigint | null {
  if (!Array.isArray(value)) return null;
  const [high, low] = value as unknown[];
  if (typeof high !== "number" || typeof low !== "number") return null;
  const whole = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  return type === INT64 ? BigInt.asIntN(64, whole) : whole;
}
