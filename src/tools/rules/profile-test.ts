import { message, type Message, type Text } from "../../domain/message.ts";
import { modeBitsOf, modesIn, withModes } from "../../domain/mode-bits.ts";
import { maxRateOf, type Parameters } from "../../domain/parameters.ts";
import type { Profile, ProfileTag } from "../../domain/profile.ts";
import type { Sample } from "../../domain/taken.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** This module judges whether a profile reads a device correctly, from live or recorded values. Pure. */

/** The samples of one instant, for some or all tags. */
export interface Poll {
  readonly at_ms: Milliseconds;
  readonly samples: readonly Sample[];
}

/** The verdict on a tag. wrong: the profile can't be used like this. look: the value may be right, and a person should check. */
type Verdict = "ok" | "look" | "wrong";

interface TagVerdict {
  readonly tag: string;
  /** The newest good value of the tag. */
  readonly value: Sample["value"];
  readonly unit: string;
  readonly reads: number;
  readonly verdict: Verdict;
  readonly why: Text;
}

interface SeenMode {
  readonly raw: string;
  /** The mode that the code means; null if the profile doesn't map the code. */
  readonly mode: string | null;
  readonly reads: number;
}

export interface Judgement {
  readonly tags: readonly TagVerdict[];
  readonly modes: readonly SeenMode[];
  readonly ok: boolean;
}

/** The smallest plausible measured value. A smaller value usually comes from reading half of another value's float. */
const NEXT_TO_NOTHING = 1e-6;
/** The largest plausible measured value. Only counters are larger. */
const BEYOND = 1e7;
/** The allowed factor above the largest rate, because a rate measured over a few seconds is inexact. */
const RATE_SLACK = 1.5;

const REASONS: Readonly<Record<string, Message>> = {
  exception_1: message("test.table"),
  exception_2: message("test.address"),
  exception_3: message("test.so_much"),
  hole: message("test.hole"),
  nan: message("test.no_number"),
  inf: message("test.no_number"),
  below_min: message("test.below"),
  above_max: message("test.above"),
  not_text: message("test.no_text"),
  not_bcd: message("test.no_bcd"),
  wrong_type: message("test.other_type"),
  no_namespace: message("test.no_namespace"),
  BadNodeIdUnknown: message("test.no_variable"),
  BadNoMatch: message("test.no_variable"),
};

type Read = Sample & { readonly at_ms: Milliseconds };

function isGood({ quality, value }: Sample): boolean {
  return quality !== "bad" && value !== null;
}

/** Judges all polls of a profile, in order. */
export function judge(profile: Profile, polls: readonly Poll[]): Judgement {
  const bays = modeBitsOf(Object.fromEntries(profile.tags.map((tag) => [tag.name, tag])));
  const reads = polls.flatMap(({ at_ms, samples }): Read[] =>
    withModes(samples, bays).map((sample) => ({ at_ms, ...sample })),
  );
  const byTag = Map.groupBy(reads, ({ tag }) => tag);
  const named = profile.tags.filter(({ role }) => role === "mode").map(({ name }) => name);
  const modeTags = [...named, ...bays.map(({ tag }) => tag)];
  const modes = modesSeen(
    profile,
    modeTags.flatMap((name) => byTag.get(name) ?? []),
  );
  const codes = modes.filter(({ mode }) => mode === null).map(({ raw }) => raw);
  const tags = profile.tags.map((tag): TagVerdict => {
    const judged = judgeTag(tag, byTag.get(tag.name) ?? []);
    if (tag.role !== "mode" || codes.length === 0 || judged.verdict === "wrong") return judged;
    return { ...judged, verdict: "wrong", why: message("test.no_mode", { codes: codes.join(", ") }) };
  });
  return { tags, modes, ok: tags.every(({ verdict }) => verdict !== "wrong") };
}

function modesSeen(profile: Profile, reads: readonly Read[]): SeenMode[] {
  const bits = profile.tags.flatMap(({ mode }) => mode ?? []);
  const modes: Readonly<Record<string, string>> = {
    ...Object.fromEntries(bits.map((mode) => [mode, mode])),
    ...profile.modes,
  };
  const seen = Map.groupBy(
    reads.filter(({ quality }) => quality !== "bad"),
    ({ value }) => String(value),
  );
  return [...seen].map(([raw, { length }]) => {
    const [first = raw] = modesIn(raw);
    return { raw, mode: modes[raw] ?? modes[first] ?? null, reads: length };
  });
}

function judgeTag(tag: ProfileTag, reads: readonly Read[]): TagVerdict {
  const good = reads.filter(isGood);
  const last = good.at(-1);
  const bad = reads.findLast((one) => !isGood(one));
  const verdict = (kind: Verdict, why: Text): TagVerdict => {
    return { tag: tag.name, value: last?.value ?? null, unit: tag.unit, reads: reads.length, verdict: kind, why };
  };
  if (reads.length === 0) return verdict("wrong", message("test.never_read"));
  if (last === undefined) return verdict("wrong", reasonText(bad?.reason));
  const odd = oddIn(tag, good);
  if (odd !== null) return verdict("look", odd);
  if (bad === undefined) return verdict("ok", "");
  const counts = { bad: reads.length - good.length, all: reads.length };
  return verdict("look", message("test.some_bad", { ...counts, why: reasonText(bad.reason) }));
}

function reasonText(reason = "bad"): Text {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

/** Says what is odd about good values; null if nothing is odd. */
function oddIn(tag: ProfileTag, good: readonly Read[]): Message | null {
  const { type, labels } = tag.point;
  if (type === "string") return good.every(({ value }) => value === "") ? message("test.empty_text") : null;
  if (type === "bool" || labels !== undefined) return null;
  if (tag.counter !== undefined) return oddCounter(tag, good);
  const sizes = type === "float32" || type === "float64" ? good.map(({ value }) => Math.abs(Number(value))) : [];
  if (sizes.some((size) => size !== 0 && size < NEXT_TO_NOTHING)) return message("test.tiny");
  return sizes.some((size) => size > BEYOND) ? message("test.huge") : null;
}

function oddCounter(tag: ProfileTag, good: readonly Read[]): Message | null {
  const numbers = good.map(({ value }) => Number(value));
  if (numbers.some((value, i) => value < (numbers[i - 1] ?? -Infinity))) return message("test.fell");
  const hours = ((good.at(-1)?.at_ms ?? 0) - (good[0]?.at_ms ?? 0)) / HOUR_MS;
  const rate = maxRateOf(tag, NO_PARAMETERS) ?? Infinity;
  const grown = (numbers.at(-1) ?? 0) - (numbers[0] ?? 0);
  if (grown <= rate * hours * RATE_SLACK + (tag.counter?.step ?? 0)) return null;
  return message("test.grew", { by: Number(grown.toPrecision(6)), seconds: Math.round(hours * 3600) });
}

/** Booth parameters without sizes for `maxRateOf`: the booth is not known here. */
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
