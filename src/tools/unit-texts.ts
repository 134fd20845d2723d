import { message, type Message } from "../domain/message.ts";
import { nearest } from "../config/nearest.ts";
import {
  converted,
  conversionOf,
  type Dimension,
  unitNames,
  unitOf,
  unitSpellings,
} from "../domain/engineering-units.ts";
import type { TagParameters, TagRole } from "../domain/parameters.ts";
import type { Profile, ProfileTag } from "../domain/profile.ts";
import { type UnitFault, unitFaultOf } from "../domain/tag-units.ts";

interface Named extends Pick<TagParameters, "unit" | "factor"> {
  readonly name: string;
  readonly role?: TagRole | undefined;
}

/** Says why a tag's unit cannot be used, with the nearest valid spelling. Returns null if the unit can be used. */
export function unitTrouble(tag: Named): Message | null {
  const fault = unitFaultOf(tag);
  return fault === null ? null : troubleText(tag, fault);
}

function troubleText({ name, role = "mode", unit }: Named, { kind, expected }: UnitFault): Message {
  const units = unitNames(expected).join(", ");
  if (kind === "missing") return message("unit.missing", { tag: name, role, units });
  if (kind === "unfit") return message("unit.unfit", { tag: name, role, unit, units });
  const meant = nearestUnit(unit, expected);
  if (meant !== undefined) return message("unit.meant", { tag: name, unit, meant });
  return message("unit.unknown", { tag: name, unit, units });
}

/** The minimum length of a text to correct. A shorter text is equally near to several units. */
const LEAST_LETTERS = 3;

/** Returns the canonical spelling of the unit that was probably meant. */
function nearestUnit(text: string, dimension: Dimension | undefined): string | undefined {
  const spellings = unitSpellings(dimension);
  const longer = [...spellings.keys()].filter((one) => one.length >= LEAST_LETTERS);
  const found = text.trim().length < LEAST_LETTERS ? undefined : nearest(text.trim(), longer);
  return found === undefined ? undefined : spellings.get(found)?.unit;
}

/**
 * The largest plausible deadbands. A larger deadband hides every change of a booth's values, so its unit is probably wrong. Usual values
 * are tens of Pa, tens of degrees, and loads up to 100 %.
 */
const MOST_DEADBAND: Readonly<Partial<Record<Dimension, readonly [unit: string, most: number]>>> = {
  pressure: ["Pa", 50],
  temperature: ["C", 20],
  ratio: ["%", 50],
};
const LEVELS: readonly TagRole[] = [
  "filter_pressure",
  "booth_pressure",
  "air_temperature",
  "metal_temperature",
  "fan_speed",
  "burner_modulation",
];

function deadbandTrouble({ name, role, unit, deadband }: ProfileTag): Message | null {
  const known = unitOf(unit);
  const [figure, most] = (known === undefined ? undefined : MOST_DEADBAND[known.dimension]) ?? [];
  const target = figure === undefined ? undefined : unitOf(figure);
  if (role === undefined || !LEVELS.includes(role) || known === undefined || target === undefined) return null;
  const scale = conversionOf(known, target)?.scale ?? 1;
  const shown = converted(deadband, { scale, offset: 0 });
  if (most === undefined || shown <= most) return null;
  return message("unit.deadband", {
    tag: name,
    deadband,
    unit,
    shown: Number(shown.toPrecision(3)),
    figure: target.unit,
  });
}

/**
 * Returns the warnings of `check` for a profile in use: units that no figure can be computed from, and deadbands that hide every change.
 */
export function unitWarnings({ tags }: Pick<Profile, "tags">): readonly Message[] {
  return tags.flatMap((tag: ProfileTag) => {
    const trouble = unitTrouble({ ...tag, role: tag.role ?? tag.unfit_role });
    const unfit = trouble === null || tag.unfit_role === undefined ? null : { trouble, role: tag.unfit_role };
    return [unfit === null ? trouble : message("unit.off", unfit), deadbandTrouble(tag)].filter(
      (text) => text !== null,
    );
  });
}
