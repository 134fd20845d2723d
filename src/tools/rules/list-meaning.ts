import { isWithoutUnit, type Unit, unitOf } from "../../domain/engineering-units.ts";
import { usualNameIn } from "./tag-names.ts";

/**
 * This module finds the usual tag (a tag of a shipped profile) that a row of a list probably is. Pure. A name alone proves nothing: a
 * number becomes a usual tag only if its unit has the same dimension. Without a unit, the usual tag is only a proposal, which a person must
 * confirm.
 */

export interface Named {
  readonly name: string;
  readonly type: string;
  /** The tag's keys that are known so far. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/** The fields of a usual tag (a tag of a shipped profile) that are compared with the tags of a list. */
interface Usual {
  readonly name: string;
  readonly type: string;
  readonly meaning: Readonly<Record<string, unknown>>;
}

interface Meanings<T, U> {
  /** Meanings proven by unit and name, or by a name that needs no unit. */
  readonly certain: ReadonlyMap<T, U>;
  /** Meanings proposed by the name alone, because the unit isn't known. */
  readonly proposed: ReadonlyMap<T, U>;
}

/**
 * Finds the usual tag of each row. Each usual tag is used once, first for a tag with exactly its name. The mode needs a question of its
 * own.
 */
export function meaningsOf<T extends Named, U extends Usual>(
  tags: readonly T[],
  usual: ReadonlyMap<string, U>,
): Meanings<T, U> {
  const certain = new Map<T, U>();
  const proposed = new Map<T, U>();
  const given = new Set<string>();
  for (const nameOf of [(name: string) => name, hintedName]) {
    for (const one of tags) {
      const found = usual.get(nameOf(one.name) ?? "");
      if (found === undefined || given.has(found.name) || certain.has(one) || proposed.has(one)) continue;
      const fit = fitOf(one, found);
      const role = one.keys["role"];
      if (fit === "no" || (role !== undefined && role !== found.meaning["role"])) continue;
      given.add(found.name);
      (fit === "certain" ? certain : proposed).set(one, found);
    }
  }
  return { certain, proposed };
}

function fitOf({ type, keys, name }: Named, usual: Usual): "certain" | "proposed" | "no" {
  const { meaning } = usual;
  if (sortOf(type) !== sortOf(usual.type)) return "no";
  if (usual.name === "mode") return name === "mode" && type.includes("int") ? "certain" : "no";
  // Rejects a usual tag of a further bay if the list names no bay, because a name alone must not add a bay.
  if (meaning["bay"] !== undefined && keys["bay"] === undefined) return "no";
  const wanted = unitIn(meaning);
  const unit = unitIn(keys);
  if (sortOf(type) !== "number" || wanted === undefined) return keys["unit"] === undefined ? "certain" : "no";
  if (unit !== undefined) return unit.dimension === wanted.dimension ? "certain" : "no";
  // Accepts whole numbers for cycles and starts, because most lists have no unit for them.
  if (wanted.dimension === "count") return /int|bcd/.test(type) ? "certain" : "no";
  return "proposed";
}

function unitIn({ unit }: Readonly<Record<string, unknown>>): Unit | undefined {
  return typeof unit === "string" ? unitOf(unit) : undefined;
}

/** Further texts by which lists say that a value has no unit. */
const NO_UNIT = /^(1|unitless|dimensionless|enum|code)$/i;

/** Reads the unit of a cell. Returns "none" if the value has no unit, and undefined for an unknown unit. */
export function unitSaid(cell: string): Unit | "none" | undefined {
  return isWithoutUnit(cell) || NO_UNIT.test(cell) ? "none" : unitOf(cell);
}

function sortOf(type: string): string {
  return type === "bool" || type === "string" ? type : "number";
}

/** The words that a usual tag's name may contain. A name with any other word, such as setpoint, shut or 2, is another tag. */
const WORDS = new Set(
  (
    "booth cabin plc controller number no count counter cnt ct total cycle cycles on run running active burner fan fans " +
    "exhaust exh pre intake supply filter reset door open first scan firmware fw version serial program prog revision rev " +
    "motor starts fault alarm code air temp temperature metal part surface outdoor outside ambient pressure press dp " +
    "diff differential drop speed percent pct hz modulation mod output hour hours hrs hourmeter meter minutes minute min " +
    "mins time uptime up s gas kwh energy usage consumption sensor value actual measured state mode stage step"
  ).split(" "),
);

/** Returns the usual tag that a name of these words probably means. */
function hintedName(name: string): string | null {
  const words = name.split("_");
  if (!words.every((word) => WORDS.has(word))) return null;
  const usual = usualNameIn(name);
  if (usual === "door_open" && !words.includes("open")) return null;
  return usual;
}

/** Finds the tags that probably tell the booth's mode: whole numbers without a unit. */
export function likelyModes<T extends Named>(tags: readonly T[]): readonly T[] {
  return tags.filter(
    ({ name, type, keys }) =>
      hintedName(name) === "mode" && type.includes("int") && keys["unit"] === undefined && keys["role"] === undefined,
  );
}
