import { parseTime } from "../contract/time.ts";
import { instantOf, zoneOffsetMs } from "../domain/time-zone.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Values } from "../tools/command.ts";
import { DAY_MS } from "../domain/time.ts";

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

/** Returns the time zone for input and output: UTC with --utc, else this machine's zone. */
export function zoneOf(values: Values): string {
  return values["utc"] === true ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns a text such as "2026-03-02 08:05:12 -07:00", with UTC instead of a zero offset. `at` may be a time text of the service. */
export function timeText(at: EpochMs | string, tz: string): string {
  const instant = typeof at === "string" ? parseTime(at) : at;
  if (instant === null) return String(at);
  const offset_ms = zoneOffsetMs(tz, instant);
  const clock = new Date(instant + offset_ms).toISOString().slice(0, 19).replace("T", " ");
  return `${clock} ${tz === "UTC" ? "UTC" : offsetText(offset_ms)}`;
}

function offsetText(offset_ms: Milliseconds): string {
  const minutes = Math.abs(Math.round(offset_ms / 60_000));
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${offset_ms < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/**
 * Parses a time as typed: now, today, yesterday, a length of time ago (-2h, -30m, -3d), a day, or a day and a time. The zone is `tz` unless
 * the text ends with Z or an offset. Returns null for any other text.
 */
export function instantIn(text: string, { now, tz }: { readonly now: EpochMs; readonly tz: string }): EpochMs | null {
  const typed = text.trim();
  const midnight = (days: number): EpochMs => instantOf(tz, dayAt(now, tz) - days, 0);
  if (typed === "now") return now;
  if (typed === "today") return midnight(0);
  if (typed === "yesterday") return midnight(1);
  const [, amount, unit = ""] = /^-(\d{1,6}(?:\.\d+)?)([smhd])$/.exec(typed) ?? [];
  if (amount !== undefined) return now - Math.round(Number(amount) * (UNITS_MS[unit] ?? NaN));
  const [, day = "", clock = "00:00", zone = ""] =
    /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(typed) ?? [];
  const whole = parseTime(`${day} ${clock.length === 5 ? `${clock}:00` : clock}`);
  if (whole === null) return null;
  if (zone === "Z") return whole;
  if (zone !== "") return whole - offsetIn(zone);
  return instantOf(tz, Math.floor(whole / DAY_MS), whole - Math.floor(whole / DAY_MS) * DAY_MS);
}

function offsetIn(zone: string): Milliseconds {
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return (zone.startsWith("-") ? -1 : 1) * minutes * 60_000;
}

/** Returns the local day as the number of days since 1970-01-01. */
function dayAt(at: EpochMs, tz: string): number {
  return Math.floor((at + zoneOffsetMs(tz, at)) / DAY_MS);
}
