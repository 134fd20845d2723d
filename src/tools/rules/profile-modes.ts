import type { ProfileMode } from "../../domain/booth.ts";
import { NO_BIT } from "../../domain/mode-bits.ts";

/**
 * This module finds the registers that tell the booth's mode, from readings of all registers while a person brings the booth into each
 * mode. Pure.
 */

type PlaceValues = ReadonlyMap<string, number>;

/** A stay: several readings of all addresses (by table:address, or by tag) while the booth was in one mode. */
export interface Stay {
  readonly mode: ProfileMode;
  readonly readings: readonly PlaceValues[];
}

/** A register that holds a number for each mode. */
interface CodeFinding {
  readonly kind: "code";
  readonly place: string;
  readonly codes: readonly { readonly code: number; readonly mode: ProfileMode }[];
}

/** A bit for each mode. At most one mode has no bit: in that mode no bit is on. */
interface BitsFinding {
  readonly kind: "bits";
  readonly bits: readonly { readonly place: string; readonly bit: number | null; readonly mode: ProfileMode }[];
  readonly without: ProfileMode | null;
}

export type ModeFinding = CodeFinding | BitsFinding;

/**
 * The largest likely code of a mode. A program's codes are small; larger numbers that differ between modes are mostly setpoints and
 * counters.
 */
const MOST_LIKELY_CODE = 255;
const BITS = 16;

/**
 * Finds places (table and address) that tell the modes, the likeliest first. Such a place is constant during each stay, differs between
 * modes, and reads the same when a mode comes again. Counters and drifting values fail this test.
 * @param only the only place to check
 */
export function modeFindings(stays: readonly Stay[], only?: string): readonly ModeFinding[] {
  const places = only === undefined ? placesIn(stays) : [only];
  const codes = places.flatMap((place) => codeAt(stays, place) ?? []).toSorted((a, b) => largest(a) - largest(b));
  const likely = codes.filter((one) => largest(one) <= MOST_LIKELY_CODE);
  const bits = only === undefined ? bitsIn(stays, places) : null;
  const unlikely = codes.filter((one) => largest(one) > MOST_LIKELY_CODE);
  const found = new Set<string>();
  // Drops duplicates of a mode code: the single bits of its register, and a number that is made of several mode bits.
  return [...likely, ...(bits === null ? [] : [bits]), ...unlikely].filter((finding) => {
    const own = finding.kind === "code" ? [finding.place] : finding.bits.map(({ place }) => place);
    const isNew = own.some((place) => !found.has(place));
    for (const place of own) found.add(place);
    return isNew;
  });
}

function largest({ codes }: CodeFinding): number {
  return Math.max(...codes.map(({ code }) => code));
}

/** Returns the places that occur in every reading. */
function placesIn(stays: readonly Stay[]): readonly string[] {
  const [first, ...others] = stays.flatMap(({ readings }) => readings);
  return [...(first?.keys() ?? [])].filter((place) => others.every((reading) => reading.has(place)));
}

/** Returns the value that was constant during a stay; null if it changed or wasn't read. */
function constantIn({ readings }: Stay, valueOf: (reading: PlaceValues) => number | undefined): number | null {
  const values = new Set(readings.map(valueOf));
  const [value] = values;
  return values.size === 1 && value !== undefined ? value : null;
}

function codeAt(stays: readonly Stay[], place: string): CodeFinding | null {
  if (isBitPlace(place)) return null;
  const codes = stays.flatMap((stay) => {
    const code = constantIn(stay, (reading) => reading.get(place));
    return code === null || !Number.isInteger(code) ? [] : [{ mode: stay.mode, code }];
  });
  const modeByCode = new Map(codes.map(({ code, mode }) => [code, mode]));
  const isUnique = codes.every(({ mode, code }) => modeByCode.get(code) === mode);
  const last = codes.at(-1);
  const before = codes.slice(0, -1).filter(({ mode }) => mode === last?.mode);
  const repeats = before.length === 0 || before.some(({ code }) => code === last?.code);
  if (codes.length < stays.length || !isUnique || !repeats) return null;
  const found = [...modeByCode].map(([code, mode]) => ({ code, mode }));
  return { kind: "code", place, codes: found.toSorted((a, b) => a.code - b.code) };
}

/** Returns whether the place is in a table of bits. A single bit can't distinguish more than two modes. */
function isBitPlace(place: string): boolean {
  return /^(coil|discrete):/.test(place);
}

type BitAt = BitsFinding["bits"][number];

function bitsIn(stays: readonly Stay[], places: readonly string[]): BitsFinding | null {
  const modes = [...new Set(stays.map(({ mode }) => mode))];
  const candidates = places.flatMap((place): BitAt[] => {
    const bits = isBitPlace(place) ? [null] : Array.from({ length: BITS }, (_, bit) => bit);
    return bits.flatMap((bit) => {
      const values = stays.map((stay) => constantIn(stay, (reading) => bitOf(reading.get(place), bit)));
      const mode = stays.find((_, i) => values[i] === 1)?.mode;
      const tellsMode = stays.every((stay, i) => values[i] === (stay.mode === mode ? 1 : 0));
      return mode !== undefined && tellsMode ? [{ place, bit, mode }] : [];
    });
  });
  const found = modes.filter((mode) => candidates.some((one) => one.mode === mode));
  if (found.length < 2 || found.length < modes.length - 1) return null;
  const [best] = candidates
    .map((start) => nearestTo(start, candidates, found))
    .toSorted((a, b) => spread(a) - spread(b));
  if (best === undefined) return null;
  return { kind: "bits", bits: best, without: modes.find((mode) => !found.includes(mode)) ?? null };
}

function bitOf(word: number | undefined, bit: number | null): number | undefined {
  return word === undefined || bit === null ? word : (word >> bit) & 1;
}

/** Returns each mode's bit nearest to `start`, because a program keeps these bits together. */
function nearestTo(start: BitAt, candidates: readonly BitAt[], modes: readonly ProfileMode[]): readonly BitAt[] {
  const sorted = candidates.toSorted((a, b) => distance(start, a) - distance(start, b));
  return modes.flatMap((mode) => sorted.find((one) => one.mode === mode) ?? []);
}

function spread([first, ...others]: readonly BitAt[]): number {
  return others.reduce((sum, one) => sum + (first === undefined ? 0 : distance(first, one)), 0);
}

/** The distance of a bit in another table, larger than any distance within a table. */
const OTHER_TABLE = 10_000_000;

function distance(a: BitAt, b: BitAt): number {
  const [table, address] = a.place.split(":");
  const [other, place] = b.place.split(":");
  const bits = BITS * Math.abs(Number(address) - Number(place)) + Math.abs((a.bit ?? 0) - (b.bit ?? 0));
  return table === other ? bits : OTHER_TABLE;
}

/** Returns the profile's mode entry for the mode without a bit. */
export function codeWithout(finding: BitsFinding): { readonly code: string; readonly mode: ProfileMode } | null {
  return finding.without === null ? null : { code: NO_BIT, mode: finding.without };
}
