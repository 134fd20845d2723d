import { MODES_BY_PRIORITY, type Mode, type ProfileMode } from "./booth.ts";
import type { Parameters, TagParameters } from "./parameters.ts";
import type { Sample } from "./taken.ts";
import type { TagName } from "./units.ts";

/** Separator between the modes of bits that are on at the same time. */
const AND = " & ";
/** The raw mode if no bit is on. */
export const NO_BIT = "none";

/** The mode bits of one bay, and the tag that holds their combined meaning. */
export interface ModeBits {
  readonly tag: TagName;
  readonly bits: Readonly<Record<TagName, ProfileMode>>;
}

/** Returns the tag whose value is a bay's mode, for a PLC that has a bit for each mode. */
export function modeTagOf(bay: number): TagName {
  return bay === 0 ? "mode" : `mode_${bay}`;
}

/** Returns the bays whose mode is given by bits, with these bits. */
export function modeBitsOf(tags: Parameters["tags"]): readonly ModeBits[] {
  const bits = Object.entries(tags).filter(([, tag]) => tag.role === "mode_bit");
  const bays = Map.groupBy(bits, ([, { bay }]) => bay);
  return [...bays].map(([bay, mine]) => ({
    tag: modeTagOf(bay),
    bits: Object.fromEntries(mine.flatMap(([name, { mode }]) => (mode === undefined ? [] : [[name, mode]]))),
  }));
}

/** Returns the mode tags that are made from mode bits. Each is read with its bits and logged when their combined meaning changes. */
export function modeBitTags(tags: Parameters["tags"]): Readonly<Record<TagName, TagParameters>> {
  const named = modeBitsOf(tags).flatMap(({ tag, bits }) => {
    const first = tags[Object.keys(bits)[0] ?? ""];
    if (first === undefined) return [];
    const { bay, group, heartbeat_ms } = first;
    return [[tag, { role: "mode", bay, unit: "", factor: 1, group, deadband: 0, heartbeat_ms }] as const];
  });
  return Object.fromEntries(named);
}

/** Returns the samples of a poll, with the modes that its bits mean. If a single bit can't be read, the mode is bad. */
export function withModes(samples: readonly Sample[], bays: readonly ModeBits[]): readonly Sample[] {
  const made = bays.flatMap(({ tag, bits }): Sample[] => {
    const mine = samples.filter((sample) => Object.hasOwn(bits, sample.tag));
    if (mine.length === 0) return [];
    const bad = mine.find(({ quality, value }) => quality === "bad" || value === null);
    if (bad !== undefined) {
      const { reason } = bad;
      return [{ tag, value: null, quality: "bad", ...(reason === undefined ? {} : { reason }) }];
    }
    const on = mine.filter(({ value }) => value === true || value === 1).map((sample) => bits[sample.tag]);
    const modes = MODES_BY_PRIORITY.filter((mode) => (on as readonly (Mode | undefined)[]).includes(mode));
    return [{ tag, value: modes.length === 0 ? NO_BIT : modes.join(AND), quality: "good" }];
  });
  return made.length === 0 ? samples : [...samples, ...made];
}

/** Returns the modes whose bits are on in a raw mode, highest priority first. A raw mode that is a code is returned as the only entry. */
export function modesIn(raw: string): readonly string[] {
  return raw.split(AND);
}
