import { dayOf, instantOf, type DayNumber } from "../../domain/time-zone.ts";
import type { FigureDifference } from "../../domain/reconciliation.ts";
import type { EpochMs } from "../../domain/units.ts";

/** The operations whose answers both sides give, compared field by field. */
export const COMPARED = [
  "duration_by_mode",
  "frequency_by_mode",
  "runtime",
  "utilization_stats",
  "filter_maintenance_history",
] as const;

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

/** The plain values of an answer, each under a name that is the same on both sides. */
export function figuresIn(operation: string, body: unknown): ReadonlyMap<string, Leaf> {
  const found = new Map<string, Leaf>();
  collect(operation, body, found);
  return found;
}

function collect(name: string, value: unknown, found: Map<string, Leaf>): void {
  if (typeof value === "number" || typeof value === "string") found.set(name, value);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(`${name}.${nameOf(item) ?? index.toString()}`, item, found);
  } else if (typeof value === "object" && value !== null) {
    for (const [field, inner] of Object.entries(value)) {
      if (!NOT_COMPARED.has(field)) collect(`${name}.${field}`, inner, found);
    }
  }
}

function nameOf(item: unknown): string | null {
  if (typeof item !== "object" || item === null) return null;
  const fields = item as Readonly<Record<string, unknown>>;
  const names = NAMES.flatMap((name) => (typeof fields[name] === "string" ? [fields[name]] : []));
  return names.length === 0 ? null : names.join(" ");
}

/** A mode of no time and no start is as good as one that isn't listed. */
export function differencesOf(
  gateway: ReadonlyMap<string, Leaf>,
  service: ReadonlyMap<string, Leaf>,
): readonly FigureDifference[] {
  const names = [...new Set([...gateway.keys(), ...service.keys()])].sort();
  return names.flatMap((figure) => {
    const [ours, theirs] = [gateway.get(figure) ?? null, service.get(figure) ?? null];
    return isSame(ours, theirs) || isNameOfNothing(figure) ? [] : [{ figure, gateway: ours, service: theirs }];
  });
}

function isNameOfNothing(figure: string): boolean {
  return figure.endsWith(".mode");
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
  const text = civilFromDays(day)
    .map((part, index) => part.toString().padStart(index === 0 ? 4 : 2, "0"))
    .join("-");
  return { day: text, start: instantOf(tz, day, 0), end: instantOf(tz, day + 1, 0) };
}

/** The day before the one that holds the instant. */
export function dayBefore(tz: string, at: EpochMs): LocalDay {
  return localDay(tz, dayOf(tz, at) - 1);
}

/** Year, month, day (Hinnant, "chrono-compatible low-level date algorithms"). */
function civilFromDays(day: DayNumber): number[] {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const day_of_era = shifted - era * 146_097;
  const year_of_era = Math.floor(
    (day_of_era - Math.floor(day_of_era / 1_460) + Math.floor(day_of_era / 36_524) - Math.floor(day_of_era / 146_096)) /
      365,
  );
  const day_of_year = day_of_era - (365 * year_of_era + Math.floor(year_of_era / 4) - Math.floor(year_of_era / 100));
  const month_index = Math.floor((5 * day_of_year + 2) / 153);
  const month = month_index < 10 ? month_index + 3 : month_index - 9;
  const date = day_of_year - Math.floor((153 * month_index + 2) / 5) + 1;
  return [year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, date];
}
