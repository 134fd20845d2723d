import { card, el, svg } from "./dom.js";
import { STRIP_DAYS } from "./fleet.js";
import { clockText, dayText, lasting, localDay, modeOf, momentText, numberText, zoneText } from "./format.js";
import { legend, strip } from "./strip.js";

/** @typedef {import("./fleet.js").Fleet} Fleet */
/** @typedef {import("./fleet.js").Shop} Shop */
/** @typedef {import("./fleet.js").Booth} Booth */

const FILTERS = /** @type {Record<string, string>} */ ({
  exhaust_filter: "Exhaust filter",
  intake_filter: "Intake filter",
  pre_filter: "Pre filter",
});
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Of its life at this pace: soon to be changed. */
const NEARLY = 0.9;

/** @param {Fleet} fleet */
export function sections(fleet) {
  const modes = new Set(
    fleet.shops.flatMap(({ booths }) => booths.flatMap(({ stages }) => stages.map(({ mode }) => mode))),
  );
  return [
    summary(fleet),
    el("div", { className: "pair" }, filtersCard(fleet), alertsCard(fleet)),
    ...fleet.shops.map((shop) => shopCard(shop, fleet.at)),
    legend(modes),
    useCard(fleet),
  ];
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
  const booths = allBooths(fleet);
  const count = (/** @type {string} */ status) => booths.filter(({ connectivity }) => connectivity === status).length;
  const open = fleet.alerts.filter(({ end }) => end === null).length;
  const [offline, overdue] = [count("Offline"), overdueOf(fleet).length];
  const shops = fleet.shops.length;
  return el(
    "ul",
    { className: "summary", "aria-label": "In short" },
    fact(booths.length, `${plural(booths.length, "booth")} in ${shops.toString()} ${plural(shops, "shop")}`),
    fact(count("Active"), "working now"),
    fact(offline, "not reachable", offline > 0 ? "bad" : "good"),
    fact(overdue, `${plural(overdue, "filter")} overdue`, overdue > 0 ? "bad" : "good"),
    fact(open, `${plural(open, "alert")} open`, open > 0 ? "warn" : "good"),
  );
}

/** @param {number} count @param {string} word */
function plural(count, word) {
  return count === 1 ? word : `${word}s`;
}

/** @param {number} value @param {string} text @param {string} [look] */
function fact(value, text, look = "") {
  return el("li", { className: look }, el("strong", {}, numberText(value)), ` ${text}`);
}

/** @param {Shop} shop @param {number} at */
function shopCard({ name, tz, booths }, at) {
  const title = el("h2", {}, name, " ", el("small", {}, `${zoneText(tz)} time, ${clockText(at, tz)}`));
  const rows = booths.map((booth) => boothRow(booth, at));
  return el(
    "section",
    { className: "card", "aria-label": name },
    title,
    ...(rows.length > 0 ? rows : [el("p", {}, "No booth yet.")]),
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
      // A booth that nobody named is called by its number already.
      !name.includes(serial) && el("p", { className: "soft" }, serial),
      nowChip(booth),
    ),
    el("div", {}, strip({ stages, ...day, now: at, tz, label: `${name} today` }), daysBefore(booth, at)),
    el(
      "dl",
      { className: "figures", "aria-label": "Today" },
      ...figure("In use today", lasting(minutes * 60_000)),
      ...figure("Cycles", numberText(cycles)),
      ...figure("Gas", `${numberText(gas, 1)} therm`),
      ...figure("Power", `${numberText(kwh, 1)} kWh`),
      ...figure("Utilization, 30 days", share === null ? "no working hours" : `${numberText(share)} %`),
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
  return el("details", { "data-key": id }, el("summary", {}, `The ${days.length.toString()} days before`), ...strips);
}

/** @param {Booth} booth */
function nowChip({ connectivity, stages, heard, tz }) {
  if (heard === null) return el("p", { className: "chip warn" }, "Never heard of: no gateway is bound");
  if (connectivity === "Offline") {
    return el("p", { className: "chip bad" }, `Not reachable; last heard of ${momentText(heard, tz)}`);
  }
  const last = stages.at(-1);
  if (last === undefined) return el("p", { className: "chip" }, connectivity);
  const { key, label } = modeOf(last.mode);
  return el(
    "p",
    { className: "chip" },
    el("span", { className: `swatch ${key}`, "aria-hidden": "true" }),
    `${label} since ${clockText(last.start, tz)}`,
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
      el("strong", {}, `${FILTERS[filter.type] ?? filter.type}, ${booth.name}`),
      ` overdue: ${lasting(filter.over_days * DAY_MS)} past its limit; fitted ${momentText(filter.since, booth.tz)}`,
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
          el("strong", {}, `${FILTERS[filter.type] ?? filter.type}, ${booth.name}`),
          ` full in ${left} at this pace`,
        );
      }),
  );
  const items = [...overdue, ...soon];
  return card(
    "Filters to change",
    items.length > 0 ? el("ul", { className: "list" }, ...items) : el("p", {}, "None is overdue or nearly full."),
  );
}

/** @param {Fleet} fleet */
function alertsCard({ alerts }) {
  const items = alerts.map(({ name, booth, tz, start, end }) =>
    el(
      "li",
      { className: end === null ? "bad" : "" },
      el("strong", {}, name),
      ` ${booth}: ${momentText(start, tz)}, ${end === null ? "still on" : `for ${lasting(end - start)}`}`,
    ),
  );
  return card("Alerts", items.length > 0 ? el("ul", { className: "list" }, ...items) : el("p", {}, "None."));
}

const CHART = { width: 720, height: 160, base: 140 };

/** Hours in use of all booths by day. @param {Fleet} fleet */
function useCard({ days }) {
  if (days.length === 0) return card("Use by day", el("p", {}, "Nothing yet."));
  const most = Math.max(60, ...days.map(({ minutes }) => minutes));
  const step = CHART.width / days.length;
  const bars = days.map(({ day, minutes, cycles }, nth) => {
    const height = (minutes / most) * (CHART.base - 10);
    const place = { x: nth * step + step * 0.12, y: CHART.base - height, width: step * 0.76, height };
    return svg(
      "rect",
      { class: "bar", ...place },
      svg("title", {}, `${day}: ${lasting(minutes * 60_000)}, ${numberText(cycles)} cycles`),
    );
  });
  const sum = (/** @type {"minutes" | "cycles" | "gas" | "kwh"} */ what) =>
    days.reduce((all, day) => all + day[what], 0);
  const told = `${numberText((sum("minutes") * 60_000) / HOUR_MS)} h in use, ${numberText(sum("cycles"))} cycles, ${numberText(sum("gas"))} therm of gas, ${numberText(sum("kwh"))} kWh`;
  return card(
    `Use by day, ${days.length.toString()} ${plural(days.length, "day")}`,
    el("p", {}, told),
    svg(
      "svg",
      {
        class: "chart",
        viewBox: `0 0 ${CHART.width.toString()} ${CHART.height.toString()}`,
        role: "img",
        "aria-label": `Hours in use by day. ${told}`,
      },
      svg("line", { class: "axis-line", x1: 0, y1: CHART.base, x2: CHART.width, y2: CHART.base }),
      ...bars,
    ),
    el(
      "p",
      { className: "chart-axis soft", "aria-hidden": "true" },
      el("span", {}, shortDay(days[0]?.day)),
      el("span", {}, `at most ${lasting(most * 60_000)}`),
      el("span", {}, shortDay(days.at(-1)?.day)),
    ),
    table(days),
  );
}

/** "2026-11-24" as "24 Nov". @param {string | undefined} day */
function shortDay(day) {
  return day === undefined
    ? ""
    : (dayText(Date.parse(`${day}T12:00Z`), "UTC")
        .split(", ")
        .at(-1) ?? day);
}

/** @param {Fleet["days"]} days */
function table(days) {
  const head = ["Day", "In use, h", "Cycles", "Gas, therm", "Power, kWh"].map((text) =>
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
    el("summary", {}, "As a table"),
    el(
      "div",
      { className: "scroll", tabIndex: 0, role: "group", "aria-label": "Use by day" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
    ),
  );
}
