import { chartFooter, csvTime } from "../charts/chart.js";
import { el } from "../kit/dom.js";
import { dayStart, dayText, hoursText, measured, number, shownUnit } from "../kit/format.js";
import { keys, plot } from "../charts/plot.js";
import { t } from "../texts/texts.js";
import { inUnits } from "../kit/units.js";

const DAY_MS = 86_400_000;
const MINUTES_PER_HOUR = 60;
/** Maximum time that a forecast is drawn ahead. A longer line would squeeze the past into a corner. */
const AHEAD_MS = 56 * DAY_MS;
/** Minimum width of the chart, for a new box with only a few days of data. */
const LEAST_MS = 7 * DAY_MS;
const DATES = 5;
const HEIGHT = 150;

/**
 * The use of a filter, as the box reports it.
 * @typedef {{ filter: string, installed_at: number, minutes: number | null, limit_minutes: number | null, percent: number | null,
 *   forecast: { at: number, earliest: number, latest: number | null, by: "use" | "age" } | null,
 *   points: { at: number, minutes: number | null }[],
 * pressure: { tag: string, unit: string, limit: number | null, days: { start: number, end: number, max: number | null }[] } | null }}
 * FilterUse
 */
/** The booth and the period of a filter chart. @typedef {{ name: string, booth: string, tz: string, now: number, start: number }} Around */

/** Returns day and month without the year. @param {number} at @param {string} tz */
function dateText(at, tz) {
  return dayText(at, tz).split(" ").slice(1).join(" ");
}

/** Describes when a filter will be full. @param {FilterUse["forecast"]} forecast @param {string} tz */
export function forecastText(forecast, tz) {
  if (forecast === null) return "";
  // Removes a double full stop after an abbreviated month, such as "Sept.." at the end of the sentence.
  return whenFull(forecast, tz).replace(/\.\.$/, ".");
}

/**
 * Returns the text that forecasts when the filter reaches its limit.
 * @param {NonNullable<FilterUse["forecast"]>} forecast @param {string} tz
 */
function whenFull({ at, earliest, latest, by }, tz) {
  if (by === "age") return t("filters.dueByAge", { at: dateText(at, tz) });
  const [full, from] = [dateText(at, tz), dateText(earliest, tz)];
  if (latest === null) return t("filters.fullFrom", { at: full, from });
  const to = dateText(latest, tz);
  return from === to ? t("filters.full", { at: full }) : t("filters.fullBetween", { at: full, from, to });
}

/** Draws a filter's use over the last weeks with its forecast, and the pressure drop across the filter. */
export function filterCharts() {
  const node = el("div", { className: "filter-charts" });
  /** @type {ReturnType<typeof plot>[]} */
  let plots = [];
  const close = () => {
    for (const one of plots) one.close();
    plots = [];
  };
  return {
    node,
    close,
    /** Returns the content of `node`. @param {FilterUse} filter @param {Around} around */
    parts(filter, around) {
      close();
      const first = filter.points[0]?.at ?? around.start;
      const start = Math.max(around.start, Math.min(first, around.now - LEAST_MS));
      const span = { start, end: endOf(filter, around.now) };
      const isShare = filter.limit_minutes !== null && filter.limit_minutes > 0;
      const use = datePlot(around.tz, (value) => (isShare ? `${number(value)} %` : t("unit.h", { h: number(value) })));
      use.update({ ...useLines(filter, { ...span, now: around.now }), ...span });
      plots.push(use);
      const parts = [useKeys(filter), use.node, useFooter(filter, around)];
      const { pressure } = filter;
      if (pressure === null || pressure.days.every(({ max }) => max === null)) return parts;
      const drop = datePlot(around.tz, number);
      drop.update({ ...pressureLines(pressure, span), ...span });
      plots.push(drop);
      return [...parts, ...pressureParts(filter, around, drop)];
    },
  };
}

/** Makes an empty chart with dates on its horizontal axis. @param {string} tz @param {(value: number, decimals: number) => string} unit */
function datePlot(tz, unit) {
  return plot({
    height: HEIGHT,
    unit,
    low: 0,
    ticks: (span) => dateTicks(span, tz),
    name: (at) => dateText(at, tz),
  });
}

/** Returns about five local midnights for the axis. @param {{ start: number, end: number }} span @param {string} tz */
function dateTicks({ start: from, end: to }, tz) {
  const days = Math.max(1, Math.round((to - from) / DAY_MS / DATES));
  const first = dayStart(from, tz);
  const all = Array.from({ length: DATES + 2 }, (_, nth) => dayStart(first + DAY_MS / 2, tz, nth * days));
  return all.filter((at) => at >= from && at <= to - (to - from) / 30);
}

/**
 * Returns the end of a filter's chart: soon after the forecast, but not too far in the future.
 * @param {FilterUse} filter @param {number} now
 */
function endOf({ forecast }, now) {
  if (forecast === null) return now + DAY_MS;
  return Math.min(Math.max(forecast.latest ?? forecast.at, forecast.at) + 2 * DAY_MS, now + AHEAD_MS);
}

/**
 * Returns the used share of the limit in percent, or the hours if the filter has no limit.
 * @param {FilterUse} filter @param {number} minutes
 */
function heightOf({ limit_minutes }, minutes) {
  return limit_minutes !== null && limit_minutes > 0 ? (minutes / limit_minutes) * 100 : minutes / MINUTES_PER_HOUR;
}

/**
 * Returns the lines of a filter's use, of its forecast and of its limit.
 * @param {FilterUse} filter @param {{ start: number, end: number, now: number }} span
 */
function useLines(filter, { start, end, now }) {
  const { points, forecast, minutes, limit_minutes } = filter;
  const isAhead = forecast !== null && forecast.by === "use" && minutes !== null && limit_minutes !== null;
  const ahead = isAhead
    ? [now, forecast.earliest, forecast.at, forecast.latest ?? end, end].filter((at) => at <= end)
    : [];
  const here = minutes === null ? 0 : heightOf(filter, minutes);
  /**
   * Returns the forecast at an instant, on a straight line from now to the limit at `full`.
   * @param {number} at @param {number | null} full
   */
  const towards = (at, full) =>
    full === null ? here : full <= now ? 100 : Math.min(100, here + ((100 - here) * (at - now)) / (full - now));
  /** @type {Map<number, number>} */
  const used = new Map();
  for (const { at, minutes: value } of points) {
    const before = used.get(at);
    if (value !== null) used.set(at, value);
    // Moves the old filter's point 1 ms earlier at a filter change, where both filters have a point at the same instant.
    else if (before !== undefined) used.set(at - 1, before);
  }
  const times = [...new Set([start, ...used.keys(), ...ahead, end])].sort((a, b) => a - b);
  const isAsked = new Set(ahead);
  return {
    times,
    lines: [
      {
        label: t("filters.use"),
        ...{ color: "plot-1", spans: true },
        values: times.map((at) => {
          const value = used.get(at);
          return value === undefined ? null : heightOf(filter, value);
        }),
      },
      ...(isAhead
        ? [
            {
              label: t("filters.forecast"),
              ...{ color: "plot-1", dash: 1, spans: true },
              values: times.map((at) => (isAsked.has(at) && at <= forecast.at ? towards(at, forecast.at) : null)),
              band: /** @type {const} */ ([
                times.map((at) => (isAsked.has(at) ? towards(at, forecast.earliest) : null)),
                times.map((at) => (isAsked.has(at) ? towards(at, forecast.latest) : null)),
              ]),
            },
          ]
        : []),
      ...(limit_minutes === null || limit_minutes <= 0
        ? []
        : [
            {
              label: t("filters.limit"),
              color: "plot-limit",
              dash: 2,
              spans: true,
              values: times.map((at) => (at === start || at === end ? 100 : null)),
            },
          ]),
    ],
  };
}

/**
 * Draws the legend for a filter's use.
 * @param {FilterUse} filter
 */
function useKeys({ forecast, limit_minutes }) {
  return keys("", [
    { label: t("filters.use"), color: "plot-1" },
    ...(forecast?.by === "use"
      ? [
          { label: t("filters.forecast"), color: "plot-1", dash: 1 },
          { label: t("filters.range"), color: "plot-1", isBand: true },
        ]
      : []),
    ...(limit_minutes === null ? [] : [{ label: t("filters.limit"), color: "plot-limit", dash: 2 }]),
  ]);
}

/** Draws the footer of a filter's chart, with its values as a table and as a CSV file. @param {FilterUse} filter @param {Around} around */
function useFooter(filter, { name, booth, tz }) {
  const known = filter.points.filter(({ minutes }) => minutes !== null);
  return chartFooter({
    name: `${booth}-${filter.filter}-use`,
    title: t("chart.useOf", { what: name }),
    shown: () => ({
      heads: [t("chart.day"), t("filters.use"), t("filters.percent")],
      rows: known.map(({ at, minutes }) => [
        ...[dayText(at, tz), hoursText(minutes ?? 0)],
        filter.limit_minutes === null ? null : `${number(heightOf(filter, minutes ?? 0))} %`,
      ]),
    }),
    csv: () => ({
      heads: ["time", "used_minutes", "limit_minutes"],
      rows: known.map(({ at, minutes }) => [csvTime(at), Math.round((minutes ?? 0) * 10) / 10, filter.limit_minutes]),
    }),
  });
}

/**
 * Returns the legend, chart and footer of a filter's pressure drop; empty: the filter has no sensor.
 * @param {FilterUse} filter @param {Around} around @param {ReturnType<typeof plot>} drop
 */
function pressureParts({ filter, pressure }, { name, booth, tz }, drop) {
  if (pressure === null) return [];
  const { unit, limit, days } = pressure;
  const title = t("chart.dropOf", { what: name });
  return [
    keys(shownUnit(unit), [
      { label: t("filters.drop"), color: "plot-2" },
      ...(limit === null ? [] : [{ label: t("filters.limit"), color: "plot-limit", dash: 2 }]),
    ]),
    drop.node,
    chartFooter({
      name: `${booth}-${filter}-pressure`,
      title,
      shown: () => ({
        heads: [t("chart.day"), `${t("filters.drop")}, ${shownUnit(unit)}`],
        rows: days.map(({ start, max }) => [dayText(start, tz), max === null ? null : measured(max, unit).number]),
      }),
      csv: () => ({
        heads: ["start", `max (${unit})`, `limit (${unit})`],
        rows: days.map(({ start, max }) => [csvTime(start), max, limit]),
      }),
    }),
  ];
}

/**
 * Returns the lines of a filter's pressure drop and of its limit. Each day has one point at its middle.
 * @param {NonNullable<FilterUse["pressure"]>} pressure @param {{ start: number, end: number }} span
 */
function pressureLines({ days, limit, unit }, { start, end }) {
  const middles = days.map((day) => (day.start + day.end) / 2);
  const times = [start, ...middles.filter((at) => at > start && at < end), end];
  const values = new Map(
    days.map(({ start, end, max }) => [(start + end) / 2, max === null ? null : inUnits(max, unit).value]),
  );
  return {
    times,
    lines: [
      {
        label: t("filters.drop"),
        color: "plot-2",
        points: true,
        spans: true,
        values: times.map((at) => values.get(at) ?? null),
      },
      ...(limit === null
        ? []
        : [
            {
              label: t("filters.limit"),
              color: "plot-limit",
              dash: 2,
              spans: true,
              values: times.map((at) => (at === start || at === end ? inUnits(limit, unit).value : null)),
            },
          ]),
    ],
  };
}
