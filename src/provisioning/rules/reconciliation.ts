import { isoTime } from "../../contract/time.ts";
import type { DigestHour } from "../../domain/command.ts";
import type { FigureDifference } from "../../domain/reconciliation.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import { type DayNumber, dayOf, instantOf } from "../../domain/time-zone.ts";
import type { EpochMs, Seq } from "../../domain/units.ts";
import { HOUR_MS, DAY_MS } from "../../domain/time.ts";

/** The reports that are compared field by field; both sides make them. */
export const COMPARED = [
  "duration_by_mode",
  "frequency_by_mode",
  "runtime",
  "utilization_stats",
  "filter_maintenance_history",
] as const;

/** The compared reports of one side, by operation. */
export type DayFigures = Readonly<Record<(typeof COMPARED)[number], unknown>>;

/** Names of fields that are not compared: ids, the window, and figures that depend on other days. */
const NOT_COMPARED = new Set([
  ...["booth_id", "start", "end", "page", "limit", "pages", "total"],
  ...["previous_period", "delta"],
]);
/** Names of fields that identify an item of a list, so that the order of the items doesn't matter. */
const NAMES = ["mode", "filter_type", "maintenance_date"] as const;
/** Tolerance for rounding, in minutes. Minutes are computed from milliseconds, and a millisecond is 1.7e-5 minutes. */
const NOISE = 1e-6;

type Leaf = number | string;

/** Maximum number of stored differences of a comparison, because each answer and each event of the status repeats them. */
export const MOST_DIFFERENCES = 100;
/**
 * Maximum length of a figure's name or text, in characters. Names of the gateway's own figures are shorter. The limit is for deeply nested
 * answers of the service, because a figure's name repeats the names of all levels above it.
 */
const MOST_CHARS = 200;

/** Returns the plain values of a report, each under a name that is the same on both sides. Recurses as deep as the JSON parser allows. */
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

/** Returns all figures that differ. A mode with neither time nor starts equals a mode that isn't listed. */
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

/** A day in the booth's time zone. */
export interface LocalDay {
  /** The date, YYYY-MM-DD. */
  readonly day: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
}

export function localDay(tz: string, day: DayNumber): LocalDay {
  const text = isoTime(day * DAY_MS).slice(0, "YYYY-MM-DD".length);
  return { day: text, start: instantOf(tz, day, 0), end: instantOf(tz, day + 1, 0) };
}

/** Returns the local day before the one that contains an instant. */
export function dayBefore(tz: string, at: EpochMs): LocalDay {
  return localDay(tz, dayOf(tz, at) - 1);
}

/**
 * Splits records, in the order of their sequence numbers, into runs within an hour. A gap in the sequence numbers starts another run. A
 * record with an earlier time than its predecessor belongs to the predecessor's hour.
 * @param before hour of the record before the first one; null: unknown
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

/** Returns the figures that the fold has stored for finished hours, by hour. A later record for the same hour replaces an earlier one. */
export function hourFigures(records: readonly Placed[]): ReadonlyMap<EpochMs, NonNullable<DigestHour["figures"]>> {
  return new Map(
    records.flatMap((record) => {
      if (record.kind !== KIND.hour) return [];
      const { hour, ms_by_mode, cycles, gas_therm, energy_kwh } = record.value;
      return [[hour, { ms_by_mode, cycles, gas_therm, energy_kwh }] as const];
    }),
  );
}
