import { get, send } from "./api.js";
import { askUser, card, el, field, redraw, table } from "./dom.js";
import { hoursText, lasting, number, timeOf, whenText } from "./format.js";
import { withSession } from "./session.js";
import { t } from "./texts.js";

const AGAIN_MS = 30_000;
const WARN_PERCENT = 80;

/** @typedef {import("./main.js").Context} Context */

/** The booth's filters, their use, and the entry of a change. @param {Context} context */
export function filtersView(context) {
  let asked = -Infinity;
  const entries = changeEntries(context, () => (asked = -Infinity));
  const gauges = el("div", { className: "grid two" });
  const history = el("div", {});
  const node = el("div", { className: "grid" }, entries.node, gauges, card(t("filters.history"), {}, history));
  /** @type {any[] | null} */
  let services = null;
  const path = () => `/api/booths/${encodeURIComponent(context.booth().booth)}`;
  const refresh = async () => {
    if (performance.now() - asked < AGAIN_MS) return;
    asked = performance.now();
    const [done, lives] = await Promise.all([
      get(`${path()}/filter_maintenance_history?limit=100`),
      get(`${path()}/filter_maintenances`),
    ]).catch(() => [null, null]);
    if (done === null) return;
    services = done.data;
    installed = lives.data[0] ?? {};
    update();
  };
  /** @type {any} */
  let installed = {};
  const update = () => {
    const { now, time, tz } = context.booth();
    const filters = Object.entries(now?.filters ?? {});
    const key = filters.map(([type, { minutes, percent, ...filter }]) => [
      type,
      filter,
      Math.round(minutes ?? -1),
      Math.round(percent ?? -1),
      filter.overuse_since === null ? 0 : lasting(time - filter.overuse_since),
    ]);
    redraw(gauges, [key, installed], () =>
      filters.length === 0
        ? [el("p", {}, t("filters.none"))]
        : filters.map(([type, filter]) =>
            gauge(type, filter, {
              time,
              tz,
              installed: installed[type]?.last_active_filter,
              onChanged: () => void entries.changed(type),
            }),
          ),
    );
    redraw(history, services, () => [historyTable(services ?? [], { tz, time })]);
    void refresh();
  };
  return { node, update, close: () => undefined };
}

/** A technician's word that a filter was changed, and its withdrawal. @param {Context} context @param {() => void} onEntry */
function changeEntries(context, onEntry) {
  const node = el("div", { role: "status", className: "wide" });
  /** @param {string} text @param {import("./dom.js").Child} [more] */
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
      node.replaceChildren(
        el("div", { className: "note bad" }, error instanceof Error ? error.message : String(error)),
      );
    }
    onEntry();
  };
  /** @param {string} type */
  const changed = async (type) => {
    const filter = t(`filter.${type}`);
    const values = await askUser(t("filters.confirmTitle", { filter }), {
      text: t("filters.confirmText"),
      fields: [field(t("filters.by"), { name: "by", required: true, maxLength: 100, autocomplete: "name" })],
      yes: t("filters.yes"),
      no: t("filters.no"),
    });
    if (values === null) return;
    const entry = { id: crypto.randomUUID(), by: values.by };
    const takeBack = () => enter("/filters/undo", entry, () => tell(t("filters.undone", { filter })));
    await enter("/filters/changed", { filter: type, ...entry }, () => {
      const { time, tz } = context.booth();
      const undo = el("button", { type: "button", onclick: () => void takeBack() }, t("filters.undo"));
      tell(t("filters.done", { filter, at: whenText(time, tz, time) }), undo);
    });
  };
  return { node, changed };
}

/** @param {string} type @param {any} filter @param {{ time: number, tz: string, installed?: string, onChanged: () => void }} around */
function gauge(type, { minutes, limit_minutes, percent, overuse_since, assumed }, { time, tz, installed, onChanged }) {
  const name = t(`filter.${type}`);
  const look = overuse_since !== null ? "bad" : percent !== null && percent >= WARN_PERCENT ? "warn" : "good";
  const words = { bad: t("filters.over"), warn: t("filters.warning"), good: t("filters.ok") }[look];
  const used =
    minutes === null
      ? t("filters.unknownUse")
      : limit_minutes === null
        ? t("filters.usedOnly", { used: hoursText(minutes) })
        : t("filters.used", { used: hoursText(minutes), limit: hoursText(limit_minutes) });
  return card(
    name,
    { "data-filter": type },
    el(
      "div",
      { className: "row" },
      el("span", { className: "percent" }, percent === null ? "–" : `${number(percent)} %`),
      el("span", { className: `badge ${look}` }, words),
    ),
    el(
      "div",
      {
        className: `gauge ${look}`,
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
    overuse_since !== null &&
      el(
        "div",
        { className: "note bad" },
        t("filters.overuse", { at: whenText(overuse_since, tz, time), time: lasting(time - overuse_since) }),
      ),
    installed !== undefined &&
      el(
        "p",
        { className: "soft small" },
        t(assumed ? "filters.assumed" : "filters.installed", { at: whenText(timeOf(installed), tz, time) }),
      ),
    el(
      "div",
      { className: "buttons" },
      el(
        "button",
        { type: "button", onclick: onChanged, "aria-label": `${name}: ${t("filters.changed")}` },
        t("filters.changed"),
      ),
    ),
  );
}

/** @param {any[]} services @param {{ tz: string, time: number }} around */
function historyTable(services, { tz, time }) {
  if (services.length === 0) return el("p", {}, t("filters.noHistory"));
  return table(
    t("filters.history"),
    [t("filters.when"), t("filters.what"), t("filters.age"), t("filters.late")],
    services.map(({ maintenance_date, filter_type, duration, overuse }) => [
      whenText(timeOf(maintenance_date), tz, time),
      t(`filter.${filter_type}`),
      number(duration, 1),
      overuse === 0 ? t("filters.onTime") : number(overuse, 1),
    ]),
  );
}
