import { message, type Text } from "../../domain/message.ts";
import { NEAR, USUAL } from "./usual.ts";
import { decodePoint } from "../../acquisition/rules/decode.ts";
import { LAST_ADDRESS, type ModbusPoint, type ModbusType, pointWidth } from "../../domain/profile.ts";

/** This module finds the best way to read registers whose address, type or word order is in doubt. Pure. */

/** Number types that detection can distinguish, in order of how much a fitting value proves. */
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

/** A table and address that a manual may mean. */
export interface Place {
  readonly table: "holding" | "input";
  /** The 0-based address in the table. */
  readonly address: number;
  /** How the manual must be understood to get this address. */
  readonly reading: Text;
}

/** All orders of words and bytes, the usual ones first. */
export const ORDERS = [
  { letters: "ABCD", word_order: "high_first", byte_order: "high_first" },
  { letters: "CDAB", word_order: "low_first", byte_order: "high_first" },
  { letters: "BADC", word_order: "high_first", byte_order: "low_first" },
  { letters: "DCBA", word_order: "low_first", byte_order: "low_first" },
] as const;
export type OrderPair = (typeof ORDERS)[number];

/** A way to read the registers: address, type and order, with the value. */
export interface Candidate {
  readonly place: Place;
  readonly type: DetectableType;
  readonly order: OrderPair;
  readonly words: readonly number[];
  /** The value; null if the registers hold no number of that type. */
  readonly value: number | null;
}

/** Returns the keys of a profile's tag that name the order in which the registers were read. */
export function orderKeys({ order: { word_order, byte_order }, words }: Candidate) {
  return {
    ...(words.length > 1 ? { word_order } : {}),
    ...(byte_order === "low_first" ? { byte_order } : {}),
  };
}

/** Known facts about the value to find. */
export interface Clues {
  /** The value on the machine's own display. */
  readonly expect?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface Ranked {
  readonly candidate: Candidate;
  /** How badly the candidate fits: smaller is better, Infinity is not plausible. */
  readonly misfit: number;
  /** The distance from the expected value, as a share of that value; null without an expected value or without a number. */
  readonly off: number | null;
}

/**
 * The width of a band, as a share of the expected value. Floats whose distances lie in the same band count as equally good, because a
 * display rounds floats. The high word of a float, followed by the low word of its neighbor, gives nearly the same float. Digits that no
 * display shows must therefore not decide. Whole numbers need no band, because a display shows all their digits.
 */
const BAND = 0.005;

/**
 * Returns the places (table and address) that an address may mean: the stated place and its two neighbors, in both tables, the most likely
 * first.
 * @param stated 0-based, as the notation is commonly read
 */
export function placesOf(stated: { readonly table: "holding" | "input"; readonly address: number }): readonly Place[] {
  const other = stated.table === "holding" ? "input" : "holding";
  const shifts = [
    { by: 0, reading: message("detect.as_stated") },
    { by: -1, reading: message("detect.from_one") },
    { by: 1, reading: message("detect.from_zero") },
  ];
  return ([stated.table, other] as const)
    .flatMap((table) =>
      shifts.map(({ by, reading }) => ({
        table,
        address: stated.address + by,
        reading:
          table === stated.table ? reading : message("text.list", { texts: [reading, message("detect.other_table")] }),
      })),
    )
    .filter(({ address }) => address >= 0 && address <= LAST_ADDRESS);
}

/** Returns the number of registers of a type. */
export function widthOfType(type: DetectableType): number {
  return pointWidth(pointFor(type, { scale: 1, offset: 0 }));
}

/** Returns the word and byte orders that differ for the type. The profile's order, `first`, comes first. */
export function ordersFor(type: DetectableType, first?: OrderPair["letters"]): readonly OrderPair[] {
  const all = widthOfType(type) === 1 ? ORDERS.filter(({ word_order }) => word_order === "high_first") : ORDERS;
  return all.toSorted((a, b) => Number(b.letters === first) - Number(a.letters === first));
}

/** Reads the registers as a type in an order. `words` may be longer than the type needs. */
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
    { words, index: 0 },
  );
  const value = decoded.quality === "good" ? Number(decoded.value) : null;
  return { place, type, order: as.order, words: words.slice(0, pointWidth(point)), value };
}

/**
 * Sorts candidates by misfit, then by distance; equal candidates keep their order.
 *
 * With `expect` the misfit is the relative distance in bands, plausible up to NEAR. Without `expect`, three kinds of values are not
 * plausible: registers that are all zero, floats below USUAL.least, and values outside min and max (else USUAL). Among the rest, floats
 * come before integers and wide values before narrow ones, because those seldom look right by chance.
 */
export function rank(candidates: readonly Candidate[], clues: Clues): readonly Ranked[] {
  return candidates
    .map((candidate) => {
      const off = offOf(candidate, clues);
      return { candidate, off, misfit: misfitOf(candidate, { ...clues, off }) };
    })
    .toSorted((a, b) => compared(a.misfit, b.misfit) || compared(bandsOff(a), bandsOff(b)));
}

/** Compares two numbers, even if both are Infinity. */
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
  if (expect !== undefined) return off === null || off > NEAR ? Infinity : inBands(type, off);
  const size = Math.abs(value);
  // Rejects tiny floats: other data read as a float is mostly close to 0, and limits around 0 would accept it.
  const isTiny = type.startsWith("float") && size < USUAL.least;
  if (isTiny || words.every((word) => word === 0)) return Infinity;
  const isPlausible =
    min === undefined && max === undefined
      ? size >= USUAL.least && size <= USUAL.most
      : value >= (min ?? -Infinity) && value <= (max ?? Infinity);
  return isPlausible ? DETECTABLE.indexOf(type) : Infinity;
}

/** Usual scales of whole numbers in registers, the most usual first. */
const SCALES = [1, 0.1, 0.01, 0.001, 10] as const;

/** A candidate that gives the value on the display. */
export interface Fit {
  readonly candidate: Candidate;
  readonly scale: number;
  /** True if the value equals the display to its last digit; false if it is only within NEAR. */
  readonly isExact: boolean;
}

/** Penalties of less likely fits: far from the display's value, at another address than stated, scaled. */
const WEIGHTS = { close: 150, near: 400, neighbor: 200, scaled: 10 } as const;
/** The relative distance that still counts as close, because a display lags and a sensor's value never rests. */
const CLOSE = 0.01;

/** Known facts about the tag to find. */
interface Expected {
  /** The display's text, with all its digits. */
  readonly shown: string;
  /** True for a counter. Counters are wide and never negative; measured values may be negative. */
  readonly isCounter: boolean;
}

/**
 * Finds the candidates and scales that give the value on the display, the likeliest first: exact before near, the stated address before its
 * neighbors, floats before whole numbers, scaled whole numbers last.
 * @param candidates read with scale 1 and offset 0
 */
export function fitsOf(candidates: readonly Candidate[], { shown, isCounter }: Expected): readonly Fit[] {
  const expect = Number(shown);
  const places = [...new Set(candidates.map(({ place }) => place))];
  const fits = candidates.flatMap((candidate) => {
    const scales = candidate.type.startsWith("float") ? ([1] as const) : SCALES;
    return scales.flatMap((scale): Fit[] => {
      const read = scale === 1 ? candidate : candidateOf(candidate, candidate.type, { ...candidate, scale, offset: 0 });
      const off = offOf(read, { expect });
      if (read.value === null || off === null) return [];
      // Accepts a difference of less than the display's last digit, because a display rounds or truncates.
      const isExact = Math.abs(read.value - expect) < Math.max(lastDigitOf(shown), Number.EPSILON * Math.abs(expect));
      return isExact || off <= NEAR ? [{ candidate: read, scale, isExact }] : [];
    });
  });
  const weight = (fit: Fit): number => {
    const { candidate, scale, isExact } = fit;
    const off = offOf(candidate, { expect }) ?? Infinity;
    const distance = isExact ? 0 : off <= CLOSE ? WEIGHTS.close : WEIGHTS.near;
    const scaled = SCALES.findIndex((one) => one === scale) * WEIGHTS.scaled;
    return distance + places.indexOf(candidate.place) * WEIGHTS.neighbor + scaled + typeWeight(fit, isCounter);
  };
  const miss = ({ candidate }: Fit): number => Math.abs((candidate.value ?? Infinity) - expect);
  return fits.toSorted((a, b) => weight(a) - weight(b) || miss(a) - miss(b));
}

/**
 * Returns the penalty of a type. The high register of a small wide number is zero, so it doesn't prove the width. Counters are mostly wide
 * and unsigned.
 */
function typeWeight({ candidate: { type, words } }: Fit, isCounter: boolean): number {
  if (type.startsWith("float")) return 0;
  const isWide = words.length > 1;
  const isSigned = type.startsWith("int");
  const provesWidth = isWide && words.filter((word) => word !== 0).length > 1;
  return (provesWidth || isWide === isCounter ? 1 : 3) + (isSigned === isCounter ? 1 : 0);
}

/** Returns the value of a number's last digit: 0.1 for "21.4", 1 for "1842". */
function lastDigitOf(shown: string): number {
  return 10 ** -(shown.split(".")[1]?.length ?? 0);
}

function pointFor(type: DetectableType, { scale, offset }: { scale: number; offset: number }): ModbusPoint {
  return { table: "holding", address: 0, type, scale, offset, sentinels: [] };
}
