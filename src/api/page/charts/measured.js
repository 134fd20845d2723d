import { csvTime } from "./chart.js";
import { clockText, HOUR_MS, hourText, measured, shownUnit } from "../kit/format.js";
import { t } from "../texts/texts.js";

/** @typedef {{ tag: string, unit: string, min: (number | null)[], max: (number | null)[] }} TagTrend */
/** @typedef {{ start: number, step_ms: number, tags: TagTrend[] }} Trends */

/** Units of temperatures and pressures. */
const MEASURED = /^(°?[CFK]|Pa|hPa|kPa|m?bar|psi|in ?H2O|in ?wc|mm ?H2O)$/i;
/** Maximum number of lines in a chart; an answer of the box has no more. */
const MAX_LINES = 12;

/** Returns the temperatures and pressures among a booth's live readings. @param {readonly any[]} readings @returns {any[]} */
export function measuredOf(readings) {
  return readings.filter(({ unit }) => MEASURED.test(unit)).slice(0, MAX_LINES);
}

/** Returns the label of each tag. @param {readonly any[]} readings @returns {Map<string, string>} */
export function labelled(readings) {
  return new Map(measuredOf(readings).map(({ tag, label }) => [tag, label]));
}

/**
 * Returns the stage that contains an instant; null: no stage is known for it.
 * @param {readonly import("./strip.js").Stage[]} stages @param {number} at
 */
export function stageAt(stages, at) {
  return stages.find(({ start, end }) => start <= at && at < end) ?? null;
}

/**
 * Returns the full hours to mark on an axis: by the local clock, those divisible by `every`.
 * @param {{ start: number, end: number, tz: string }} span @param {number} [every]
 */
export function hourTicks({ start, end, tz }, every = 4) {
  const hours = new Intl.DateTimeFormat("en-GB", { timeZone: tz, hour: "2-digit", hourCycle: "h23" });
  const all = [];
  for (let at = start; at <= end; at += HOUR_MS) {
    // Uses the 24-hour clock, even if the language shows a 12-hour clock.
    if (Number(hours.format(at)) % every === 0) all.push(at);
  }
  return all;
}

/** Returns the hour in its shortest form for an axis: 13, or 1p for 1 PM. @param {number} at @param {string} tz */
export function axisHour(at, tz) {
  return hourText(at, tz)
    .replace(/\sUhr$/u, "")
    .replace(/\s*([ap])\.?\s?m\.?$/iu, (_, half) => String(half).toLowerCase());
}

/**
 * Returns a range of values as text, in the units of this device.
 * @param {number | null} min @param {number | null} max @param {string} unit
 */
export function rangeText(min, max, unit) {
  if (min === null || max === null) return "–";
  const [low, high] = [measured(min, unit, 1).number, measured(max, unit, 1).number];
  return low === high ? low : `${low}…${high}`;
}

/**
 * Returns the lowest and the highest value of the steps from `from` to `to`; null if they have no data.
 * @param {TagTrend} trend @param {number} [from] @param {number} [to] @returns {[number, number] | null}
 */
export function extremes({ min, max }, from = 0, to = min.length) {
  const [lows, highs] = [min, max].map((all) => all.slice(from, to).filter((one) => one !== null));
  return lows === undefined || highs === undefined || lows.length === 0
    ? null
    : [Math.min(...lows), Math.max(...highs)];
}

/** Returns the values by the hour, for the table. @param {Trends} trends @param {{ tz: string, labels: Map<string, string> }} around */
export function trendRows({ start, step_ms, tags }, { tz, labels }) {
  const steps = Math.max(1, Math.round(HOUR_MS / step_ms));
  const hours = Math.ceil((tags[0]?.min.length ?? 0) / steps);
  return {
    heads: [t("chart.hour"), ...tags.map(({ tag, unit }) => `${labels.get(tag) ?? tag}, ${shownUnit(unit)}`)],
    rows: Array.from({ length: hours }, (_, hour) => [
      clockText(start + hour * HOUR_MS, tz),
      ...tags.map((tag) => {
        const [low, high] = extremes(tag, hour * steps, (hour + 1) * steps) ?? [null, null];
        return rangeText(low, high, tag.unit);
      }),
    ]),
  };
}

/** Returns all steps, for a file. Every device writes the same units: those of the box. @param {Trends} trends */
export function trendSteps({ start, step_ms, tags }) {
  return {
    heads: ["time", ...tags.flatMap(({ tag, unit }) => [`${tag} min (${unit})`, `${tag} max (${unit})`])],
    rows: (tags[0]?.min ?? []).map((_, index) => [
      csvTime(start + index * step_ms),
      ...tags.flatMap(({ min, max }) => [min[index] ?? null, max[index] ?? null]),
    ]),
  };
}
