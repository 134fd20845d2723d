import type { FilterUse } from "../reports/filter-use.ts";
import { timeText } from "./time.ts";

const HOUR_MIN = 60;
/** The number of hours below which the text has a decimal. */
const FEW_HOURS = 10;

export function hoursText(minutes: number): string {
  const hours = minutes / HOUR_MIN;
  return `${hours.toFixed(hours < FEW_HOURS ? 1 : 0)} h`;
}

/** Returns a text such as "34 h of 100 h, 34 %", which `status`, `filters` and the page share. */
export function usedText(use: Pick<FilterUse, "minutes" | "limit_minutes" | "percent">): string {
  const { minutes, limit_minutes, percent } = use;
  if (minutes === null) return "use unknown";
  if (limit_minutes === null || percent === null) return `${hoursText(minutes)}, no limit in hours`;
  return `${hoursText(minutes)} of ${hoursText(limit_minutes)}, ${percent.toFixed(0)} %`;
}

/** Returns a text such as "full on 2026-12-09 at this pace, between 2026-12-07 and 2026-12-14"; "" without a forecast. */
export function forecastText(forecast: FilterUse["forecast"], tz: string): string {
  if (forecast === null) return "";
  const day = (at: number): string => timeText(at, tz).slice(0, 10);
  const { at, earliest, latest, by } = forecast;
  if (by === "age") return `due on ${day(at)} by its age`;
  const full = `full on ${day(at)} at this pace`;
  if (latest === null) return `${full}, not before ${day(earliest)}`;
  return day(earliest) === day(latest) ? full : `${full}, between ${day(earliest)} and ${day(latest)}`;
}
