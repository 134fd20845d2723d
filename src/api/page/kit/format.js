import { locale, t } from "../texts/texts.js";
import { digitsOf, inUnits, unitOf, units } from "./units.js";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The page's modes by the names that the service uses for them. */
const WIRE = {
  "Spray Mode": "spray",
  "Flash Mode": "flash",
  "Purge Mode": "purge",
  "Bake Mode": "bake",
  "Cool Down": "cool_down",
  Setback: "setback",
  "Prep Mode": "prep",
  Idle: "idle",
  Off: "off",
  Maintenance: "maintenance",
  Fault: "fault",
  "E-Stop": "estop",
  Unknown: "unknown",
  "No Data": "no_data",
};

/** Returns the page's name of a mode from the API's name, or "unknown". @param {string} wire */
export function modeOf(wire) {
  return /** @type {Readonly<Record<string, string>>} */ (WIRE)[wire] ?? "unknown";
}

/** Returns the translated name of a mode. A name that the profile made up is returned unchanged. @param {string} wire */
export function wireText(wire) {
  return wire in WIRE ? t(`mode.${modeOf(wire)}`) : wire;
}

/** Number of days from which a duration is shown in days only. */
const DAYS_WITH_HOURS = 14;

/** Returns a duration as people say it. @param {number} ms */
export function durationText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return t("unit.s", { s: seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("unit.min", { m: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? t("unit.h", { h: hours }) : t("unit.hm", { h: hours, m: minutes % 60 });
  const days = Math.floor(hours / 24);
  return days < DAYS_WITH_HOURS ? t("unit.d", { d: days, h: hours % 24 }) : t("unit.days", { d: number(days) });
}

/** Returns a unit as people write it, with the sign for degrees. @param {string} unit */
export function unitText(unit) {
  if (unit === "C" || unit === "F") return `°${unit}`;
  return unit === "m3" ? "m³" : unit;
}

/** Returns the written form of the unit in which this device shows figures of the given unit. @param {string} unit */
export function shownUnit(unit) {
  return unitText(unitOf(unit));
}

/**
 * Converts a figure of the box to the units of this device. Returns number and unit separately, so that the unit can be drawn smaller.
 * @param {number} value @param {string} unit @param {number} [digits] decimals in the box's unit
 */
export function measured(value, unit, digits = 0) {
  const shown = inUnits(value, unit);
  return { number: number(shown.value, digitsOf(shown.unit, digits)), unit: unitText(shown.unit) };
}

/**
 * Returns a tag's value as text: numbers in the units of this device, booleans as words.
 * @param {number | string | boolean | null} value @param {string} unit
 */
export function valueText(value, unit) {
  if (value === null) return "–";
  if (typeof value === "boolean") return t(`value.${value}`);
  if (typeof value !== "number") return `${value} ${unitText(unit)}`.trim();
  const shown = measured(value, unit, Number.isInteger(value) && shownUnit(unit) === unitText(unit) ? 0 : 2);
  return `${shown.number} ${shown.unit}`.trim();
}

/**
 * Formats minutes as hours, even if they exceed a day, because filter life is counted in hours.
 * @param {number} minutes
 */
export function hoursText(minutes) {
  return t("unit.h", { h: number(minutes / 60, minutes < 600 ? 1 : 0) });
}

/** Formats a duration in minutes. A duration below a minute is shown in seconds. @param {number} minutes */
export function minutesText(minutes) {
  if (minutes === 0) return t("unit.min", { m: 0 });
  return minutes > 0 && minutes < 1
    ? durationText(Math.round(minutes * 60) * 1000)
    : durationText(Math.round(minutes) * 60_000);
}

/**
 * Number formats by digits. They are kept because creating a format takes a slow phone longer than formatting a hundred numbers.
 * @type {Map<number, Intl.NumberFormat>}
 */
const numbers = new Map();

/** Formats a number in the person's language, with a fixed number of decimals. @param {number} value @param {number} [digits] */
export function number(value, digits = 0) {
  const known =
    numbers.get(digits) ??
    new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  numbers.set(digits, known);
  return known.format(value);
}

/** Formats a size in megabytes. @param {number} bytes */
export function bytes(bytes) {
  return `${number(bytes / 1e6, 1)} MB`;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * Returns a date format for a time zone. Formats are kept, because making one is slow.
 * @param {string} tz @param {Intl.DateTimeFormatOptions} options
 */
function format(tz, options) {
  const key = tz + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale, { timeZone: tz, ...options });
  formats.set(key, known);
  return known;
}

/** @type {Intl.DateTimeFormatOptions} */
const HOURS = units.clock === "12" ? { hour: "numeric", hourCycle: "h12" } : { hour: "2-digit", hourCycle: "h23" };

/** Formats an instant as hours and minutes in a time zone. @param {number} at @param {string} tz */
export function clockText(at, tz) {
  return format(tz, { ...HOURS, minute: "2-digit" }).format(at);
}

/** Formats an instant as hours, minutes and seconds in a time zone. @param {number} at @param {string} tz */
export function secondsText(at, tz) {
  return format(tz, { ...HOURS, minute: "2-digit", second: "2-digit" }).format(at);
}

/** Returns a full hour for an axis: 13, or 1 PM. @param {number} at @param {string} tz */
export function hourText(at, tz) {
  return format(
    tz,
    units.clock === "12" ? { hour: "numeric", hourCycle: "h12" } : { hour: "2-digit", hourCycle: "h23" },
  ).format(at);
}

/**
 * Returns the zone's name in the page's language at an instant, such as CET, or the zone's city if the language has no such name.
 * @param {number} at @param {string} tz
 */
export function zoneText(at, tz) {
  const part = format(tz, { timeZoneName: "short" })
    .formatToParts(at)
    .find(({ type }) => type === "timeZoneName");
  const place = tz.split("/").at(-1)?.replaceAll("_", " ") ?? tz;
  const name = part?.value ?? tz;
  return /^(GMT|UTC)[+-]/.test(name) ? `${place} (${name})` : name;
}

/** Formats the local day of an instant, with its weekday and without its year. @param {number} at @param {string} tz */
export function dayText(at, tz) {
  return format(tz, { weekday: "short", day: "numeric", month: "short" }).format(at);
}

/** Returns the time of an instant, with its date unless it is today. @param {number} at @param {string} tz @param {number} now */
export function whenText(at, tz, now) {
  const isToday = dayText(at, tz) === dayText(now, tz) && Math.abs(now - at) < 36 * 3_600_000;
  return isToday ? clockText(at, tz) : `${dayText(at, tz)} ${clockText(at, tz)}`;
}

/** Parses a time of an answer, such as "2025-02-17 10:00:00Z". @param {string} text */
export function timeOf(text) {
  return Date.parse(text.replace(" ", "T"));
}

/** Returns how far the zone's wall clock is ahead of UTC at an instant, ms. @param {string} tz @param {number} at */
function offsetAt(tz, at) {
  const parts = format(tz, {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  /** @param {string} type */
  const value = (type) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return (
    Date.UTC(value("year"), value("month") - 1, value("day"), value("hour"), value("minute"), value("second")) -
    Math.floor(at / 1000) * 1000
  );
}

/**
 * Returns the start of the local day that is `days` after the day of `at`. Local days have 23 to 25 hours.
 * @param {number} at @param {string} tz @param {number} [days]
 */
export function dayStart(at, tz, days = 0) {
  const day = Math.floor((at + offsetAt(tz, at)) / 86_400_000) * 86_400_000 + days * 86_400_000;
  const guess = day - offsetAt(tz, day);
  return day - offsetAt(tz, guess);
}

/**
 * Returns the versions to show: those in force, or else those read last, which may have been read for less than a minute.
 * @param {any} now a booth's summary; null: nothing was read yet
 */
export function versionsOf(now) {
  const of = typeof now?.plc_program === "string" ? now : now?.read;
  const isRead = typeof of?.plc_program === "string";
  const program = isRead ? `${of.plc_program} ${of.plc_program_revision ?? ""}`.trim() : null;
  return { program, firmware: now?.firmware_version ?? now?.read?.firmware_version ?? null };
}
