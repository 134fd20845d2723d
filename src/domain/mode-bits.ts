import { MODES_BY_PRIORITY, type Mode, type ProfileMode } from "./booth.ts";
import type { Parameters, TagParameters } from "./parameters.ts";
import type { Sample } from "./taken.ts";
import type { TagName } from "./units.ts";

/** Between the names of bits that are on at once. */
const AND = " & ";
/** The raw mode where no bit is on. */
export const NO_BIT = "none";

/** The mode bits of one bay, and the tag that holds their combined meaning. */
export interface ModeBits {
  readonly tag: TagName;
  readonly bits: Readonly<Record<TagName, ProfileMode>>;
}

/** The tag whose value is a bay's mode, where the PLC has a bit for each mode. */
export function modeTagOf(bay: number): TagName {
  return bay === 0 ? "mode" : `mode_${bay}`;
}

/** Returns the bays whose mode is given by bits. */
export function modeBitsOf(tags: Parameters["tags"]): readonly ModeBits[] {
  const bits = Object.entries(tags).filter(([, tag]) => tag.role === "mode_bit");
  const bays = Map.groupBy(bits, ([, { bay }]) => bay);
  return [...bays].map(([bay, mine]) => ({
    tag: modeTagOf(bay),
    bits: Object.fromEntries(mine.flatMap(([name, { mode }]) => (mode === undefined ? [] : [[name, mode]]))),
  }));
}

/** The mode tags that bits stand for: read with them, logged when what they mean together changes. */
export function modeBitTags(tags: Parameters["tags"]): Readonly<Record<TagName, TagParameters>> {
  const named = modeBitsOf(tags).flatMap(({ tag, bits }) => {
    const first = tags[Object.keys(bits)[0] ?? ""];
    if (first === undefined) return [];
    const { bay, group, heartbeat_ms } = first;
    return [[tag, { role: "mode", bay, unit: "", factor: 1, group, deadband: 0, heartbeat_ms }] as const];
  });
  return Object.fromEntries(named);
}

/** The samples of a poll, with the modes that its bits mean. One bit that can't be read makes the mode unknowable. */
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

/** The modes whose bits are on in a raw mode, that of the highest priority first; one for a code. */
export function modesIn(raw: string): readonly string[] {
  return raw.split(AND);
}
