import { message } from "../../domain/message.ts";
import { LinkError } from "../../domain/link-error.ts";
import { isBitTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { Block } from "../rules/plan.ts";
import { answerEnd, EXCEPTION_BIT, type Expected, expectedAnswer, type Framing, READ_FUNCTIONS } from "./framing.ts";

/**
 * Modbus RTU framing, pure (Modbus over Serial Line V1.02, 2.5.1). Converters and USB adapters don't preserve the silences between frames.
 * So the end of an answer follows from the request and the CRC alone, and every field must fit.
 */

/** Size of the largest RTU frame: unit id, 253 bytes of PDU, CRC. */
const MAX_RTU_BYTES = 256;
export const CRC_BYTES = 2;
/** Size of an exception: unit id, function, exception code, CRC. */
const EXCEPTION_BYTES = 5;
/**
 * Maximum number of stray bytes at either end of a frame. Driver chips that switch direction produce one or two; more bytes have another
 * cause.
 */
const MAX_STRAY_BYTES = 2;

const POLYNOMIAL = 0xa001;
const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >> 1) ^ POLYNOMIAL : crc >> 1;
  return crc;
});

/** Returns the CRC-16/MODBUS of `bytes[0, end)`. */
export function crc16(bytes: Uint8Array, end = bytes.length): number {
  let crc = 0xffff;
  for (let i = 0; i < end; i++) crc = (crc >> 8) ^ (CRC_TABLE[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  return crc;
}

function hasGoodCrc(bytes: Buffer, end: number): boolean {
  return bytes.readUInt16LE(end - CRC_BYTES) === crc16(bytes, end - CRC_BYTES);
}

/** Counts of unexpected bytes on a line that were skipped without losing a reading. */
export interface LineOddities {
  /** Requests of this agent that the line sent back. */
  echoes: number;
  /** Unexpected bytes before and after answers. */
  stray_bytes: number;
}

export function noOddities(): LineOddities {
  return { echoes: 0, stray_bytes: 0 };
}

interface Asked {
  readonly expected: Expected;
  /** The frame that was sent, with its CRC. */
  readonly request: Buffer;
}

/**
 * Checks the frame at the start of `bytes[0, size)`. Returns the frame's end with CRC; null if more bytes are needed; a text that says why
 * it is no answer. At most `MAX_STRAY_BYTES` may follow the frame.
 */
function judgeFrame(bytes: Buffer, size: number, expected: Expected): number | string | null {
  const bodyEnd = answerEnd(bytes, size, expected);
  if (typeof bodyEnd !== "number") return bodyEnd;
  const end = bodyEnd + CRC_BYTES;
  if (size < end) return null;
  if (size > end + MAX_STRAY_BYTES) return `${size - end} bytes too many`;
  return hasGoodCrc(bytes, end) ? end : "its CRC is wrong";
}

/**
 * Checks the bytes received so far, `bytes[0, size)`, as early as possible. Some adapters send our own request back before the answer, and
 * some lines have a stray byte at either end of a frame; both are skipped. Only the first position where an answer can still start is used,
 * so that a frame inside another frame is never accepted. Returns null if more bytes are needed; a text if they are no answer.
 */
export function judgeRtu(
  bytes: Buffer,
  size: number,
  { expected, request }: Asked,
): { readonly start: number; readonly end: number } | string | null {
  const echo_end = echoEnd(bytes, size, request);
  const from = echo_end ?? 0;
  let reason = "";
  for (let start = from; start <= from + MAX_STRAY_BYTES; start++) {
    // Keeps waiting if only stray bytes have arrived, because a complete answer can still follow them.
    if (start >= size) return null;
    const verdict = judgeFrame(bytes.subarray(start), size - start, expected);
    if (typeof verdict === "number") return { start, end: start + verdict };
    if (verdict === null) return null;
    if (start === from) reason = verdict;
  }
  return echo_end === null && canBecomeEcho(bytes, size, request) ? null : reason;
}

/** Returns the end of an echo of the request that starts within the first `MAX_STRAY_BYTES`; null if there is no echo. */
function echoEnd(bytes: Buffer, size: number, request: Buffer): number | null {
  for (let at = 0; at <= MAX_STRAY_BYTES; at++) {
    const end = at + request.length;
    if (end <= size && request.equals(bytes.subarray(at, end))) return end;
  }
  return null;
}

function canBecomeEcho(bytes: Buffer, size: number, request: Buffer): boolean {
  for (let at = 0; at <= MAX_STRAY_BYTES && at < size; at++) {
    const rest = bytes.subarray(at, size);
    if (rest.length < request.length && request.subarray(0, rest.length).equals(rest)) return true;
  }
  return false;
}

/**
 * Checks whether the bytes start with a valid answer to any read. Returns the length of the answer; 0 if there is none; -1 if more bytes
 * may complete one.
 */
function soundFrame(bytes: Buffer): number {
  if (bytes.length < 3) return -1;
  const isException = ((bytes[1] ?? 0) & EXCEPTION_BIT) !== 0;
  const end = isException ? EXCEPTION_BYTES : 3 + (bytes[2] ?? 0) + CRC_BYTES;
  if (end > MAX_RTU_BYTES) return 0;
  if (bytes.length < end) return -1;
  return hasGoodCrc(bytes, end) ? end : 0;
}

/**
 * Makes the framing of one RTU connection. Drops late answers to expired requests, an echo of the request, and up to two stray bytes at
 * either end of an answer. Any other byte leads to a LinkError "malformed".
 */
export function rtuFraming(late: LateAnswers, oddities: LineOddities = noOddities()): Framing {
  const frame = Buffer.alloc(2 * MAX_RTU_BYTES);
  let size = 0;
  /** Number of stray bytes since the last answer. */
  let stray = 0;
  let asked: (Asked & { readonly read: AskedRead }) | null = null;

  /** Drops whole late frames, and stray bytes before them. Returns true if the remaining bytes may become a late frame. */
  const dropLate = (): boolean => {
    for (let at = 0; at <= MAX_STRAY_BYTES && at < size; at++) {
      const rest = frame.subarray(at, size);
      if (late.canStart(rest, asked?.read ?? null)) {
        const length = soundFrame(rest);
        if (length === -1) return true;
        if (length > 0) {
          oddities.stray_bytes += at;
          frame.copy(frame, 0, at + length, size);
          size -= at + length;
          at = -1;
          continue;
        }
      }
      if (asked !== null && typeof judgeFrame(rest, rest.length, asked.expected) !== "string") return false;
    }
    return false;
  };
  /** Drops bytes that arrive while no request is pending. Up to two such bytes belong to the last answer; more are an error. */
  const dropStray = (): LinkError | null => {
    stray += size;
    oddities.stray_bytes += size;
    const count = size;
    size = 0;
    return stray <= MAX_STRAY_BYTES ? null : new LinkError("malformed", message("plc.odd.unasked", { count }));
  };
  return {
    get isAwaiting() {
      return asked !== null;
    },
    request(request) {
      const expected = expectedAnswer(request);
      if (expected === null) return null;
      const bytes = Buffer.alloc(request.length + CRC_BYTES);
      bytes.set(request);
      bytes.writeUInt16LE(crc16(request), request.length);
      asked = { expected, request: bytes, read: askedRead(expected.unit, request.subarray(1)) };
      size = 0;
      return bytes;
    },
    take(bytes, count) {
      if (size + count > frame.length) return new LinkError("malformed", message("plc.odd.too_long"));
      bytes.copy(frame, size, 0, count);
      size += count;
      if (dropLate()) return null;
      if (asked === null) return dropStray();
      const verdict = judgeRtu(frame, size, asked);
      if (verdict === null) return null;
      const { request, expected, read } = asked;
      const received = size;
      asked = null;
      stray = 0;
      size = 0;
      if (typeof verdict === "string") return new LinkError("malformed", verdict);
      const { start, end } = verdict;
      late.answered(read, frame[start + 1] === expected.code);
      const isEchoed = echoEnd(frame, start, request) !== null;
      if (isEchoed) oddities.echoes += 1;
      oddities.stray_bytes += received - (end - start) - (isEchoed ? request.length : 0);
      stray = received - end;
      return frame.subarray(start, end - CRC_BYTES);
    },
  };
}

/** A read request. Its answer carries unit id and function, but neither address nor count. */
export interface AskedRead {
  readonly unit: number;
  readonly code: number;
  readonly address: number;
  readonly count: number;
}

interface Late extends AskedRead {
  readonly asked_at: number;
  readonly until: number;
  /** True if the same request was sent again and returned values. An exception then can't be its answer. */
  readonly isReadable: boolean;
}

const LAST_BIT_FUNCTION = 2;
const LAST_READ_FUNCTION = 4;
/** Size of an answer's header: unit id, function, byte count. */
const HEADER_BYTES = 3;
/** Factor on the time of the first answer if the same request was sent twice. The second answer takes at most as long, with 10 % margin. */
const SECOND_ANSWER = 1.1;
/** Number of further deadlines for which an answer can still arrive after its own deadline. */
export const LATE_ANSWERS = 2;
/** Number of sizes that are tried for a marker. Fewer requests than that expire in a row. */
const MARKER_SIZES = 4;

export function askedRead(unit: number, pdu: ArrayLike<number>): AskedRead {
  const word = (at: number): number => ((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0);
  return { unit, code: pdu[0] ?? 0, address: word(1), count: word(3) };
}

export function blockRead(unit: number, { table, address, count }: Block): AskedRead {
  return { unit, code: READ_FUNCTIONS[table], address, count };
}

export type LateAnswers = ReturnType<typeof lateAnswers>;

/**
 * Remembers expired requests on a serial line: their deadline has passed, but their answers can still arrive. RTU frames carry no number,
 * so only function and size distinguish answers. A unit answers in the order of the requests. So if an answer can belong to only one
 * request, no answer to an earlier request follows. An entry is removed after such an answer, or `LATE_ANSWERS` deadlines after its own
 * deadline. Times are in monotonicMs().
 */
export function lateAnswers() {
  const units = new Map<number, readonly Late[]>();
  const lateOf = (unit: number): readonly Late[] => {
    const now = monotonicMs();
    return (units.get(unit) ?? []).filter(({ until }) => now < until);
  };
  return {
    /** Notes that the answer to this request can still arrive for `for_ms`. */
    gaveUp: (read: AskedRead, { asked_at, for_ms }: { asked_at: number; for_ms: Milliseconds }): void => {
      const until = monotonicMs() + for_ms;
      units.set(read.unit, [...lateOf(read.unit), { ...read, asked_at, until, isReadable: false }]);
    },
    /** Notes that a correct answer has arrived: values, or an exception. */
    answered: (read: AskedRead, isValues: boolean): void => {
      const same = lateOf(read.unit).filter((late) => isSame(late, read));
      const now = monotonicMs();
      const longest = SECOND_ANSWER * same.length * (now - Math.min(...same.map(({ asked_at }) => asked_at)));
      units.set(
        read.unit,
        same.map((late) => ({ ...late, until: Math.min(late.until, now + longest), isReadable: isValues })),
      );
    },
    /** Returns whether every possible answer to this request, even an exception, can only belong to it. */
    isUnambiguous: (read: AskedRead) =>
      lateOf(read.unit).every(
        (late) =>
          isSame(late, read) || late.code !== read.code || (late.isReadable && dataBytes(late) !== dataBytes(read)),
      ),
    /**
     * Returns the time until which an answer to an earlier, equal request can still arrive. Within one poll, that answer is as good
     * as the newest. In a later poll, it would show old values as new ones.
     */
    sameUntil: (read: AskedRead): number =>
      Math.max(-Infinity, ...lateOf(read.unit).flatMap((late) => (isSame(late, read) ? [late.until] : []))),
    /** Returns a marker: a part of the block whose answer can't be mistaken for the answer to another request. null: no part is unique. */
    markerIn: (unit: number, block: Block): Block | null => {
      const step = isBitTable(block.table) ? 8 : 1;
      const counts = Array.from({ length: MARKER_SIZES }, (_, i) => 1 + i * step).filter((n) => n <= block.count);
      const isNew = (read: AskedRead): boolean =>
        lateOf(unit).every((late) => late.code !== read.code || dataBytes(late) !== dataBytes(read));
      const count = counts.find((one) => isNew(blockRead(unit, { ...block, count: one })));
      return count === undefined ? null : { ...block, count };
    },
    /** Returns whether these bytes are, or may become, the answer to a request other than the awaited one. */
    canStart: (bytes: Buffer, awaited: AskedRead | null): boolean => {
      const others = lateOf(bytes[0] ?? 0).filter((late) => awaited === null || !isSame(late, awaited));
      return others.length > 0 && (bytes.length < HEADER_BYTES || others.some((late) => fits(late, bytes)));
    },
    /** Returns the time at which no more late answers of the unit can arrive. */
    until: (unit: number) => Math.max(-Infinity, ...lateOf(unit).map(({ until }) => until)),
  };
}

/** A memory without entries, for lines with numbered frames whose new connections don't get answers meant for the last connection. */
export const NEVER_LATE: LateAnswers = { ...lateAnswers(), gaveUp: () => undefined };

function isSame(one: AskedRead, other: AskedRead): boolean {
  const isSameBlock = one.address === other.address && one.count === other.count;
  return one.unit === other.unit && one.code === other.code && isSameBlock;
}

/** Returns whether the frame can be the late answer. An exception reveals only its function. */
function fits(late: Late, frame: Buffer): boolean {
  if (frame[1] === (late.code | EXCEPTION_BIT)) return !late.isReadable;
  return frame[1] === late.code && (late.code > LAST_READ_FUNCTION || frame[2] === dataBytes(late));
}

function dataBytes({ code, count }: AskedRead): number {
  return code <= LAST_BIT_FUNCTION ? Math.ceil(count / 8) : 2 * count;
}
