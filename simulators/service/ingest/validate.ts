import { z } from "zod";
import { FILTER_TYPES } from "../../../src/domain/booth.ts";
import { FIRST_INSTANT, isInstant, LAST_INSTANT } from "../base/time.ts";

const QUALITIES = ["good", "uncertain", "bad"];
/** Checks without a copy, which a shape without fields would make. */
const anyObject = z.custom((value) => typeof value === "object" && value !== null && !Array.isArray(value));
const milliseconds = z.number().min(-LAST_INSTANT).max(LAST_INSTANT);
const instant = z.number().min(FIRST_INSTANT).max(LAST_INSTANT);

/** Fields that figures rely on, by kind; claims (m c d v i u b) and events (e) are stored unchecked. */
const shapes: Readonly<Record<string, z.ZodType>> = {
  h: z.looseObject({
    group: z.string(),
    from: milliseconds,
    to: milliseconds,
    polls: z.int().nonnegative(),
    max_interval_ms: milliseconds.nonnegative(),
  }),
  t: z.looseObject({ wall: milliseconds, state: z.enum(["unsynced", "synced", "stepped"]) }),
  p: z.looseObject({
    groups: z.record(z.string(), z.looseObject({ poll_interval_ms: z.number().positive() })),
    tags: z.record(
      z.string(),
      z.looseObject({ bay: z.number(), group: z.string(), unit: z.string(), factor: z.number() }),
    ),
    modes: z.record(z.string(), z.string()),
    mode_sets: z.looseObject({ in_use: z.array(z.string()), run: z.array(z.string()), runtime: z.array(z.string()) }),
    tz: z.string(),
    filters: z.record(z.string(), z.looseObject({ limits: anyObject })),
  }),
  f: z.looseObject({
    filter: z.enum(FILTER_TYPES),
    source: z.enum(["plc_reset", "technician", "service", "assumed"]),
    installed_at: instant,
  }),
  x: z.looseObject({ seq: z.int().positive() }),
  g: z.looseObject({ from: z.int().positive(), to: z.int().positive(), reason: z.string() }),
  m: anyObject,
  c: anyObject,
  d: anyObject,
  v: anyObject,
  i: anyObject,
  u: anyObject,
  b: anyObject,
  n: z.looseObject({ id: z.string(), filter: z.enum(FILTER_TYPES), installed_at: instant }),
  e: anyObject,
};

/** Why a record can't be taken, in a few words; undefined where it can. */
export function faultOfRecord(
  { time, kind, tag, quality }: { time: number; kind: string; tag: string; quality: string },
  value: unknown,
): string | undefined {
  if (!isInstant(time)) return "its time is no instant";
  if (!QUALITIES.includes(quality)) return "unknown quality";
  if (tag.includes("\0")) return "a name with a NUL";
  if (kind === "r") return faultOfReading(tag, quality, value);
  const shape = shapes[kind];
  if (shape === undefined) return "unknown kind";
  const checked = shape.safeParse(value);
  if (checked.success) return kind === "h" && isBackwards(value) ? "coverage ends before it begins" : undefined;
  return `value of kind ${kind}: ${checked.error.issues[0]?.path.join(".") ?? "not an object"}`.slice(0, 200);
}

function faultOfReading(tag: string, quality: string, value: unknown): string | undefined {
  if (tag === "") return "a reading needs a tag";
  if (value === null || value === undefined)
    return quality === "bad" ? undefined : "no value goes with quality bad alone";
  return typeof value === "object" ? "a reading's value is a scalar" : undefined;
}

function isBackwards(value: unknown): boolean {
  const { from, to } = value as { from: number; to: number };
  return to < from;
}
