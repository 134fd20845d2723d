import { NEAR, USUAL } from "./usual.ts";
import { decodePoint } from "../../acquisition/rules/decode.ts";
import { LAST_ADDRESS, type ModbusPoint, type ModbusType, pointWidth } from "../../domain/profile.ts";

/** How registers whose address, type or order is in doubt may be read, and which way of reading fits best. Pure. */

/** Numbers that stand in registers: what detection can tell apart, the best evidence first. */
export const DETECTABLE = [
  "float32",
  "float64",
  "uint32",
  "int32",
  "bcd32",
  "uint64",
  "int64",
  "uint16",
  "int16",
  "bcd16",
] as const;
export type DetectableType = Extract<ModbusType, (typeof DETECTABLE)[number]>;

/** A place that the address in a manual may mean. */
export interface Place {
  readonly table: "holding" | "input";
  /** 0-based. */
  readonly address: number;
  /** How the manual would have to be read for it. */
  readonly reading: string;
}

/** All orders of words and bytes, the usual ones first. */
export const ORDERS = [
  { letters: "ABCD", word_order: "high_first", byte_order: "high_first" },
  { letters: "CDAB", word_order: "low_first", byte_order: "high_first" },
  { letters: "BADC", word_order: "high_first", byte_order: "low_first" },
  { letters: "DCBA", word_order: "low_first", byte_order: "low_first" },
] as const;
export type OrderPair = (typeof ORDERS)[number];

/** One way to read the registers. */
export interface Candidate {
  readonly place: Place;
  readonly type: DetectableType;
  readonly order: OrderPair;
  readonly words: readonly number[];
  /** null: the registers hold no number of that type. */
  readonly value: number | null;
}

/** What is known of the value that is looked for. */
export interface Clues {
  /** What the machine's own display shows. */
  readonly expect?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface Ranked {
  readonly candidate: Candidate;
  /** Smaller fits better; Infinity: not plausible. */
  readonly misfit: number;
  /** How far off the value that is expected, as a share of it; null: none is, or the registers hold no number of that type. */
  readonly off: number | null;
}

/**
 * Distances of floats within one band are alike; of whole numbers a display shows every digit. The high word of a float before the low word of its neighbour reads nearly like the
 * float itself, so digits that no display shows must not decide.
 */
const BAND = 0.005;

/**
 * The places that an address may mean: as it stands and one beside it, in both tables, the most likely first.
 * @param stated 0-based, as the notation is commonly read
 */
export function placesOf(stated: { readonly table: "holding" | "input"; readonly address: number }): readonly Place[] {
  const other = stated.table === "holding" ? "input" : "holding";
  const shifts = [
    { by: 0, reading: "as stated" },
    { by: -1, reading: "counted from 1 there" },
    { by: 1, reading: "counted from 0 there" },
  ];
  return ([stated.table, other] as const)
    .flatMap((table) =>
      shifts.map(({ by, reading }) => ({
        table,
        address: stated.address + by,
        reading: table === stated.table ? reading : `${reading}, other table`,
      })),
    )
    .filter(({ address }) => address >= 0 && address <= LAST_ADDRESS);
}

/** Registers that a value of the type takes. */
export function widthOfType(type: DetectableType): number {
  return pointWidth(pointFor(type, { scale: 1, offset: 0 }));
}

/** The orders that make a difference for the type; `first` (a profile's own) before the others. */
export function ordersFor(type: DetectableType, first?: OrderPair["letters"]): readonly OrderPair[] {
  const all = widthOfType(type) === 1 ? ORDERS.filter(({ word_order }) => word_order === "high_first") : ORDERS;
  return all.toSorted((a, b) => Number(b.letters === first) - Number(a.letters === first));
}

/** What the registers say when read so. `words` may be longer than the type takes. */
export function candidateOf(
  at: { readonly place: Place; readonly words: readonly number[] },
  type: DetectableType,
  as: { readonly order: OrderPair; readonly scale: number; readonly offset: number },
): Candidate {
  const { place, words } = at;
  const point = pointFor(type, as);
  const decoded = decodePoint(
    { ...point, table: place.table },
    { ...as.order, string_order: "high_first" },
    { data: { kind: "words", words }, index: 0 },
  );
  const value = decoded.quality === "good" ? Number(decoded.value) : null;
  return { place, type, order: as.order, words: words.slice(0, pointWidth(point)), value };
}

/**
 * Best first, then what lies nearest; equal ones stay in the order given. With `expect` the misfit is the relative distance in bands, plausible up to
 * NEAR. Without: registers that are all zero, floats below USUAL.least, values outside min and max (else USUAL) aren't; of the rest
 * floats come before integers and wide ones before narrow ones, since those seldom look right by chance.
 */
export function rank(candidates: readonly Candidate[], clues: Clues): readonly Ranked[] {
  return candidates
    .map((candidate) => {
      const off = offOf(candidate, clues);
      return { candidate, off, misfit: misfitOf(candidate, { ...clues, off }) };
    })
    .toSorted((a, b) => compared(a.misfit, b.misfit) || compared(bandsOff(a), bandsOff(b)));
}

/** Infinity beside Infinity is as good. */
function compared(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function bandsOff({ candidate, off }: Ranked): number {
  return off === null ? Infinity : inBands(candidate.type, off);
}

function inBands(type: DetectableType, off: number): number {
  return type.startsWith("float") ? Math.floor(off / BAND) : off / BAND;
}

function offOf({ value }: Candidate, { expect }: Clues): number | null {
  if (expect === undefined || value === null || !Number.isFinite(value)) return null;
  return Math.abs(value - expect) / Math.max(Math.abs(expect), Number.EPSILON);
}

function misfitOf({ value, words, type }: Candidate, { min, max, expect, off }: Clues & Pick<Ranked, "off">): number {
  if (value === null || !Number.isFinite(value)) return Infinity;
  if (expect !== undefined) {
    return off === null || off > NEAR ? Infinity : inBands(type, off);
  }
  const size = Math.abs(value);
  // What isn't a float, read as one, mostly gives next to nothing, which any limits round 0 would let pass.
  const isTiny = type.startsWith("float") && size < USUAL.least;
  if (isTiny || words.every((word) => word === 0)) return Infinity;
  const isPlausible =
    min === undefined && max === undefined
      ? size >= USUAL.least && size <= USUAL.most
      : value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  return isPlausible ? DETECTABLE.indexOf(type) : Infinity;
}

function pointFor(type: DetectableType, { scale, offset }: { scale: number; offset: number }): ModbusPoint {
  return { table: "holding", address: 0, type, scale, offset, sentinels: [] };
}
