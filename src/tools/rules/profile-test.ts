import { say } from "../../domain/sentences.ts";
import { maxRateOf, type Parameters } from "../../domain/parameters.ts";
import { modeBitsOf, modesIn, withModes } from "../../domain/mode-bits.ts";
import type { ModbusType, OpcuaType, Profile, ProfileTag } from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** Whether what a profile reads looks right: live values and recorded ones are judged alike. Pure. */

/** What was read at one instant: some tags, or all. */
export interface Poll {
  readonly at_ms: Milliseconds;
  readonly samples: readonly Sample[];
}

/** wrong: the profile can't be used so; look: it may be right, and somebody should look. */
export type Verdict = "ok" | "look" | "wrong";

export interface TagVerdict {
  readonly tag: string;
  /** The newest good one. */
  readonly value: Sample["value"];
  readonly unit: string;
  readonly reads: number;
  readonly verdict: Verdict;
  readonly why: string;
}

interface SeenMode {
  readonly raw: string;
  /** null: the profile doesn't map it. */
  readonly mode: string | null;
  readonly reads: number;
}

export interface Judgement {
  readonly tags: readonly TagVerdict[];
  readonly modes: readonly SeenMode[];
  readonly ok: boolean;
}

/** Nothing that a booth measures is so small; half of another value's float mostly is. */
const NEXT_TO_NOTHING = 1e-6;
/** Nor so large, where it isn't a counter. */
const BEYOND = 1e7;
/** A rate over a few seconds is rough. */
const RATE_SLACK = 1.5;

const REASONS: Readonly<Record<string, string>> = {
  exception_1: say("test.table"),
  exception_2: say("test.address"),
  exception_3: say("test.so_much"),
  hole: say("test.hole"),
  nan: say("test.no_number"),
  inf: say("test.no_number"),
  below_min: say("test.below"),
  above_max: say("test.above"),
  not_text: say("test.no_text"),
  not_bcd: say("test.no_bcd"),
  wrong_type: say("test.other_type"),
  no_namespace: say("test.no_namespace"),
  BadNodeIdUnknown: say("test.no_variable"),
  BadNoMatch: say("test.no_variable"),
};

/** Judges all polls of a profile, in order. */
export function judge(profile: Profile, polls: readonly Poll[]): Judgement {
  const bays = modeBitsOf(Object.fromEntries(profile.tags.map((tag) => [tag.name, tag])));
  const all = polls.map(({ at_ms, samples }) => ({ at_ms, samples: withModes(samples, bays) }));
  const read = Map.groupBy(
    all.flatMap(({ at_ms, samples }) => samples.map((sample) => ({ at_ms, ...sample }))),
    ({ tag }) => tag,
  );
  const modes = modesSeen(
    profile,
    read,
    bays.map(({ tag }) => tag),
  );
  const unmapped = modes.filter(({ mode }) => mode === null).map(({ raw }) => raw);
  const tags = profile.tags.map((tag) => {
    const judged = judgeTag(tag, read.get(tag.name) ?? []);
    if (tag.role !== "mode" || unmapped.length === 0 || judged.verdict === "wrong") return judged;
    return { ...judged, verdict: "wrong" as const, why: say("test.no_mode", { codes: unmapped.join(", ") }) };
  });
  return { tags, modes, ok: tags.every(({ verdict }) => verdict !== "wrong") };
}

type Read = Sample & { readonly at_ms: Milliseconds };

function modesSeen(profile: Profile, read: ReadonlyMap<string, readonly Read[]>, made: readonly string[]): SeenMode[] {
  const names = [...profile.tags.filter(({ role }) => role === "mode").map(({ name }) => name), ...made];
  const bits = profile.tags.flatMap(({ mode }) => mode ?? []);
  const modes: Readonly<Record<string, string>> = {
    ...Object.fromEntries(bits.map((mode) => [mode, mode])),
    ...profile.modes,
  };
  const raws = names.flatMap((name) => (read.get(name) ?? []).filter(({ quality }) => quality !== "bad"));
  const counts = Map.groupBy(raws, ({ value }) => String(value));
  return [...counts].map(([raw, seen]) => {
    const [first = raw] = modesIn(raw);
    const mode = modes[raw] ?? modes[first] ?? null;
    return { raw, mode, reads: seen.length };
  });
}

function judgeTag(tag: ProfileTag, reads: readonly Read[]): TagVerdict {
  const good = reads.filter(({ quality, value }) => quality !== "bad" && value !== null);
  const last = good.at(-1);
  const about = { tag: tag.name, value: last?.value ?? null, unit: tag.unit, reads: reads.length };
  const said = (verdict: Verdict, why: string): TagVerdict => ({ ...about, verdict, why });
  if (reads.length === 0) return said("wrong", say("test.never_read"));
  const bad = reads.findLast(({ quality, value }) => quality === "bad" || value === null);
  if (last === undefined) return said("wrong", reasonText(bad?.reason));
  const odd = oddIn(tag, good);
  if (odd !== null) return said("look", odd);
  if (bad !== undefined)
    return said(
      "look",
      say("test.some_bad", { bad: reads.length - good.length, all: reads.length, why: reasonText(bad.reason) }),
    );
  return said("ok", "");
}

function reasonText(reason = "bad"): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/** What is odd in good values; null: nothing. */
function oddIn(tag: ProfileTag, good: readonly Read[]): string | null {
  const { point, counter } = tag;
  if (point.type === "string") return good.every(({ value }) => value === "") ? say("test.empty_text") : null;
  if (point.type === "bool" || point.labels !== undefined) return null;
  const numbers = good.map(({ value, at_ms }) => ({ value: Number(value), at_ms }));
  if (counter !== undefined) return oddCounter(tag, numbers);
  const isFloat = isFloatType(point.type);
  if (isFloat && numbers.some(({ value }) => value !== 0 && Math.abs(value) < NEXT_TO_NOTHING)) {
    return say("test.tiny");
  }
  if (isFloat && numbers.some(({ value }) => Math.abs(value) > BEYOND)) return say("test.huge");
  return null;
}

function isFloatType(type: ModbusType | OpcuaType): boolean {
  return type === "float32" || type === "float64";
}

function oddCounter(
  tag: ProfileTag,
  numbers: readonly { readonly value: number; readonly at_ms: Milliseconds }[],
): string | null {
  const first = numbers[0];
  const last = numbers.at(-1);
  if (first === undefined || last === undefined) return null;
  const fell = numbers.some(({ value }, i) => value < (numbers[i - 1]?.value ?? -Infinity));
  if (fell) return say("test.fell");
  const hours = (last.at_ms - first.at_ms) / 3_600_000;
  const rate = maxRateOf(tag, NO_PARAMETERS);
  const most = (rate ?? Infinity) * hours * RATE_SLACK + (tag.counter?.step ?? 0);
  const grown = last.value - first.value;
  return grown > most
    ? say("test.grew", { by: Number(grown.toPrecision(6)), seconds: Math.round(hours * 3600) })
    : null;
}

/** A rate that depends on the booth's sizes isn't known here. */
const NO_PARAMETERS: Parameters = {
  profile: "",
  profile_version: "",
  groups: {},
  tags: {},
  modes: {},
  mode_sets: { in_use: [], run: [], runtime: [] },
  tz: "UTC",
  working_hours: [],
  bay_count: 1,
  filters: {},
};
