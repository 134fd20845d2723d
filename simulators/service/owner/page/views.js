import { card, el, svg } from "./dom.js";
import { STRIP_DAYS } from "./fleet.js";
import { clockText, dayText, lasting, localDay, modeOf, momentText, numberText, zoneText } from "./format.js";
import { legend, strip } from "./strip.js";
import { counted, locale, t } from "./texts.js";

/** @typedef {import("./fleet.js").Fleet} Fleet */
/** @typedef {import("./fleet.js").Shop} Shop */
/** @typedef {import("./fleet.js").Booth} Booth */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Share of a filter's life from which a change is due soon. */
const NEARLY = 0.9;

/** @param {Fleet} fleet @returns {(Node | string)[]} */
export function sections(fleet) {
  const modes = new Set(
    fleet.shops.flatMap(({ booths }) => booths.flatMap(({ stages }) => stages.map(({ mode }) => mode))),
  );
  const all = [
    summary(fleet),
    el("div", { className: "pair" }, filtersCard(fleet), alertsCard(fleet)),
    fleet.found === 0 && el("p", { className: "note" }, t("noneFound")),
    ...fleet.shops.map((shop) => shopCard(shop, fleet.at)),
    legend(modes),
    useCard(fleet),
  ];
  return all.filter((one) => one !== false);
}

/** @param {Fleet} fleet */
function allBooths({ shops }) {
  return shops.flatMap(({ booths }) => booths);
}

/** @param {Fleet} fleet */
function overdueOf(fleet) {
  return allBooths(fleet).flatMap((booth) =>
    booth.filters.filter(({ over_days }) => over_days > 0).map((filter) => ({ booth, filter })),
  );
}

/** @param {Fleet} fleet */
function summary(fleet) {
  const count = (/** @type {string} */ status) => fleet.connectivity.filter((one) => one === status).length;
  const open = fleet.alerts.filter(({ end }) => end === null).length;
  const [offline, overdue] = [count("Offline"), overdueOf(fleet).length];
  const booths = fleet.connectivity.length;
  const isAll = fleet.found === booths && fleet.pages === 1;
  return el(
    "ul",
    { className: "summary", "aria-label": t("inShort") },
    fact(booths, counted(booths, "booths", { shops: counted(fleet.shop_count, "shops") })),
    fact(count("Active"), t("working")),
    fact(offline, t("notReachable"), offline > 0 ? "bad" : "good"),
    fact(overdue, counted(overdue, isAll ? "overdue" : "overdueShown"), overdue > 0 ? "bad" : "good"),
    fact(open, counted(open, "alertsOpen"), open > 0 ? "warn" : "good"),
  );
}

/** @param {number} value @param {string} text @param {string} [look] */
function fact(value, text, look = "") {
  return el("li", { className: look }, el("strong", {}, numberText(value)), ` ${text}`);
}

/** @param {Shop} shop @param {number} at */
function shopCard({ name, tz, booths }, at) {
  const title = el("h2", {}, name, " ", el("small", {}, t("shopTime", { zone: zoneText(tz), at: clockText(at, tz) })));
  const rows = booths.map((booth) => boothRow(booth, at));
  return el(
    "section",
    { className: "card", "aria-label": name },
    title,
    ...(rows.length > 0 ? rows : [el("p", {}, t("noBooth"))]),
  );
}

/** @param {Booth} booth @param {number} at */
function boothRow(booth, at) {
  const { name, serial, stages, day, tz, cycles, minutes, gas, kwh, share } = booth;
  return el(
    "article",
    { className: "booth", "aria-label": name },
    el(
      "div",
      { className: "who" },
      el("h3", {}, name),
      // A booth without a name is shown by its number already.
      !name.includes(serial) && el("p", { className: "soft" }, serial),
      nowChip(booth),
    ),
    el("div", {}, strip({ stages, ...day, now: at, tz, label: t("strip", { name }) }), daysBefore(booth, at)),
    el(
      "dl",
      { className: "figures", "aria-label": t("today") },
      ...figure(t("inUse"), lasting(minutes * 60_000)),
      ...figure(t("cycles"), numberText(cycles)),
      ...figure(t("gas"), `${numberText(gas, 1)} therm`),
      ...figure(t("power"), `${numberText(kwh, 1)} kWh`),
      ...figure(t("utilization"), share === null ? t("noHours") : `${numberText(share)} %`),
    ),
  );
}

/** The days before today as strips under each other. @param {Booth} booth @param {number} at */
function daysBefore({ id, name, stages, day, tz }, at) {
  const days = Array.from({ length: STRIP_DAYS - 1 }, (_, back) =>
    localDay(day.start - back * DAY_MS - DAY_MS / 2, tz),
  );
  const strips = days.map((one) => {
    const label = dayText(one.start, tz);
    return el(
      "div",
      { className: "past" },
      el("p", {}, label),
      strip({ stages, ...one, now: at, tz, label: `${name}, ${label}` }),
    );
  });
  return el("details", { "data-key": id }, el("summary", {}, t("daysBefore", { count: days.length })), ...strips);
}

/** @param {Booth} booth */
function nowChip({ connectivity, stages, heard, tz }) {
  if (heard === null) return el("p", { className: "chip warn" }, t("neverHeard"));
  if (connectivity === "Offline") {
    return el("p", { className: "chip bad" }, t("lastHeard", { at: momentText(heard, tz) }));
  }
  const last = stages.at(-1);
  if (last === undefined) return el("p", { className: "chip" }, connectivity);
  const { key, label } = modeOf(last.mode);
  return el(
    "p",
    { className: "chip" },
    el("span", { className: `swatch ${key}`, "aria-hidden": "true" }),
    t("since", { mode: label, at: clockText(last.start, tz) }),
  );
}

/** @param {string} name @param {string} value */
function figure(name, value) {
  return [el("div", {}, el("dt", {}, name), el("dd", {}, value))];
}

/** @param {Fleet} fleet */
function filtersCard(fleet) {
  const overdue = overdueOf(fleet).map(({ booth, filter }) =>
    el(
      "li",
      { className: "bad" },
      el("strong", {}, `${t(filter.type)}, ${booth.name}`),
      ` ${t("filterOverdue", { time: lasting(filter.over_days * DAY_MS), at: momentText(filter.since, booth.tz) })}`,
    ),
  );
  const soon = allBooths(fleet).flatMap((booth) =>
    booth.filters
      .filter(({ days, life_days, over_days }) => over_days === 0 && life_days !== null && days >= NEARLY * life_days)
      .map((filter) => {
        const left = lasting(((filter.life_days ?? 0) - filter.days) * DAY_MS);
        return el(
          "li",
          { className: "warn" },
          el("strong", {}, `${t(filter.type)}, ${booth.name}`),
          ` ${t("filterSoon", { time: left })}`,
        );
      }),
  );
  const items = [...overdue, ...soon];
  return card(t("filters"), items.length > 0 ? el("ul", { className: "list" }, ...items) : el("p", {}, t("noFilters")));
}

/** @param {Fleet} fleet */
function alertsCard({ alerts }) {
  const items = alerts.map(({ name, booth, tz, start, end }) =>
    el(
      "li",
      { className: end === null ? "bad" : "" },
      el("strong", {}, name),
      ` ${booth}: ${momentText(start, tz)}, ${end === null ? t("stillOn") : t("lasted", { time: lasting(end - start) })}`,
    ),
  );
  return card(t("alerts"), items.length > 0 ? el("ul", { className: "list" }, ...items) : el("p", {}, t("none")));
}

const CHART = { width: 720, height: 160, base: 140 };

/** Hours in use of all booths by day. @param {Fleet} fleet */
function useCard({ days }) {
  if (days.length === 0) return card(t("useShort"), el("p", {}, t("nothing")));
  const most = Math.max(60, ...days.map(({ minutes }) => minutes));
  const step = CHART.width / days.length;
  const bars = days.map(({ day, minutes, cycles }, nth) => {
    const height = (minutes / most) * (CHART.base - 10);
    const place = { x: nth * step + step * 0.12, y: CHART.base - height, width: step * 0.76, height };
    return svg(
      "rect",
      { class: "bar", ...place },
      svg("title", {}, t("bar", { day, time: lasting(minutes * 60_000), cycles: numberText(cycles) })),
    );
  });
  const sum = (/** @type {"minutes" | "cycles" | "gas" | "kwh"} */ what) =>
    days.reduce((all, day) => all + day[what], 0);
  const told = t("useTold", {
    ...{ hours: numberText((sum("minutes") * 60_000) / HOUR_MS), cycles: numberText(sum("cycles")) },
    ...{ gas: numberText(sum("gas")), kwh: numberText(sum("kwh")) },
  });
  return card(
    counted(days.length, "use"),
    el("p", {}, told),
    svg(
      "svg",
      {
        class: "chart",
        viewBox: `0 0 ${CHART.width.toString()} ${CHART.height.toString()}`,
        role: "img",
        "aria-label": t("useLabel", { told }),
      },
      svg("line", { class: "axis-line", x1: 0, y1: CHART.base, x2: CHART.width, y2: CHART.base }),
      ...bars,
    ),
    el(
      "p",
      { className: "chart-axis soft", "aria-hidden": "true" },
      el("span", {}, shortDay(days[0]?.day)),
      el("span", {}, t("atMost", { time: lasting(most * 60_000) })),
      el("span", {}, shortDay(days.at(-1)?.day)),
    ),
    table(days),
  );
}

/** "2026-11-24" as "24 Nov". @param {string | undefined} day */
function shortDay(day) {
  if (day === undefined) return "";
  return new Intl.DateTimeFormat(locale, { timeZone: "UTC", day: "numeric", month: "short" }).format(
    Date.parse(`${day}T12:00Z`),
  );
}

/** @param {Fleet["days"]} days */
function table(days) {
  const head = [t("day"), t("hours"), t("cycles"), t("gasTherm"), t("powerKwh")].map((text) =>
    el("th", { scope: "col" }, text),
  );
  const rows = days
    .toReversed()
    .map(({ day, minutes, cycles, gas, kwh }) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, day),
        ...[
          numberText((minutes * 60_000) / HOUR_MS, 1),
          numberText(cycles),
          numberText(gas, 1),
          numberText(kwh, 1),
        ].map((text) => el("td", {}, text)),
      ),
    );
  return el(
    "details",
    {},
    el("summary", {}, t("asTable")),
    el(
      "div",
      { className: "scroll", tabIndex: 0, role: "group", "aria-label": t("useShort") },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
    ),
  );
}
