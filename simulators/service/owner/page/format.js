import { locale, t } from "./texts.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The service's spelling, "2026-11-24 20:30:00Z", as epoch ms. @param {string} text */
export function timeOf(text) {
  return Date.parse(text.replace(" ", "T"));
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {string} tz @param {Intl.DateTimeFormatOptions} options */
function formatOf(tz, options) {
  const key = `${tz} ${JSON.stringify(options)}`;
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale, { timeZone: tz, hourCycle: "h23", ...options });
  formats.set(key, known);
  return known;
}

/** @param {number} at @param {string} tz */
export function clockText(at, tz) {
  return formatOf(tz, { hour: "2-digit", minute: "2-digit" }).format(at);
}

/** @param {number} at @param {string} tz */
export function dayText(at, tz) {
  return formatOf(tz, { weekday: "short", day: "numeric", month: "short" }).format(at);
}

/** @param {number} at @param {string} tz */
export function momentText(at, tz) {
  return `${dayText(at, tz)}, ${clockText(at, tz)}`;
}

/** The zone's name as people say it. @param {string} tz */
export function zoneText(tz) {
  return tz.split("/").at(-1)?.replaceAll("_", " ") ?? tz;
}

/** @param {number} ms */
export function lasting(ms) {
  const minutes = Math.round(Math.max(0, ms) / MINUTE_MS);
  if (minutes < 60) return `${minutes.toString()} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours.toString()} h ${(minutes % 60).toString()} min`;
  return `${Math.floor(hours / 24).toString()} d ${(hours % 24).toString()} h`;
}

/** @param {number} value @param {number} [digits] */
export function numberText(value, digits = 0) {
  return value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/**
 * The local day that holds an instant: from midnight to midnight, 23 to 25 hours long.
 * @param {number} at @param {string} tz
 */
export function localDay(at, tz) {
  const start = midnightBefore(at, tz);
  return { start, end: midnightBefore(start + 26 * HOUR_MS, tz) };
}

/** @param {number} at @param {string} tz */
function midnightBefore(at, tz) {
  const wall = wallOf(at, tz);
  const guess = at - (wall % DAY_MS);
  // If the clock changed since midnight the guess is off by that change.
  const off = wallOf(guess, tz) % DAY_MS;
  return off === 0 ? guess : off > DAY_MS / 2 ? guess + (DAY_MS - off) : guess - off;
}

/** The zone's wall clock, as if it were UTC. @param {number} at @param {string} tz */
function wallOf(at, tz) {
  const parts = formatOf(tz, {
    ...{ year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
  }).formatToParts(at);
  /** @param {string} type */
  const part = (type) => Number(parts.find((one) => one.type === type)?.value ?? 0);
  return (
    Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second")) +
    (((at % 1000) + 1000) % 1000)
  );
}

/** The modes as the service names them, in its order, with the name that styles go by. */
export const MODES = /** @type {const} */ ([
  ["Spray Mode", "spray"],
  ["Flash Mode", "flash"],
  ["Purge Mode", "purge"],
  ["Bake Mode", "bake"],
  ["Cool Down", "cool_down"],
  ["Prep Mode", "prep"],
  ["Idle", "idle"],
  ["Setback", "setback"],
  ["Off", "off"],
  ["Maintenance", "maintenance"],
  ["Fault", "fault"],
  ["E-Stop", "estop"],
  ["Unknown", "unknown"],
  ["No Data", "no_data"],
]);

/** @param {string} name */
export function modeOf(name) {
  const found = MODES.find(([told]) => told === name);
  return { key: found?.[1] ?? "unknown", label: found === undefined ? name : t(`mode.${found[1]}`) };
}
