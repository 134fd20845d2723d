import type { Quality, TagValue } from "../domain/booth.ts";
import type { Parameters, TagParameters, TagRole } from "../domain/parameters.ts";
import type { EpochMs, Seq, TagName } from "../domain/units.ts";
import type { Window } from "../store/port.ts";
import type { Source } from "./source.ts";

/** A tag is logged at least this often while it is read. */
const HEARTBEAT_MS = 3_600_000;

/** A reading that a part rests on. The PLC's register follows from the tag's place in the profile. */
export interface Evidence {
  readonly seq: Seq;
  readonly tag: TagName;
  readonly value: TagValue;
  readonly quality: Quality;
  readonly at: EpochMs;
}

export interface Part {
  readonly start: EpochMs;
  readonly end: EpochMs;
  /** What it is and why it counts, in words. */
  readonly text: string;
  /** What it adds to the figure, in the figure's unit. */
  readonly amount: number;
  readonly evidence: readonly Evidence[];
}

/** A figure taken apart. */
export interface Explained {
  readonly unit: "ms" | "count" | "therm" | "kWh";
  readonly value: Readonly<Record<string, number>>;
  readonly parts: readonly Part[];
  readonly rules: readonly string[];
}

/** Tags of a role; `also` narrows them. */
export function roleTags(
  parameters: Parameters | null,
  role: TagRole,
  also: (tag: TagParameters) => boolean = () => true,
): TagName[] {
  const tags = Object.entries(parameters?.tags ?? {});
  return tags.filter(([, tag]) => tag.role === role && also(tag)).map(([name]) => name);
}

/** The readings at the instant; where there is none (the polls came back, a limit was reached), the values that held by then. */
export function evidenceAt(source: Source, at: EpochMs, tags: readonly TagName[]): Evidence[] {
  const exact = evidenceIn(source, { start: at, end: at + 1 }, tags);
  if (exact.length > 0 || tags.length === 0) return exact;
  const before = evidenceIn(source, { start: at - HEARTBEAT_MS, end: at }, tags);
  return tags.flatMap((tag) => before.findLast((one) => one.tag === tag) ?? []);
}

export function evidenceIn(source: Source, window: Window, tags: readonly TagName[]): Evidence[] {
  const found: Evidence[] = [];
  for (const { kind, seq, tag, value, quality, time } of source.reader.log(source.stream, window, new Set(tags))) {
    if (kind === "r") found.push({ seq, tag, value, quality, at: time });
  }
  return found;
}
