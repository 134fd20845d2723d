import { isoTime } from "../../contract/time.ts";
import type { DigestHour } from "../../domain/command.ts";
import type { FigureDifference } from "../../domain/reconciliation.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import { type DayNumber, dayOf, instantOf } from "../../domain/time-zone.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import { HOUR_MS, DAY_MS } from "../../domain/time.ts";

/** The operations whose answers both sides give, compared field by field. */
export const COMPARED = [
  "duration_by_mode",
  "frequency_by_mode",
  "runtime",
  "utilization_stats",
  "filter_maintenance_history",
] as const;

/** The answers of one side, by operation. */
export type DayFigures = Readonly<Record<(typeof COMPARED)[number], unknown>>;

/** Left aside: ids and the window itself, and what depends on days outside the window. */
const NOT_COMPARED = new Set([
  ...["booth_id", "start", "end", "page", "limit", "pages", "total"],
  ...["previous_period", "delta"],
]);
/** What names an item of a list, so that the order in which a side lists them says nothing. */
const NAMES = ["mode", "filter_type", "maintenance_date"] as const;
/** Binary noise of minutes made of milliseconds; a millisecond is 1.7e-5 minutes. */
const NOISE = 1e-6;

type Leaf = number | string;

/** Differences kept of one comparison: they are stored, and repeated in each answer and event of the status. */
export const MOST_DIFFERENCES = 100;
/** Characters of a figure's name or text. Names of ours are shorter; a nested name repeats those of all levels above. */
const MOST_CHARS = 200;

/** Returns the plain values of an answer, each under a name that is the same on both sides. Recurses as deep as the JSON parser allows. */
export function figuresIn(path: string, value: unknown, found = new Map<string, Leaf>()): ReadonlyMap<string, Leaf> {
  const name = path.slice(0, MOST_CHARS);
  if (typeof value === "number" || typeof value === "string") found.set(name, value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) figuresIn(`${name}.${nameOf(item) ?? index.toString()}`, item, found);
  } else if (typeof value === "object" && value !== null) {
    for (const [field, inner] of Object.entries(value)) {
      if (!NOT_COMPARED.has(field)) figuresIn(`${name}.${field}`, inner, found);
    }
  }
  return found;
}

function nameOf(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const fields = item as Readonly<Record<string, unknown>>;
  const names = NAMES.flatMap((name) => (typeof fields[name] === "string" ? [fields[name]] : []));
  return names.length === 0 ? null : names.join(" ");
}

/** Returns all figures that differ. A mode without time and starts equals a mode that isn't listed. */
export function differencesOf(
  gateway: ReadonlyMap<string, Leaf>,
  service: ReadonlyMap<string, Leaf>,
): readonly FigureDifference[] {
  const names = [...new Set([...gateway.keys(), ...service.keys()])].sort();
  return names.flatMap((figure) => {
    const ours = gateway.get(figure) ?? null;
    const theirs = service.get(figure) ?? null;
    if (isSame(ours, theirs) || figure.endsWith(".mode")) return [];
    return [{ figure, gateway: shortened(ours), service: shortened(theirs) }];
  });
}

function shortened(value: Leaf | null): Leaf | null {
  return typeof value === "string" ? value.slice(0, MOST_CHARS) : value;
}

function isSame(ours: Leaf | null, theirs: Leaf | null): boolean {
  if (typeof ours === "string" || typeof theirs === "string") return ours === theirs;
  return Math.abs((ours ?? 0) - (theirs ?? 0)) <= NOISE;
}

/** A local day. */
export interface LocalDay {
  /** YYYY-MM-DD */
  readonly day: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
}

export function localDay(tz: string, day: DayNumber): LocalDay {
  const text = isoTime(day * DAY_MS).slice(0, "YYYY-MM-DD".length);
  return { day: text, start: instantOf(tz, day, 0), end: instantOf(tz, day + 1, 0) };
}

/** The day before the one that holds the instant. */
export function dayBefore(tz: string, at: EpochMs): LocalDay {
  return localDay(tz, dayOf(tz, at) - 1);
}

/**
 * Cuts records, in seq order, into runs of one hour each, unbroken in seq. Records stand by seq, not by time: one that was placed before its
 * forerunner belongs to that one's hour. A hole in seq begins a run of its own.
 * @param before hour of the record before the first one; null: none is known
 */
export function hourRuns(records: readonly Placed[], before: EpochMs | null) {
  const runs: { hour: EpochMs; records: Placed[] }[] = [];
  let hour = before ?? Number.NEGATIVE_INFINITY;
  let last: Seq | null = null;
  for (const record of records) {
    hour = Math.max(hour, Math.floor(record.time / HOUR_MS) * HOUR_MS);
    const run = runs.at(-1);
    if (run?.hour === hour && last === record.seq - 1) run.records.push(record);
    else runs.push({ hour, records: [record] });
    last = record.seq;
  }
  return runs;
}

/** What the gateway's fold says of finished hours, by hour; a later record of an hour replaces the one before. */
export function hourFigures(records: readonly Placed[]): ReadonlyMap<EpochMs, NonNullable<DigestHour["figures"]>> {
  return new Map(
    records.flatMap((record) => {
      if (record.kind !== KIND.hour) return [];
      const { hour, ms_by_mode, cycles, gas_therm, energy_kwh } = record.value;
      return [[hour, { ms_by_mode, cycles, gas_therm, energy_kwh }] as const];
    }),
  );
}
