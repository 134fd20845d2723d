import { get } from "../kit/api.js";
import { chartFooter, csvTime, loader } from "../charts/chart.js";
import { el, redraw } from "../kit/dom.js";
import {
  clockText,
  DAY_MS,
  dayStart,
  dayText,
  HOUR_MS,
  measured,
  minutesText,
  number,
  shownUnit,
} from "../kit/format.js";
import { extremes, labelled, measuredOf, trendRows, trendSteps } from "../charts/measured.js";
import { sparkbars, sparkline } from "../charts/spark.js";
import { endsOf, stagesFooter, stagesOf } from "../charts/stages.js";
import { hourAxis, legend, strip } from "../charts/strip.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../main.js").Context} Context */

const STRIP_EVERY_MS = 15_000;
const SPARKS_EVERY_MS = 60_000;
/** Step of a sparkline, which is only about a hundred pixels wide. */
const STEP_MIN = 15;
const STEP_MS = STEP_MIN * 60_000;

/** Returns the path of an operation about the booth that is shown. @param {Context} context @param {string} operation */
const pathOf = (context, operation) => `/api/booths/${encodeURIComponent(context.booth().booth)}/${operation}`;

/** Shows the local day so far as a strip, with its cycles. @param {Context} context */
export function todayStrip(context) {
  const node = el("div", { className: "today" });
  /** @type {ReturnType<typeof loader<{ stages: import("../charts/strip.js").Stage[], cycles: number[] }>>} */
  const loaded = loader(STRIP_EVERY_MS, () => draw());
  const draw = () => {
    const found = loaded.data();
    if (found === null) return;
    const { time, tz, booth } = context.booth();
    const { stages, cycles } = found;
    const start = dayStart(time, tz);
    const day = { start, end: dayStart(start + DAY_MS / 2, tz, 1), tz };
    redraw(node, [found, start, Math.floor(time / 60_000)], () => {
      const title = t("days.strip", { day: dayText(start, tz) });
      return [
        strip({ ...day, stages, cycles, now: time, label: title }),
        hourAxis(day),
        legend(stages, day, cycles.length > 0),
        stagesFooter(stages, { name: `${booth}-${csvTime(start).slice(0, 10)}-stages`, title, tz }),
      ];
    });
  };
  return {
    node,
    update() {
      loaded.want(context.booth().booth, async () => {
        const [stages, cycles] = await Promise.all([
          get(`${pathOf(context, "recent_stages")}?limit=1000`),
          get(`${pathOf(context, "cycles")}?limit=1000`),
        ]);
        return { stages: stagesOf(stages.data), cycles: endsOf(cycles.data) };
      });
      draw();
    },
    close: () => loaded.drop(),
  };
}

/**
 * Draws the last 24 hours of the view's figures as small charts next to the figures.
 * @param {Context} context @param {() => void} onChange
 */
export function lastDay(context, onChange) {
  /** @type {ReturnType<typeof loader<any[]>>} */
  const hours = loader(SPARKS_EVERY_MS, onChange);
  /** @type {ReturnType<typeof loader<import("../charts/measured.js").Trends>>} */
  const trends = loader(SPARKS_EVERY_MS, onChange);
  const tagsShown = () => measuredOf(context.readings());
  return {
    update() {
      const { booth, time } = context.booth();
      const from = new Date((Math.floor(time / HOUR_MS) - 23) * HOUR_MS).toISOString();
      hours.want(
        `${booth} ${from}`,
        async () => (await get(`${pathOf(context, "use_periods")}?unit=hour&start=${from}`)).data,
        true,
      );
      const tags = tagsShown().map(({ tag }) => tag);
      if (context.needsPin() || tags.length === 0) return;
      const start = new Date((Math.floor(time / STEP_MS) - DAY_MS / STEP_MS) * STEP_MS).toISOString();
      const query = `interval=${STEP_MIN.toString()}&start=${start}&tags=${encodeURIComponent(tags.join(","))}`;
      trends.want(`${booth} ${query}`, () => get(`${pathOf(context, "trend")}?${query}`), true);
    },
    /** @param {"cycle_count" | "utilization_minutes" | "utilization_pct"} field */
    ofHours(field) {
      const values = hours.data()?.map((hour) => hour[field] ?? 0);
      if (values === undefined) return null;
      return sparkbars({ values, text: t("chart.lastDay", { what: t(TEXTS[field]) }) });
    },
    /** @param {string} tag @param {string} unit */
    ofTag(tag, unit) {
      const found = trends.data()?.tags.find((one) => one.tag === tag);
      if (found === undefined) return null;
      const [low, high] = extremes(found) ?? [null, null];
      if (low === null || high === null) return null;
      return sparkline({
        ...found,
        text: t("chart.lastDayRange", {
          low: measured(low, unit, 1).number,
          high: measured(high, unit, 1).number,
          unit: shownUnit(unit),
        }),
      });
    },
    /** Returns the footers of the small charts, each with a table and a file. */
    hoursFooter: () => hoursFooter(context, hours.data() ?? []),
    trendsFooter: () => trendsFooter(context, trends.data(), context.readings()),
    hours: () => hours.data(),
    trends: () => trends.data(),
    close() {
      hours.drop();
      trends.drop();
    },
  };
}

const TEXTS = /** @type {const} */ ({
  cycle_count: "days.cycles",
  utilization_minutes: "days.inUse",
  utilization_pct: "days.utilization",
});

/** Draws the footer of the charts by hour, with their values as a table. @param {Context} context @param {any[]} hours */
function hoursFooter(context, hours) {
  const { tz, booth } = context.booth();
  if (hours.length === 0) return null;
  const heads = [t("chart.hour"), t("days.cycles"), t("days.inUse"), t("days.utilization")];
  return chartFooter({
    name: `${booth}-last-24-hours`,
    title: t("chart.lastDay", { what: t("now.today") }),
    shown: () => ({
      heads,
      rows: hours.map(({ start, cycle_count, utilization_minutes, utilization_pct }) => [
        ...[clockText(start, tz), number(cycle_count), minutesText(utilization_minutes)],
        utilization_pct === null ? null : `${number(utilization_pct)} %`,
      ]),
    }),
    csv: () => ({
      heads: ["start", "cycles", "utilization_minutes", "utilization_pct"],
      rows: hours.map(({ start, cycle_count, utilization_minutes, utilization_pct }) => [
        ...[csvTime(start), cycle_count, utilization_minutes, utilization_pct],
      ]),
    }),
  });
}

/**
 * Draws the footer below the charts with measured values: the values as a table and as a CSV file.
 * @param {Context} context @param {import("../charts/measured.js").Trends | null} trends @param {readonly import("../main.js").Reading[]}
 * readings
 */
function trendsFooter(context, trends, readings) {
  if (trends === null) return null;
  return chartFooter({
    name: `${context.booth().booth}-last-24-hours-measured`,
    title: t("chart.lastDay", { what: t("now.measured") }),
    shown: () => trendRows(trends, { tz: context.booth().tz, labels: labelled(readings) }),
    csv: () => trendSteps(trends),
  });
}
