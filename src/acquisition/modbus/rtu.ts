import { LinkError } from "../../domain/link-error.ts";
import { identificationLength } from "./device-id.ts";
import {
  crc16,
  CRC_BYTES,
  EXCEPTION_BIT,
  type Expected,
  expectedAnswer,
  type Framing,
  malformed,
  PARTIAL,
  type Verdict,
} from "./framing.ts";
import type { Block } from "../rules/plan.ts";
import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { say } from "../../domain/sentences.ts";
import { monotonicMs } from "../../monotonic.ts";

/**
 * Modbus RTU framing, pure (Modbus over Serial Line V1.02, 2.5.1). Converters and USB adapters don't keep the silences
 * between frames, so an answer's end is known from what was asked for and from its CRC alone, and every field has to fit.
 */

/** Largest RTU frame: unit, 253 bytes of PDU, CRC. */
const MAX_RTU_BYTES = 256;
/** Unit, function, exception code, CRC. */
const EXCEPTION_BYTES = 5;

/** Driver chips that switch direction leave a byte or two at the ends of a frame; more is another fault. */
const MOST_STRAY_BYTES = 2;

/** What was skipped on a line and cost no reading. */
export interface LineOddities {
  /** Requests of ours that came back. */
  echoes: number;
  /** Bytes before and after answers. */
  stray_bytes: number;
}

export function noOddities(): LineOddities {
  return { echoes: 0, stray_bytes: 0 };
}

interface Asked {
  readonly expected: Expected;
  /** What was sent, with its CRC. */
  readonly request: Buffer;
}

type RtuVerdict =
  | Extract<Verdict, { readonly kind: "partial" | "malformed" }>
  /** The answer is bytes [start, end). */
  | { readonly kind: "answer"; readonly start: number; readonly end: number };

/**
 * Judges the frame at the start of `bytes[0, size)`, as early as possible. Unit, function, length and CRC must fit the request; at
 * most `MOST_STRAY_BYTES` may follow the frame.
 */
function judgeFrame(bytes: Buffer, size: number, expected: Expected): Verdict {
  if (size >= 1 && bytes[0] !== expected.unit) return malformed(`unit ${bytes[0] ?? 0} instead of ${expected.unit}`);
  if (size < 2) return PARTIAL;
  const code = bytes[1] ?? 0;
  if (code !== expected.code && code !== (expected.code | EXCEPTION_BIT)) {
    return malformed(`function ${code} instead of ${expected.code}`);
  }
  if (size < 3) return PARTIAL;
  const third = bytes[2] ?? 0;
  const isException = code !== expected.code;
  if (isException && third === 0) return malformed("exception 0");
  const end = isException ? EXCEPTION_BYTES : goodEnd(bytes, size, expected);
  if (typeof end === "string") return malformed(end);
  if (end === null || size < end) return PARTIAL;
  if (size > end + MOST_STRAY_BYTES) return malformed(`${size - end} bytes too many`);
  return hasGoodCrc(bytes, end) ? { kind: "answer", end } : malformed("its CRC is wrong");
}

/**
 * Judges what has come in so far, `bytes[0, size)`, as early as possible. Some adapters send our own request back before the answer,
 * and some lines have a stray byte at either end of a frame: both are skipped. The first place where an answer may still begin
 * decides, so that no frame inside another one is taken.
 */
export function judgeRtu(bytes: Buffer, size: number, { expected, request }: Asked): RtuVerdict {
  const echo_end = echoEnd(bytes, size, request);
  const from = echo_end ?? 0;
  let reason = "";
  for (let start = from; start <= from + MOST_STRAY_BYTES; start++) {
    // An answer may still begin after the stray bytes.
    if (start >= size) return { kind: "partial" };
    const verdict = judgeFrame(bytes.subarray(start), size - start, expected);
    if (verdict.kind === "answer") return { kind: "answer", start, end: start + verdict.end };
    if (verdict.kind === "partial") return { kind: "partial" };
    if (start === from) reason = verdict.reason;
  }
  if (echo_end === null && mayBecomeEcho(bytes, size, request)) return { kind: "partial" };
  return { kind: "malformed", reason };
}

/** Where an echo of the request ends, at most `MOST_STRAY_BYTES` behind the start; null: there is none. */
function echoEnd(bytes: Buffer, size: number, request: Buffer): number | null {
  for (let at = 0; at <= MOST_STRAY_BYTES; at++) {
    const end = at + request.length;
    if (end <= size && request.equals(bytes.subarray(at, end))) return end;
  }
  return null;
}

/** What has come may become an echo of the request. */
function mayBecomeEcho(bytes: Buffer, size: number, request: Buffer): boolean {
  for (let at = 0; at <= MOST_STRAY_BYTES && at < size; at++) {
    const there = bytes.subarray(at, size);
    if (there.length < request.length && request.subarray(0, there.length).equals(there)) return true;
  }
  return false;
}

/** Where a good answer ends; null: too little of it is there to tell; a text: what is wrong with it. */
function goodEnd(bytes: Buffer, size: number, expected: Expected): number | string | null {
  if (expected.identify !== undefined) {
    const length = identificationLength(bytes, { from: 1, size }, expected.identify);
    return typeof length === "number" ? 1 + length + CRC_BYTES : length;
  }
  const third = bytes[2] ?? 0;
  if (third !== expected.dataBytes) return `${third} bytes of data instead of ${expected.dataBytes}`;
  return 3 + expected.dataBytes + CRC_BYTES;
}

/**
 * How long the frame at the start of the bytes is if it is a whole and sound answer to some read; 0: it isn't; -1: it may
 * become one.
 */
function soundFrame(bytes: Buffer, size: number): number {
  if (size < 3) return -1;
  const isException = ((bytes[1] ?? 0) & EXCEPTION_BIT) !== 0;
  const end = isException ? EXCEPTION_BYTES : 3 + (bytes[2] ?? 0) + CRC_BYTES;
  if (end > MAX_RTU_BYTES) return 0;
  if (size < end) return -1;
  return hasGoodCrc(bytes, end) ? end : 0;
}

function hasGoodCrc(bytes: Buffer, end: number): boolean {
  return bytes.readUInt16LE(end - CRC_BYTES) === crc16(bytes, 0, end - CRC_BYTES);
}

/**
 * Modbus RTU: collects the one answer that is awaited; anything else is a LinkError "malformed", but for whole frames that
 * may answer what was given up, an echo of the request, and up to two stray bytes at either end of an answer: they are dropped.
 */
export function rtuFraming(late: LateAnswers, oddities: LineOddities = noOddities()): Framing {
  const frame = Buffer.alloc(2 * MAX_RTU_BYTES);
  let size = 0;
  /** Stray bytes that have come since the last answer. */
  let stray = 0;
  let asked: (Asked & { readonly read: AskedRead }) | null = null;

  /** Drops whole late frames, and stray bytes before them; true: what is there may be the beginning of one. */
  const dropLate = (): boolean => {
    for (let at = 0; at <= MOST_STRAY_BYTES && at < size; at++) {
      const rest = frame.subarray(at, size);
      if (late.mayBegin(rest, rest.length, asked?.read ?? null)) {
        const length = soundFrame(rest, rest.length);
        if (length === -1) return true;
        if (length > 0) {
          oddities.stray_bytes += at;
          frame.copy(frame, 0, at + length, size);
          size -= at + length;
          at = -1;
          continue;
        }
      }
      if (asked !== null && judgeFrame(rest, rest.length, asked.expected).kind !== "malformed") return false;
    }
    return false;
  };
  /** Up to two bytes while nothing is asked belong to the last answer. */
  const dropStray = (): LinkError | null => {
    stray += size;
    oddities.stray_bytes += size;
    const count = size;
    size = 0;
    return stray <= MOST_STRAY_BYTES ? null : new LinkError("malformed", say("plc.odd.unasked", { count }));
  };
  return {
    get awaiting() {
      return asked !== null;
    },
    request(request) {
      const expected = expectedAnswer(request, 0);
      if (expected === null) return null;
      const bytes = Buffer.from(request);
      bytes.writeUInt16LE(crc16(bytes, 0, bytes.length - CRC_BYTES), bytes.length - CRC_BYTES);
      const read = askedRead(expected.unit, bytes.subarray(1, -CRC_BYTES));
      asked = { expected, request: bytes, read };
      size = 0;
      return bytes;
    },
    take(bytes, count) {
      if (size + count > frame.length) return new LinkError("malformed", say("plc.odd.too_long"));
      bytes.copy(frame, size, 0, count);
      size += count;
      if (dropLate()) return null;
      if (asked === null) return dropStray();
      const verdict = judgeRtu(frame, size, asked);
      if (verdict.kind === "partial") return null;
      const { request, expected, read } = asked;
      asked = null;
      stray = 0;
      if (verdict.kind === "malformed") {
        size = 0;
        return new LinkError("malformed", verdict.reason);
      }
      const { start, end } = verdict;
      late.answered(read, frame[start + 1] === expected.code);
      const isEchoed = echoEnd(frame, start, request) !== null;
      if (isEchoed) oddities.echoes += 1;
      oddities.stray_bytes += size - (end - start) - (isEchoed ? request.length : 0);
      stray = size - end;
      size = 0;
      return frame.subarray(start, end);
    },
  };
}

/** A read, as far as its answer tells it from another: address and count aren't in it. */
export interface AskedRead {
  readonly unit: number;
  readonly code: number;
  readonly address: number;
  readonly count: number;
}

interface Late extends AskedRead {
  readonly asked_at: number;
  readonly until: number;
  /** The same was asked again, and gave values: an exception that comes isn't its. */
  readonly isReadable: boolean;
}

const CODES: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };
const LAST_OF_BITS = 2;
const LAST_READ = 4;
/** Unit, function, byte count. */
const HEADER_BYTES = 3;
/** Where the same was asked again, which of its answers came isn't known: the next takes at most as long, and a little. */
const BEHIND = 1.1;
/** After its deadline an answer is taken for possible for so many deadlines more. */
export const LATE_ANSWERS = 2;
/** So many sizes are tried for a marker: more aren't given up in a row. */
const MARKERS = 4;

export function askedRead(unit: number, pdu: ArrayLike<number>): AskedRead {
  const word = (at: number): number => ((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0);
  return { unit, code: pdu[0] ?? 0, address: word(1), count: word(3) };
}

export function blockRead(unit: number, { table, address, count }: Block): AskedRead {
  return { unit, code: CODES[table], address, count };
}

/**
 * Answers that were given up and may still come. Frames of RTU carry no number: what was asked alone tells them apart. A unit
 * answers in the order in which it was asked, so an answer that can be of one read alone is the end of all that was asked before.
 */
export function lateAnswers() {
  const units = new Map<number, readonly Late[]>();
  const of = (unit: number): readonly Late[] => {
    const now = monotonicMs();
    return (units.get(unit) ?? []).filter(({ until }) => now < until);
  };
  return {
    /** The answer to what was asked then may still come for so long. */
    gaveUp: (read: AskedRead, { asked_at, for_ms }: { asked_at: number; for_ms: Milliseconds }): void => {
      units.set(read.unit, [...of(read.unit), { ...read, asked_at, until: monotonicMs() + for_ms, isReadable: false }]);
    },
    /** A right answer has come; whether it was values, not an exception. */
    answered: (read: AskedRead, isValues: boolean): void => {
      const same = of(read.unit).filter((late) => isSame(late, read));
      const now = monotonicMs();
      const longest = BEHIND * same.length * (now - Math.min(...same.map(({ asked_at }) => asked_at)));
      units.set(
        read.unit,
        same.map((late) => ({ ...late, until: Math.min(late.until, now + longest), isReadable: isValues })),
      );
    },
    /** Whether whatever answers the read, an exception too, can't be of another. */
    isPlain: (read: AskedRead) =>
      of(read.unit).every(
        (late) =>
          isSame(late, read) || late.code !== read.code || (late.isReadable && dataBytes(late) !== dataBytes(read)),
      ),
    /**
     * Until when an answer to an earlier request for the same may still come, in monotonicMs(). Within one poll it is as good as the
     * newest answer; taken by a later poll it would show old values as new ones.
     */
    sameUntil: (read: AskedRead): number =>
      Math.max(-Infinity, ...of(read.unit).flatMap((late) => (isSame(late, read) ? [late.until] : []))),
    /** Part of a block whose values can't be taken for another's; null: none is. */
    markerIn: (unit: number, block: Block): Block | null => {
      const step = isBitTable(block.table) ? 8 : 1;
      const counts = Array.from({ length: MARKERS }, (_, i) => 1 + i * step).filter((count) => count <= block.count);
      const isNew = (read: AskedRead): boolean =>
        of(unit).every((late) => late.code !== read.code || dataBytes(late) !== dataBytes(read));
      const count = counts.find((one) => isNew(blockRead(unit, { ...block, count: one })));
      return count === undefined ? null : { ...block, count };
    },
    /** Whether bytes that begin like that are, or may become, the answer to another read than the one that is awaited. */
    mayBegin: (bytes: Buffer, size: number, awaited: AskedRead | null): boolean => {
      const others = of(bytes[0] ?? 0).filter((late) => awaited === null || !isSame(late, awaited));
      return others.length > 0 && (size < HEADER_BYTES || others.some((late) => fits(late, bytes)));
    },
    /** When the last of the unit has come or never will, in monotonicMs(). */
    until: (unit: number) => Math.max(-Infinity, ...of(unit).map(({ until }) => until)),
  };
}

export type LateAnswers = ReturnType<typeof lateAnswers>;

/** Over a line whose frames carry a number, on a connection that doesn't see what was meant for the last one. */
export const NEVER_LATE: LateAnswers = {
  gaveUp: () => undefined,
  answered: () => undefined,
  isPlain: () => true,
  sameUntil: () => -Infinity,
  markerIn: () => null,
  mayBegin: () => false,
  until: () => -Infinity,
};

function isSame(one: AskedRead, other: AskedRead): boolean {
  return (
    one.unit === other.unit && one.code === other.code && one.address === other.address && one.count === other.count
  );
}

/** An exception says of what function it is, and no more. */
function fits(late: Late, frame: Buffer): boolean {
  if (frame[1] === (late.code | EXCEPTION_BIT)) return !late.isReadable;
  return frame[1] === late.code && (late.code > LAST_READ || frame[2] === dataBytes(late));
}

function dataBytes({ code, count }: AskedRead): number {
  return code <= LAST_OF_BITS ? Math.ceil(count / 8) : 2 * count;
}
