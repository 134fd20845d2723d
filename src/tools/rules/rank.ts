import type { Sample } from "../../domain/taken.ts";
import { conversionOf, converted, unitOf } from "../../domain/engineering-units.ts";
import type { Profile, ProfileTag } from "../../domain/profile.ts";
import { say } from "../../domain/sentences.ts";

/** Which profile fits a PLC: by what it calls itself, and by how plausible the profile's tags read there. Pure. */

/** What reading a PLC by a profile gave. `failed`: why nothing came; null: it came. */
export interface ProfileReading {
  readonly profile: Profile;
  readonly samples: readonly Sample[];
  readonly failed: string | null;
}

/** plausible: as it should be. open: it says little, as a 0 does. odd: hardly what the tag means. silent: no value. */
export type Verdict = "plausible" | "open" | "odd" | "silent";

export interface TagVerdict {
  readonly tag: string;
  readonly label: string;
  readonly value: Sample["value"];
  readonly unit: string;
  readonly verdict: Verdict;
  /** What is plausible there, or why there is no value. */
  readonly usual: string;
}

export interface RankedProfile {
  readonly profile: string;
  readonly vendor: string;
  /** 0 to 1. */
  readonly fit: number;
  readonly reasons: readonly string[];
  readonly values: readonly TagVerdict[];
}

/** A booth's air, pressures and drives stay well within; what is read at the wrong place seldom does. */
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
/** A fraction that small is an integer read as a float. */
const LEAST = 1e-6;
const SHARE: Readonly<Record<Verdict, number>> = { plausible: 1, open: 0.4, odd: 0, silent: 0 };
/** The name is printed by the maker: it says more than a few values, less than most of them. */
const NAMED = 0.3;
const MOST_NAMED = 3;
/** As if so much weight of tags that read badly stood beside each profile. */
const DOUBT = 6;

/** The best first. `said`: what the device says of itself. */
export function rankProfiles(readings: readonly ProfileReading[], said: readonly string[]): readonly RankedProfile[] {
  return readings.map((reading) => ranked(reading, said)).toSorted((a, b) => b.fit - a.fit);
}

function ranked({ profile, samples, failed }: ProfileReading, said: readonly string[]): RankedProfile {
  const byTag = new Map(samples.map((sample) => [sample.tag, sample]));
  const tags: readonly ProfileTag[] = profile.tags;
  const values = tags.map((tag) => verdictOf(profile, tag, byTag.get(tag.name)));
  const all = tags.reduce((sum, tag) => sum + weightOf(tag), 0);
  const fitting = tags.reduce((sum, tag, i) => sum + weightOf(tag) * SHARE[values[i]?.verdict ?? "silent"], 0);
  const named = said.find((text) => plain(text).includes(plain(makerOf(profile))));
  // Many tags that read well say more than few.
  const share = fitting / (all + DOUBT);
  return {
    profile: profile.name,
    vendor: profile.vendor,
    fit: Math.round(Math.min(1, share * (1 - NAMED) + (named === undefined ? 0 : NAMED)) * 100) / 100,
    reasons: failed === null ? reasonsOf(profile, values, named) : [say("fit.unread", { reason: failed })],
    values,
  };
}

function reasonsOf(profile: Profile, values: readonly TagVerdict[], named: string | undefined): readonly string[] {
  const of = (...wanted: readonly Verdict[]): readonly TagVerdict[] =>
    values.filter(({ verdict }) => wanted.includes(verdict));
  const odd = of("odd");
  const modes = (profile.tags as readonly ProfileTag[]).filter(({ role }) => role === "mode").map(({ name }) => name);
  const mode = values.find(({ tag, verdict }) => modes.includes(tag) && verdict !== "silent");
  return [
    ...(named === undefined ? [] : [say("fit.named", { name: named })]),
    say("fit.tags", {
      answering: values.length - of("silent").length,
      count: values.length,
      plausible: of("plausible").length,
    }),
    ...(mode === undefined
      ? []
      : [say("fit.mode", { label: mode.label, value: String(mode.value), mode: mode.usual })]),
    ...odd
      .slice(0, MOST_NAMED)
      .map(({ label, value, unit, usual }) => say("fit.odd", { label, value: shown(value), unit, usual })),
    ...(odd.length > MOST_NAMED ? [say("fit.more_odd", { count: odd.length - MOST_NAMED })] : []),
  ];
}

function shown(value: Sample["value"]): string {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value).slice(0, 30);
}

/** Exported for its table of examples. */
export function verdictOf(profile: Profile, tag: ProfileTag, sample: Sample | undefined): TagVerdict {
  const { name, label, unit } = tag;
  const common = { tag: name, label, unit, value: sample?.value ?? null };
  if (sample === undefined || sample.value === null || sample.quality === "bad") {
    return { ...common, verdict: "silent", usual: sample?.reason ?? say("fit.not_read") };
  }
  const { value } = sample;
  if (typeof value === "string") return { ...common, ...textVerdict(value) };
  if (tag.role === "mode") return { ...common, ...modeVerdict(profile, value) };
  if (typeof value === "boolean") return { ...common, verdict: "open", usual: say("fit.on_off") };
  return { ...common, ...numberVerdict(tag, value) };
}

type Judged = Pick<TagVerdict, "verdict" | "usual">;

function textVerdict(text: string): Judged {
  const usual = say("fit.a_text");
  if (text.trim() === "") return { verdict: "open", usual };
  return { verdict: /^[\x20-\x7e]+$/.test(text) ? "plausible" : "odd", usual };
}

function modeVerdict({ modes }: Profile, value: number | boolean): Judged {
  const mode = modes[String(value)];
  if (mode === undefined)
    return { verdict: "odd", usual: say("config.one_of", { names: Object.keys(modes).join(", ") }) };
  const text = mode.replaceAll("_", " ");
  return { verdict: value === 0 ? "open" : "plausible", usual: text };
}

function numberVerdict(tag: ProfileTag, value: number): Judged {
  const [low, high] = usualRange(tag.unit);
  const min = tag.between?.min ?? tag.point.min ?? (tag.counter === undefined ? low : 0);
  const max = tag.between?.max ?? tag.point.max ?? high;
  const usual = max >= USUAL_ELSE[1] ? (min < 0 ? say("fit.any") : say("fit.not_below")) : `${min} to ${max}`;
  if (!Number.isFinite(value) || value < min || value > max) return { verdict: "odd", usual };
  if (value === 0) return { verdict: "open", usual };
  return { verdict: Math.abs(value) < LEAST ? "odd" : "plausible", usual };
}

/** The usual values in that unit, converted from another unit of its dimension if the table lacks it. */
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

/** The mode decides everything; a text can hardly be right by chance, a bit always is. */
function weightOf({ role, point }: ProfileTag): number {
  if (role === "mode") return 4;
  if (point.type === "string") return 3;
  if (point.type === "bool") return 0.2;
  return point.type.startsWith("float") ? 2 : 1;
}

/** "CLICK-like": CLICK. */
function makerOf({ vendor }: Profile): string {
  return vendor.replace(/-like$/i, "");
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
