import type { Block } from "../rules/plan.ts";
import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** A read, as far as its answer tells it from another: address and count aren't in it. */
export interface AskedRead {
  readonly unit: number;
  readonly code: number;
  readonly address: number;
  readonly count: number;
}

/**
 * Answers that were given up and may still come. Frames of RTU carry no number: what was asked alone tells them apart. A unit
 * answers in the order in which it was asked, so an answer that can be of one read alone is the end of all that was asked before.
 */
export interface LateAnswers {
  /** The answer to what was asked then may still come for so long. */
  gaveUp(read: AskedRead, late: { readonly asked_at: number; readonly for_ms: Milliseconds }): void;
  /** A right answer has come; whether it was values, not an exception. */
  answered(read: AskedRead, isValues: boolean): void;
  /** Whether whatever answers the read, an exception too, can't be of another. */
  isPlain(read: AskedRead): boolean;
  /** Part of a block whose values can't be taken for another's; null: none is. */
  markerIn(unit: number, block: Block): Block | null;
  /** Whether bytes that begin like that are, or may become, the answer to another read than the one that is awaited. */
  mayBegin(bytes: Buffer, size: number, awaited: AskedRead | null): boolean;
  /** When the last of the unit has come or never will, in performance.now(). */
  until(unit: number): number;
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
const EXCEPTION_BIT = 0x80;
/** Unit, function, byte count. */
const HEADER_BYTES = 3;
/** Where the same was asked again, which of its answers came isn't known: the next takes at most as long, and a little. */
const BEHIND = 1.1;
/** So many sizes are tried for a marker: more aren't given up in a row. */
const MARKERS = 4;

export function askedRead(unit: number, pdu: ArrayLike<number>): AskedRead {
  const word = (at: number): number => ((pdu[at] ?? 0) << 8) | (pdu[at + 1] ?? 0);
  return { unit, code: pdu[0] ?? 0, address: word(1), count: word(3) };
}

export function blockRead(unit: number, { table, address, count }: Block): AskedRead {
  return { unit, code: CODES[table], address, count };
}

export function lateAnswers(): LateAnswers {
  const units = new Map<number, readonly Late[]>();
  const of = (unit: number): readonly Late[] => {
    const now = performance.now();
    return (units.get(unit) ?? []).filter(({ until }) => now < until);
  };
  return {
    gaveUp: (read, { asked_at, for_ms }) => {
      units.set(read.unit, [
        ...of(read.unit),
        { ...read, asked_at, until: performance.now() + for_ms, isReadable: false },
      ]);
    },
    answered: (read, isValues) => {
      const same = of(read.unit).filter((late) => isSame(late, read));
      const now = performance.now();
      const longest = BEHIND * same.length * (now - Math.min(...same.map(({ asked_at }) => asked_at)));
      units.set(
        read.unit,
        same.map((late) => ({ ...late, until: Math.min(late.until, now + longest), isReadable: isValues })),
      );
    },
    isPlain: (read) =>
      of(read.unit).every(
        (late) =>
          isSame(late, read) || late.code !== read.code || (late.isReadable && dataBytes(late) !== dataBytes(read)),
      ),
    markerIn: (unit, block) => {
      const step = isBitTable(block.table) ? 8 : 1;
      const counts = Array.from({ length: MARKERS }, (_, i) => 1 + i * step).filter((count) => count <= block.count);
      const isNew = (read: AskedRead): boolean =>
        of(unit).every((late) => late.code !== read.code || dataBytes(late) !== dataBytes(read));
      const count = counts.find((one) => isNew(blockRead(unit, { ...block, count: one })));
      return count === undefined ? null : { ...block, count };
    },
    mayBegin: (bytes, size, awaited) => {
      const others = of(bytes[0] ?? 0).filter((late) => awaited === null || !isSame(late, awaited));
      return others.length > 0 && (size < HEADER_BYTES || others.some((late) => fits(late, bytes)));
    },
    until: (unit) => Math.max(-Infinity, ...of(unit).map(({ until }) => until)),
  };
}

/** Over a line whose frames carry a number, on a connection that doesn't see what was meant for the last one. */
export const NEVER_LATE: LateAnswers = {
  gaveUp: () => undefined,
  answered: () => undefined,
  isPlain: () => true,
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
