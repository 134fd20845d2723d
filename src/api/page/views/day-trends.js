import { get } from "../kit/api.js";
import { chartFooter, csvTime, loader } from "../charts/chart.js";
import { el, redraw } from "../kit/dom.js";
import { clockText, number, shownUnit, wireText } from "../kit/format.js";
import {
  axisHour,
  hourTicks,
  labelled,
  measuredOf,
  rangeText,
  stageAt,
  trendRows,
  trendSteps,
} from "../charts/measured.js";
import { keys, plot } from "../charts/plot.js";
import { pinButton } from "../kit/session.js";
import { t } from "../texts/texts.js";
import { inUnits } from "../kit/units.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {{ start: number, end: number, now: number, tz: string, stages: readonly import("../charts/strip.js").Stage[] }} Day */
/** @typedef {import("../charts/measured.js").Trends} Trends */

const STEP_MIN = 5;
const STEP_MS = STEP_MIN * 60_000;
const EVERY_MS = 60_000;
const HEIGHT = 170;
/** Colors of the lines. Dash patterns distinguish the lines as well. */
const COLORS = ["plot-1", "plot-2", "plot-3", "plot-4"];

/** Returns the color and dash pattern of the line with this index. @param {number} nth */
const lookOf = (nth) => ({ color: COLORS[nth % COLORS.length] ?? "plot-1", dash: nth % COLORS.length });

/**
 * Draws charts of a day's temperatures and pressures below its strip. They share one axis and one cursor, for mouse, finger and keys.
 * @param {Context} context @param {(at: number | null) => void} onCursor
 */
export function dayTrends(context, onCursor) {
  let day = /** @type {Day | null} */ (null);
  let cursor = /** @type {number | null} */ (null);
  /** @type {Map<string, ReturnType<typeof plot>>} */
  const plots = new Map();
  let drawn = /** @type {Trends | null} */ (null);
  const [said, charts, foot] = [el("p", { className: "readout" }), el("div", {}), el("div", {})];
  const slider = /** @type {HTMLInputElement} */ (
    el("input", { type: "range", className: "time", step: STEP_MS, "aria-label": t("chart.time") })
  );
  const held = el("div", {}, said, charts, el("div", { className: "timed" }, slider), foot);
  const asking = el("div", {});
  const node = el(
    "section",
    { className: "trends", "aria-label": t("now.measured") },
    el("h3", {}, t("now.measured")),
    asking,
    held,
  );
  const trends = /** @type {ReturnType<typeof loader<Trends>>} */ (loader(EVERY_MS, () => draw()));
  /** @param {number | null} at */
  const point = (at) => {
    cursor = at === null || day === null ? null : Math.min(Math.max(at, day.start), day.end - 1);
    for (const one of plots.values()) one.point(cursor);
    tell();
    onCursor(cursor);
  };
  slider.addEventListener("input", () => point(Number(slider.value)));
  const tell = () => {
    if (day === null) return;
    said.textContent =
      cursor === null ? t("chart.point") : readout(cursor, day, { found: trends.data(), labels: labelsOf(context) });
    if (cursor !== null) slider.value = String(cursor);
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  const draw = () => {
    if (day === null) return;
    const needsPin = context.needsPin();
    const tags = tagsOf(context);
    redraw(asking, [needsPin, tags.length], () => [lackOf({ needsPin, tags })]);
    const found = trends.data();
    held.hidden = needsPin || tags.length === 0;
    if (held.hidden || found === null) return;
    const labels = labelsOf(context);
    if (drawn !== found) {
      drawn = found;
      slide(slider, day);
      drawPlots({ plots, charts, point }, { day, found, labels });
    }
    tell();
    redraw(foot, found, () => [trendsFooter(found, { ...context.booth(), labels })]);
  };
  return {
    node,
    point,
    /** @param {Day} next */
    update(next) {
      if (day !== null && day.start !== next.start) point(null);
      day = next;
      const tags = tagsOf(context);
      if (tags.length > 0 && !context.needsPin()) {
        const query = queryOf(day, tags);
        trends.want(query, () => get(`/api/booths/${encodeURIComponent(context.booth().booth)}/trend?${query}`));
      }
      draw();
    },
    close() {
      trends.drop();
      for (const one of plots.values()) one.close();
      plots.clear();
    },
  };
}

/** Returns the names of the measured tags. @param {Context} context @returns {string[]} */
const tagsOf = (context) => measuredOf(context.readings()).map(({ tag }) => tag);

/** Returns the labels of the measured tags, by tag. @param {Context} context */
const labelsOf = (context) => labelled(context.readings());

/**
 * Sets the range of the slider to the day. On a new day its handle starts at the present instant, or at the end of a past day.
 * @param {HTMLInputElement} slider @param {Day} day
 */
function slide(slider, { start, end, now }) {
  const isSame = slider.min === String(start);
  slider.min = String(start);
  slider.max = String(end - STEP_MS);
  if (!isSame) slider.value = String(Math.min(now, end - STEP_MS));
}

/** Returns what to show instead of charts that can't be drawn. @param {{ needsPin: boolean, tags: readonly string[] }} of */
function lackOf({ needsPin, tags }) {
  if (needsPin) return pinButton();
  return tags.length === 0 && el("p", {}, t("now.noMeasured"));
}

/** Returns the query for the values of these tags on a day. @param {Day} day @param {readonly string[]} tags */
function queryOf({ start, end }, tags) {
  const span = `start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}`;
  return `${span}&interval=${STEP_MIN.toString()}&tags=${encodeURIComponent(tags.join(","))}`;
}

/**
 * Draws the footer of the day's charts, with their values as a table and as a CSV file.
 * @param {Trends} found @param {{ booth: string, tz: string, labels: Map<string, string> }} around
 */
function trendsFooter(found, { booth, tz, labels }) {
  return chartFooter({
    name: `${booth}-${csvTime(found.start).slice(0, 10)}-trends`,
    title: t("now.measured"),
    shown: () => trendRows(found, { tz, labels }),
    csv: () => trendSteps(found),
  });
}

/** Draws one chart for each unit. @param {{ plots: Map<string, ReturnType<typeof plot>>, charts: HTMLElement, point: (at: number | null) => void }} own @param {{ day: Day, found: Trends, labels: Map<string, string> }} what */
function drawPlots({ plots, charts, point }, { day, found, labels }) {
  const { start, step_ms, tags } = found;
  const { tz } = day;
  const units = [...new Set(tags.map(({ unit }) => unit))];
  const times = (tags[0]?.min ?? []).map((_, index) => start + index * step_ms);
  redraw(charts, [units, tags.map(({ tag }) => labels.get(tag) ?? tag)], () => {
    for (const one of plots.values()) one.close();
    plots.clear();
    return units.flatMap((unit) => {
      const one = plot({
        height: HEIGHT,
        unit: number,
        ticks: (span) => hourTicks({ ...span, tz }),
        name: (at) => (at === day.end && axisHour(at, tz) === "00" ? "24" : axisHour(at, tz)),
        onCursor: point,
      });
      plots.set(unit, one);
      const lines = tags.filter((tag) => tag.unit === unit);
      return [
        keys(
          shownUnit(unit),
          lines.map(({ tag }, nth) => ({ label: labels.get(tag) ?? tag, ...lookOf(nth) })),
        ),
        one.node,
      ];
    });
  });
  for (const [unit, one] of plots) {
    const lines = tags.filter((tag) => tag.unit === unit);
    one.update({
      ...{ times, start: day.start, end: day.end },
      lines: lines.map(({ tag, min, max }, nth) => ({
        label: labels.get(tag) ?? tag,
        values: min.map((least, index) => shown(middle(least, max[index] ?? null), unit)),
        band: /** @type {const} */ ([max.map((one) => shown(one, unit)), min.map((one) => shown(one, unit))]),
        ...lookOf(nth),
      })),
    });
  }
}

/** Converts a value to the unit that the person has chosen. @param {number | null} value @param {string} unit */
function shown(value, unit) {
  return value === null ? null : inUnits(value, unit).value;
}

/** Returns the mean of two values; null: a value is missing. @param {number | null} least @param {number | null} most */
function middle(least, most) {
  return least === null || most === null ? null : (least + most) / 2;
}

/**
 * Describes an instant in words: its time, mode and values.
 * @param {number} at @param {Day} day @param {{ found: Trends | null, labels: Map<string, string> }} of
 */
function readout(at, { tz, now, stages }, { found, labels }) {
  if (at > now) return `${clockText(at, tz)}: ${t("days.later")}`;
  const stage = stageAt(stages, at);
  const values = (found?.tags ?? []).map(({ tag, unit, min, max }) => {
    const index = found === null ? 0 : Math.floor((at - found.start) / found.step_ms);
    return `${labels.get(tag) ?? tag} ${rangeText(min[index] ?? null, max[index] ?? null, unit)} ${shownUnit(unit)}`;
  });
  return [clockText(at, tz), ...(stage === null ? [] : [wireText(stage.mode)]), ...values].join(" · ");
}
