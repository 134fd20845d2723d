import { type Text, message } from "../../domain/message.ts";
import { conversionOf, converted, unitOf } from "../../domain/engineering-units.ts";
import type { Profile, ProfileTag } from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";

/**
 * This module ranks profiles for a PLC by the texts with which the PLC identifies itself and by the plausibility of the profile's tags
 * there. Pure.
 */

/** The values that a PLC gave when read with a profile. `failed`: the reason why nothing was read; null if at least one value was. */
export interface ProfileReading {
  readonly profile: Profile;
  readonly samples: readonly Sample[];
  readonly failed: Text | null;
}

/** The verdict on a tag's value. plausible: as expected. open: proves little, such as a 0. odd: unlikely for that tag. silent: no value. */
type Verdict = "plausible" | "open" | "odd" | "silent";

export interface TagVerdict {
  readonly tag: string;
  readonly label: Text;
  readonly value: Sample["value"];
  readonly unit: string;
  readonly verdict: Verdict;
  /** The range of plausible values for the tag, as text; or why the tag has no such range. */
  readonly usual: Text;
}

export interface RankedProfile {
  readonly profile: string;
  readonly vendor: string;
  /** How well the profile fits, from 0 to 1. */
  readonly fit: number;
  readonly reasons: readonly Text[];
  readonly values: readonly TagVerdict[];
}

/** Usual ranges of a booth's air, pressures and drives. Values read at a wrong address mostly lie outside. */
const USUAL_BY_UNIT: Readonly<Record<string, readonly [number, number]>> = {
  C: [-40, 400],
  F: [-40, 750],
  Pa: [-2_500, 2_500],
  "%": [-5, 120],
  Hz: [0, 120],
  V: [0, 1_000],
  A: [0, 500],
  rpm: [0, 6_000],
};
const USUAL_ELSE = [-1e9, 1e9] as const;
/** The smallest plausible fraction. A smaller fraction is an integer read as a float. */
const LEAST = 1e-6;
const SHARE: Readonly<Record<Verdict, number>> = { plausible: 1, open: 0.4, odd: 0, silent: 0 };
/** The bonus if the device names the profile's maker. It counts more than a few plausible values, and less than many. */
const NAMED = 0.3;
const MOST_ODD_SHOWN = 3;
/**
 * The weight of the badly read tags that are assumed for every profile. It ranks a profile with many good tags above a profile with few.
 */
const DOUBT = 6;

/** Ranks the profiles, the best first. `said`: the texts of the device's identification. */
export function rankProfiles(readings: readonly ProfileReading[], said: readonly string[]): readonly RankedProfile[] {
  return readings.map((reading) => ranked(reading, said)).toSorted((a, b) => b.fit - a.fit);
}

function ranked({ profile, samples, failed }: ProfileReading, said: readonly string[]): RankedProfile {
  const byTag = new Map(samples.map((sample) => [sample.tag, sample]));
  const tags: readonly ProfileTag[] = profile.tags;
  const values = tags.map((tag) => verdictOf(profile, tag, byTag.get(tag.name)));
  const all = tags.reduce((sum, tag) => sum + weightOf(tag), 0);
  const fitting = tags.reduce((sum, tag, i) => sum + weightOf(tag) * SHARE[values[i]?.verdict ?? "silent"], 0);
  const maker = lettersIn(profile.vendor.replace(/-like$/i, ""));
  const named = said.find((text) => lettersIn(text).includes(maker));
  const fit = (fitting / (all + DOUBT)) * (1 - NAMED) + (named === undefined ? 0 : NAMED);
  return {
    profile: profile.name,
    vendor: profile.vendor,
    fit: Math.round(Math.min(1, fit) * 100) / 100,
    reasons: failed === null ? reasonsOf(profile, values, named) : [message("fit.unread", { reason: failed })],
    values,
  };
}

function lettersIn(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function reasonsOf(profile: Profile, values: readonly TagVerdict[], named: string | undefined): readonly Text[] {
  const count = (wanted: Verdict): number => values.filter(({ verdict }) => verdict === wanted).length;
  const tags: readonly ProfileTag[] = profile.tags;
  const mode = values.find(({ verdict }, i) => tags[i]?.role === "mode" && verdict !== "silent");
  const reasons = named === undefined ? [] : [message("fit.named", { name: named })];
  const answering = values.length - count("silent");
  reasons.push(message("fit.tags", { answering, count: values.length, plausible: count("plausible") }));
  if (mode !== undefined)
    reasons.push(message("fit.mode", { label: mode.label, value: String(mode.value), mode: mode.usual }));
  for (const { label, value, unit, usual } of values
    .filter(({ verdict }) => verdict === "odd")
    .slice(0, MOST_ODD_SHOWN))
    reasons.push(message("fit.odd", { label, value: shown(value), unit, usual }));
  const more = count("odd") - MOST_ODD_SHOWN;
  return more > 0 ? [...reasons, message("fit.more_odd", { count: more })] : reasons;
}

function shown(value: Sample["value"]): string {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value).slice(0, 30);
}

/** Judges a tag's sample. */
export function verdictOf(profile: Profile, tag: ProfileTag, sample: Sample | undefined): TagVerdict {
  const { name, label, unit } = tag;
  const value = sample?.value ?? null;
  const [verdict, usual] =
    value === null || sample?.quality === "bad"
      ? (["silent", sample?.reason ?? message("test.never_read")] as const)
      : judged(profile, tag, value);
  return { tag: name, label, unit, value, verdict, usual };
}

type Judged = readonly [verdict: Verdict, usual: Text];

function judged({ modes }: Profile, tag: ProfileTag, value: NonNullable<Sample["value"]>): Judged {
  if (typeof value === "string") {
    const isText = /^[\x20-\x7e]+$/.test(value);
    return [value.trim() === "" ? "open" : isText ? "plausible" : "odd", message("fit.a_text")];
  }
  if (tag.role === "mode") {
    const mode = modes[String(value)];
    if (mode === undefined) return ["odd", message("config.one_of", { names: Object.keys(modes).join(", ") })];
    return [value === 0 ? "open" : "plausible", mode.replaceAll("_", " ")];
  }
  return typeof value === "boolean" ? ["open", message("fit.on_off")] : judgedNumber(tag, value);
}

function judgedNumber({ unit, between, point, counter }: ProfileTag, value: number): Judged {
  const [low, high] = usualRange(unit);
  const min = between?.min ?? point.min ?? (counter === undefined ? low : 0);
  const max = between?.max ?? point.max ?? high;
  const open = min < 0 ? message("fit.any") : message("fit.not_below");
  const usual = max >= USUAL_ELSE[1] ? open : message("fit.range", { min: String(min), max: String(max) });
  if (value === 0 && min <= 0 && max >= 0) return ["open", usual];
  const isPlausible = Number.isFinite(value) && value >= min && value <= max && Math.abs(value) >= LEAST;
  return [isPlausible ? "plausible" : "odd", usual];
}

/** Returns the usual range of values in a unit, converted from another unit of its dimension if the table lacks the unit. */
function usualRange(unit: string): readonly [number, number] {
  const own = USUAL_BY_UNIT[unit];
  const known = unitOf(unit);
  if (own !== undefined || known === undefined) return own ?? USUAL_ELSE;
  for (const [name, [low, high]] of Object.entries(USUAL_BY_UNIT)) {
    const listed = unitOf(name);
    const conversion = listed === undefined ? undefined : conversionOf(listed, known);
    if (conversion !== undefined) return [converted(low, conversion), converted(high, conversion)];
  }
  return USUAL_ELSE;
}

/** Returns the weight of a tag's verdict. The mode proves most. A text is seldom right by chance; a bit always looks right. */
function weightOf({ role, point }: ProfileTag): number {
  if (role === "mode") return 4;
  if (point.type === "string") return 3;
  if (point.type === "bool") return 0.2;
  return point.type.startsWith("float") ? 2 : 1;
}
