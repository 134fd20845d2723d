import { get, send } from "../kit/api.js";
import { loader } from "../charts/chart.js";
import { askUser, card, el, errorText, field, pushButton, redraw, table } from "../kit/dom.js";
import { filterCharts, forecastText } from "./filter-charts.js";
import { dayStart, hoursText, durationText, number, timeOf, whenText } from "../kit/format.js";
import { withSession } from "../kit/session.js";
import { t } from "../texts/texts.js";

const AGAIN_MS = 10_000;
const WARN_PERCENT = 80;
const USE_EVERY_MS = 60_000;
/** Days shown in a chart: long enough to show several changes of a filter that lasts only a week. */
const SHOWN_DAYS = 42;

/** @typedef {import("../main.js").Context} Context */

/** @typedef {import("./filter-charts.js").FilterUse} FilterUse */
/**
 * An entry of a filter change, with the person who entered it and the data of the new filter.
 * @typedef {{ filter: string, installed_at: number, by: string, part_number: string, note: string }} Entered
 */

/** Shows the booth's filters and their use, with a form for a filter change. @param {Context} context */
export function filtersView(context) {
  let asked = -Infinity;
  const entries = changeEntries(context, () => {
    asked = -Infinity;
    uses.again();
  });
  const gauges = el("div", { className: "grid two" });
  const history = el("div", {});
  const node = el(
    "div",
    { className: "grid" },
    entries.node,
    gauges,
    card(t("filters.history"), { class: "paired halves" }, history),
  );
  /** @type {{ done: any[], lives: any, entered: Entered[] } | null} */
  let services = null;
  const charts = chartsByFilter();
  /** @type {ReturnType<typeof loader<FilterUse[]>>} */
  const uses = loader(USE_EVERY_MS, () => update());
  const { booth } = context.booth();
  const path = `/api/booths/${encodeURIComponent(booth)}`;
  const startOf = () => dayStart(context.booth().time, context.booth().tz, 1 - SHOWN_DAYS);
  const refresh = async () => {
    if (performance.now() - asked < AGAIN_MS) return;
    asked = performance.now();
    const [done, lives, entered] = await Promise.all([
      get(`${path}/filter_maintenance_history?limit=100&coverage=true`),
      get(`${path}/filter_maintenances`),
      get(`/filters/entries?booth=${encodeURIComponent(booth)}`),
    ]).catch(() => [null, null, null]);
    if (done === null) return;
    services = { done: done.data, lives: lives.data[0] ?? {}, entered: entered.data };
    update();
  };
  const update = () => {
    const { now, time, tz } = context.booth();
    const filters = Object.entries(now?.filters ?? {});
    const query = `start=${new Date(startOf()).toISOString()}`;
    uses.want(query, async () => (await get(`${path}/filter_use?${query}`)).data, true);
    const found = uses.data() ?? [];
    const key = filters.map(([type, { minutes, percent, ...filter }]) => [
      type,
      filter,
      Math.round(minutes ?? -1),
      Math.round(percent ?? -1),
      filter.overuse_since === null ? 0 : durationText(time - filter.overuse_since),
    ]);
    redraw(gauges, [key, services?.lives, services?.entered, found], () =>
      filters.length === 0
        ? [el("p", {}, t("filters.none"))]
        : filters.map(([type, filter]) =>
            gauge(type, filter, {
              ...{ time, tz, chart: charts.of(type) },
              use: found.find((one) => one.filter === type),
              installed: services?.lives[type]?.last_active_filter,
              entered: services?.entered.filter((one) => one.filter === type).at(-1),
              onChanged: () => void entries.changed(type),
            }),
          ),
    );
    redraw(history, services, () => [historyTable(services ?? { done: [], entered: [] }, { tz, time })]);
    charts.draw(found, { booth, tz, now: time, start: startOf() });
    void refresh();
  };
  const close = () => {
    uses.drop();
    charts.close();
  };
  return { node, update, close };
}

/** Holds the charts of each filter, so that they survive a redrawing of the cards. */
function chartsByFilter() {
  /** @type {Map<string, ReturnType<typeof filterCharts>>} */
  const all = new Map();
  /** @param {string} type */
  const at = (type) => {
    const chart = all.get(type) ?? filterCharts();
    all.set(type, chart);
    return chart;
  };
  return {
    /** @param {string} type */
    of: (type) => at(type).node,
    /** @param {readonly FilterUse[]} uses @param {{ booth: string, tz: string, now: number, start: number }} around */
    draw(uses, around) {
      for (const use of uses) {
        const chart = at(use.filter);
        redraw(chart.node, use, () => chart.parts(use, { ...around, name: t(`filter.${use.filter}`) }));
      }
    },
    close() {
      for (const chart of all.values()) chart.close();
    },
  };
}

/** Lets a technician enter a filter change, and withdraw it. @param {Context} context @param {() => void} onEntry */
function changeEntries(context, onEntry) {
  const node = el("div", { role: "status", className: "wide" });
  /** @param {string} text @param {import("../kit/dom.js").Child} [more] */
  const tell = (text, more) => {
    const row = el("div", { className: "row" }, el("p", {}, text), more ?? "");
    node.replaceChildren(el("div", { className: "note good" }, row));
  };
  /** @param {string} path @param {object} body @param {() => void} done */
  const enter = async (path, body, done) => {
    try {
      await withSession(() => send(path, { booth: context.booth().booth, ...body }));
      done();
    } catch (error) {
      node.replaceChildren(el("div", { className: "note bad" }, errorText(error)));
    }
    onEntry();
  };
  /** @param {string} type */
  const changed = async (type) => {
    const filter = t(`filter.${type}`);
    const values = await askUser(t("filters.confirmTitle", { filter }), {
      text: t("filters.confirmText"),
      fields: [
        field(t("filters.by"), { name: "by", required: true, maxLength: 100, autocomplete: "name" }),
        field(t("filters.partNumber"), { name: "part_number", maxLength: 60 }),
        field(t("filters.note"), { name: "note", maxLength: 200 }),
      ],
      yes: t("filters.yes"),
      no: t("filters.no"),
    });
    if (values === null) return;
    const entry = { id: crypto.randomUUID(), by: values.by };
    const { part_number = "", note = "" } = values;
    const takeBack = () => enter("/filters/undo", entry, () => tell(t("filters.undone", { filter })));
    await enter("/filters/changed", { filter: type, ...entry, part_number, note }, () => {
      const { time, tz } = context.booth();
      const undo = pushButton(t("filters.undo"), () => void takeBack());
      tell(t("filters.done", { filter, at: whenText(time, tz, time) }), undo);
    });
  };
  return { node, changed };
}

/**
 * Shows hours, limit, percentage and forecast of a filter, in the same words as the commands `status` and `filters`.
 * @param {string} type @param {any} filter @param {{ time: number, tz: string, installed?: string, entered: Entered | undefined,
 *   use: FilterUse | undefined, chart: HTMLElement, onChanged: () => void }} around
 */
function gauge(type, { minutes, limit_minutes, percent, overuse_since, assumed }, around) {
  const { time, tz, installed, entered, use, chart, onChanged } = around;
  const name = t(`filter.${type}`);
  const level = overuse_since !== null ? "bad" : percent !== null && percent >= WARN_PERCENT ? "warn" : "good";
  const words = { bad: t("filters.over"), warn: t("filters.warning"), good: t("filters.ok") }[level];
  const used =
    minutes === null
      ? t("filters.unknownUse")
      : limit_minutes === null
        ? t("filters.usedOnly", { used: hoursText(minutes) })
        : t("filters.used", { used: hoursText(minutes), limit: hoursText(limit_minutes) });
  const ahead = overuse_since === null ? forecastText(use?.forecast ?? null, tz) : "";
  return card(
    name,
    { "data-filter": type },
    el(
      "div",
      { className: "row" },
      el("span", { className: "percent" }, percent === null ? "–" : `${number(percent)} %`),
      el("span", { className: `badge ${level}` }, words),
    ),
    el(
      "div",
      {
        className: `gauge ${level}`,
        role: "meter",
        "aria-label": `${name}: ${used}`,
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        "aria-valuenow": Math.min(100, Math.round(percent ?? 0)),
        "aria-valuetext": used,
      },
      el("i", { style: { width: `${Math.min(100, percent ?? 0).toString()}%` } }),
    ),
    el("p", {}, used),
    ahead !== "" && el("p", { className: "forecast" }, ahead),
    overuse_since !== null &&
      el(
        "div",
        { className: "note bad" },
        t("filters.overuse", { at: whenText(overuse_since, tz, time), time: durationText(time - overuse_since) }),
      ),
    installed !== undefined &&
      el(
        "p",
        { className: "soft small" },
        t(assumed ? "filters.assumed" : "filters.installed", { at: whenText(timeOf(installed), tz, time) }),
      ),
    installed !== undefined && isOf(entered, timeOf(installed)) && el("p", { className: "small" }, entryText(entered)),
    chart,
    el(
      "div",
      { className: "buttons no-print" },
      pushButton(t("filters.changed"), onChanged, { "aria-label": `${name}: ${t("filters.changed")}` }),
    ),
  );
}

/**
 * Returns whether an entry belongs to a filter's installation. The service's times are whole seconds, so less than 1 s counts as equal.
 * @param {Entered | undefined} entered @param {number} at @returns {entered is Entered}
 */
function isOf(entered, at) {
  return entered !== undefined && Math.abs(entered.installed_at - at) < 1_000;
}

/** Returns the data that a person entered about a filter change, as one line. @param {Entered} entered */
function entryText({ by, part_number, note }) {
  return [part_number && t("filters.part", { part: part_number }), note, by && t("filters.enteredBy", { by })]
    .filter((text) => text !== "")
    .join(" · ");
}

/** Draws a text, with a second text below it in small letters. @param {string} text @param {string} more */
function withMore(text, more) {
  return more === "" ? text : el("span", {}, text, el("br"), el("small", {}, more));
}

/**
 * Draws the table of the filter changes that have been made.
 * @param {{ done: any[], entered: Entered[] }} services @param {{ tz: string, time: number }} around
 */
function historyTable({ done, entered }, { tz, time }) {
  if (done.length === 0) return el("p", {}, t("filters.noHistory"));
  return table(
    t("filters.history"),
    [t("filters.when"), t("filters.what"), t("filters.hoursUsed"), t("filters.late")],
    done.map(({ maintenance_date, filter_type, booth_in_use_time, duration, overuse, assumed }) => {
      const at = timeOf(maintenance_date);
      const entry = entered.findLast((one) => one.filter === filter_type && isOf(one, at));
      return [
        whenText(at, tz, time),
        withMore(t(`filter.${filter_type}`), entry === undefined ? "" : entryText(entry)),
        withMore(
          hoursText(booth_in_use_time),
          t(assumed === true ? "filters.inDaysSeen" : "filters.inDays", { days: number(duration, 1) }),
        ),
        overuse === 0 ? t("filters.onTime") : t("filters.overused", { days: number(overuse, 1) }),
      ];
    }),
  );
}
