import type { ProfileMode } from "../../domain/booth.ts";
import { NO_BIT } from "../../domain/mode-bits.ts";

/** Which registers tell the booth's mode, learned by looking at all of them while somebody brings the booth into one mode after another. Pure. */

/** All places by table:address, or tags, as they were read several times while the booth was in one mode. */
export interface Stay {
  readonly mode: ProfileMode;
  readonly looks: readonly ReadonlyMap<string, number>[];
}

/** A register that holds the mode's number. */
interface CodeFinding {
  readonly kind: "code";
  readonly place: string;
  readonly codes: readonly { readonly code: number; readonly mode: ProfileMode }[];
}

/** A bit for each mode, one of them perhaps without: then no bit is on. */
interface BitsFinding {
  readonly kind: "bits";
  readonly bits: readonly { readonly place: string; readonly bit: number | null; readonly mode: ProfileMode }[];
  readonly without: ProfileMode | null;
}

export type ModeFinding = CodeFinding | BitsFinding;

/** Program's codes are small numbers; larger ones that differ between modes are setpoints and counters. */
const MOST_LIKELY_CODE = 255;
const BITS = 16;

/**
 * What tells the modes, the likeliest first. A place counts if it holds still during each stay, differs between modes, and reads
 * the same when a mode comes again: a counter, or what drifts, doesn't.
 */
export function modeFindings(stays: readonly Stay[], only?: string): readonly ModeFinding[] {
  const places = only === undefined ? placesIn(stays) : [only];
  const codes = places.flatMap((place) => codeAt(stays, place) ?? []).toSorted((a, b) => largest(a) - largest(b));
  const likely = codes.filter((one) => largest(one) <= MOST_LIKELY_CODE);
  const bits = only === undefined ? bitsIn(stays, places) : null;
  const unlikely = codes.filter((one) => largest(one) > MOST_LIKELY_CODE);
  const told = new Set<string>();
  // The bits of a code tell the same once more, and so does the number that bits make together.
  return [...likely, ...(bits === null ? [] : [bits]), ...unlikely].filter((finding) => {
    const own = finding.kind === "code" ? [finding.place] : finding.bits.map(({ place }) => place);
    const isNew = own.some((place) => !told.has(place));
    for (const place of own) told.add(place);
    return isNew;
  });
}

function largest({ codes }: CodeFinding): number {
  return Math.max(...codes.map(({ code }) => code));
}

/** Those that were read in every look. */
function placesIn(stays: readonly Stay[]): readonly string[] {
  const [first, ...others] = stays.flatMap(({ looks }) => looks);
  return [...(first?.keys() ?? [])].filter((place) => others.every((look) => look.has(place)));
}

/** The one value of a stay; null: it moved, or wasn't read. */
function heldIn({ looks }: Stay, valueOf: (look: ReadonlyMap<string, number>) => number | undefined): number | null {
  const values = new Set(looks.map(valueOf));
  const [value] = values;
  return values.size === 1 && value !== undefined ? value : null;
}

function codeAt(stays: readonly Stay[], place: string): CodeFinding | null {
  // A bit of its own can't tell more than two modes.
  if (/^(coil|discrete):/.test(place)) return null;
  const codes = stays.map((stay) => ({ mode: stay.mode, code: heldIn(stay, (look) => look.get(place)) }));
  if (
    !codes.every((one): one is { mode: ProfileMode; code: number } => one.code !== null && Number.isInteger(one.code))
  )
    return null;
  const isTold = codes.every(({ mode, code }) => codes.every((other) => other.mode === mode || other.code !== code));
  if (!isTold || !comesBack(codes.map(({ mode, code }) => ({ mode, value: code })))) return null;
  const known = new Map(codes.map((one) => [one.code, one]));
  return { kind: "code", place, codes: [...known.values()].toSorted((a, b) => a.code - b.code) };
}

/** The last stay's mode came before, and read the same then. */
function comesBack(stays: readonly { readonly mode: ProfileMode; readonly value: number }[]): boolean {
  const last = stays.at(-1);
  const before = stays.slice(0, -1).filter(({ mode }) => mode === last?.mode);
  return before.length === 0 || before.some(({ value }) => value === last?.value);
}

interface BitAt {
  readonly place: string;
  /** null: a bit of its own. */
  readonly bit: number | null;
  readonly mode: ProfileMode;
}

function bitsIn(stays: readonly Stay[], places: readonly string[]): BitsFinding | null {
  const modes = [...new Set(stays.map(({ mode }) => mode))];
  const candidates = places.flatMap((place): BitAt[] => {
    const isAlone = /^(coil|discrete):/.test(place);
    const bits = isAlone ? [null] : Array.from({ length: BITS }, (_, bit) => bit);
    return bits.flatMap((bit) => {
      const held = stays.map((stay) => heldIn(stay, (look) => bitOf(look.get(place), bit)));
      const on = new Set(stays.flatMap(({ mode }, i) => (held[i] === 1 ? [mode] : [])));
      const [mode] = on;
      const isWhole = stays.every((stay, i) => held[i] === (stay.mode === mode ? 1 : 0));
      return mode !== undefined && on.size === 1 && isWhole ? [{ place, bit, mode }] : [];
    });
  });
  const told = modes.filter((mode) => candidates.some((one) => one.mode === mode));
  if (told.length < 2 || told.length < modes.length - 1) return null;
  const [best] = candidates
    .map((start) => nearestTo(start, candidates, told))
    .toSorted((a, b) => spread(a) - spread(b));
  if (best === undefined) return null;
  return { kind: "bits", bits: best, without: modes.find((mode) => !told.includes(mode)) ?? null };
}

function bitOf(word: number | undefined, bit: number | null): number | undefined {
  return word === undefined || bit === null ? word : (word >> bit) & 1;
}

/** For each mode the bit that lies nearest: a program keeps them together. */
function nearestTo(start: BitAt, candidates: readonly BitAt[], modes: readonly ProfileMode[]): readonly BitAt[] {
  return modes.flatMap((mode) => {
    const own = candidates.filter((one) => one.mode === mode);
    return own.toSorted((a, b) => distance(start, a) - distance(start, b)).slice(0, 1);
  });
}

function spread(bits: readonly BitAt[]): number {
  const [first] = bits;
  return bits.reduce((sum, one) => sum + (first === undefined ? 0 : distance(first, one)), 0);
}

/** In another table is further than anywhere in the same. */
const OTHER_TABLE = 10_000_000;

function distance(a: BitAt, b: BitAt): number {
  const [table, address] = a.place.split(":");
  const [other, place] = b.place.split(":");
  const bits = BITS * Math.abs(Number(address) - Number(place)) + Math.abs((a.bit ?? 0) - (b.bit ?? 0));
  return table === other ? bits : OTHER_TABLE;
}

/** What the profile's modes say then, for a mode without a bit. */
export function codeWithout(finding: BitsFinding): { readonly code: string; readonly mode: ProfileMode } | null {
  return finding.without === null ? null : { code: NO_BIT, mode: finding.without };
}
