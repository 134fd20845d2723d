import { get } from "../kit/api.js";
import { csvTime } from "../charts/chart.js";
import { figureCards } from "./day-figures.js";
import { partChooser } from "./day-part.js";
import { dayTrends } from "./day-trends.js";
import { el, pushButton, redraw } from "../kit/dom.js";
import { dayStart, dayText } from "../kit/format.js";
import { periodCards } from "./period-bars.js";
import { endsOf, stagesFooter, stagesOf } from "../charts/stages.js";
import { hourAxis, legend, strip } from "../charts/strip.js";
import { t } from "../texts/texts.js";

const DAYS_OF_WEEK = 7;
const WEEKS_OF_QUARTER = 13;
const HALF_DAY_MS = 12 * 3_600_000;
const AGAIN_MS = 15_000;
/** Maximum number of entries in one answer of the box. */
const PAGE = 1_000;

/** @typedef {import("../main.js").Context} Context */
/** @typedef {"day" | "week" | "quarter"} SpanName */
/** @typedef {{ span: SpanName, back: number }} Choice */
/**
 * The figures of a span. `stages` and `cycles`: of a day. `stages` and `periods` (days): of a week. `periods` (weeks): of a quarter.
 * @typedef {{ stages: import("../charts/strip.js").Stage[], cycles: number[], periods: any[], durations: any, starts: any, use: any, start: number, end: number }} Figures
 */

/** Shows a day, a week or a quarter: its modes as strips or columns, and the totals. @param {Context} context */
export function daysView(context) {
  /** @type {Choice} */
  const choice = { span: "day", back: 0 };
  /** @param {Partial<Choice>} change */
  const choose = (change) => {
    Object.assign(choice, change);
    shown = null;
    part.choose(null);
  };
  const spanOf = () => {
    const { time, tz } = context.booth();
    return { ...windowOf(choice, time, tz), tz, now: time };
  };
  const part = partChooser({ day: spanOf, onChange: () => void refresh() });
  const span = spanCard(context, { choice, choose, part, spanOf });
  const figures = el("div", { className: "grid two wide" });
  const charts = el("div", { className: "grid two wide" });
  let asked = 0;
  let turn = 0;
  /** @type {Figures | null} */
  let shown = null;
  const draw = () => {
    span.update(shown);
    part.node.hidden = choice.span !== "day";
    if (shown === null) return;
    const { tz, booth } = context.booth();
    const { periods } = shown;
    redraw(charts, [choice, periods], () =>
      choice.span === "day" ? [] : periodCards(periods, { unit: choice.span === "week" ? "day" : "week", tz, booth }),
    );
    redraw(figures, [shown, tz], () => figureCards(/** @type {Figures} */ (shown), context));
  };
  const refresh = async () => {
    asked = performance.now();
    turn += 1;
    const mine = turn;
    const window = spanOf();
    draw();
    const found = await load(context.booth().booth, { ...window, ...choice }, part.part() ?? window).catch(() => null);
    // Ignores the answer if another span was chosen in the meantime.
    if (mine !== turn || found === null) return;
    shown = found;
    draw();
  };
  const update = () => {
    if (performance.now() - asked > AGAIN_MS || asked === 0) void refresh();
    else draw();
  };
  const close = () => {
    turn += 1;
    span.close();
  };
  const print = pushButton(t("days.print"), () => window.print());
  const report = el("div", { className: "buttons wide no-print" }, print);
  const node = el("div", { className: "grid report" }, span.node, part.node, charts, figures, report);
  return { node, update, close };
}

/**
 * Draws the span's name, the buttons to other spans, and the strips. Below a day's strip it draws the charts of measured values.
 * @param {Context} context @param {{ choice: Choice, choose: (change: Partial<Choice>) => void, part: ReturnType<typeof partChooser>,
 *   spanOf: () => { start: number, end: number, tz: string, now: number } }} by
 */
function spanCard(context, { choice, choose, part, spanOf }) {
  const title = el("h2", { id: "span" });
  const strips = el("div", {});
  const line = el("i", { className: "cursor", hidden: true });
  const buttons = spanButtons((change) => choose(change(choice)));
  const trends = dayTrends(context, (at) => {
    const { start, end } = spanOf();
    line.hidden = at === null;
    if (at !== null) line.style.setProperty("left", `${(((at - start) / (end - start)) * 100).toFixed(3)}%`);
  });
  const parts = [title, buttons.node, strips, trends.node];
  const node = el("section", { className: "card wide", "aria-labelledby": "span" }, ...parts);
  /** @param {Figures | null} shown */
  const update = (shown) => {
    const { start, end, tz, now } = spanOf();
    const name = choice.span === "day" ? dayText(start, tz) : `${dayText(start, tz)} – ${dayText(end - 1, tz)}`;
    redraw(title, name, () => [name]);
    buttons.update(choice);
    trends.node.hidden = choice.span !== "day";
    if (shown === null) return;
    const { stages, cycles } = shown;
    const chosen = part.marked();
    /** @param {number} day */
    const onDay = (day) => choose({ span: "day", back: Math.round((dayStart(now, tz) - day) / 86_400_000) });
    redraw(strips, [choice, stages, cycles, chosen, start, end, Math.floor(now / 60_000)], () => {
      if (choice.span === "quarter") return [];
      if (choice.span === "week") return weekStrips(stages, { start, end, now, tz, onDay });
      const day = { start, end, now, tz, cycles, chosen, booth: context.booth().booth, line };
      return dayStrip(stages, day, { onTap: part.tap, onPoint: trends.point });
    });
    if (choice.span === "day") trends.update({ start, end, now, tz, stages });
  };
  return { node, update, close: trends.close };
}

/**
 * Returns the window of a span. Days and weeks end with today; a quarter has whole weeks from Monday on, the present week included.
 * @param {Choice} choice @param {number} now @param {string} tz
 */
function windowOf({ span, back }, now, tz) {
  const days = { day: 1, week: DAYS_OF_WEEK, quarter: DAYS_OF_WEEK * WEEKS_OF_QUARTER }[span];
  const until = span === "quarter" ? DAYS_OF_WEEK - sinceMonday(now, tz) : 1;
  const start = dayStart(now, tz, until - days - back * days);
  return { start, end: dayStart(start + HALF_DAY_MS, tz, days) };
}

/** Returns the number of days since Monday: 0 on a Monday, 6 on a Sunday. @param {number} at @param {string} tz */
function sinceMonday(at, tz) {
  const day = new Intl.DateTimeFormat("en-GB", { timeZone: tz, weekday: "short" }).format(at);
  return ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].indexOf(day);
}

/**
 * Draws the buttons that choose the length of the span, and the span before or after.
 * @param {(change: (choice: Choice) => Partial<Choice>) => void} onChoose
 */
function spanButtons(onChoose) {
  const spans = /** @type {const} */ (["day", "week", "quarter"]).map((span) => ({
    span,
    button: pushButton(t(`days.${span}`), () => onChoose(() => ({ span, back: 0 }))),
  }));
  const before = pushButton(`‹ ${t("days.before")}`, () => onChoose(({ back }) => ({ back: back + 1 })));
  const after = /** @type {HTMLButtonElement} */ (
    pushButton(`${t("days.after")} ›`, () => onChoose(({ back }) => ({ back: Math.max(0, back - 1) })))
  );
  return {
    node: el(
      "div",
      { className: "buttons span no-print" },
      el("div", { className: "three" }, ...spans.map(({ button }) => button)),
      el("div", { className: "pair" }, before, after),
    ),
    /** @param {Choice} choice */
    update: ({ span: chosen, back }) => {
      for (const { span, button } of spans) button.setAttribute("aria-pressed", String(span === chosen));
      after.disabled = back === 0;
    },
  };
}

/**
 * Loads the figures of a span.
 * @param {string} booth @param {Choice & { start: number, end: number }} span @param {{ start: number, end: number }} wanted @returns {Promise<Figures>}
 */
async function load(booth, span, wanted) {
  const path = `/api/booths/${encodeURIComponent(booth)}`;
  /** @param {{ start: number, end: number }} window */
  const query = ({ start, end }) =>
    `start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}&coverage=true`;
  const none = { data: [] };
  const [stages, cycles, periods, durations, starts, use] = await Promise.all([
    span.span === "quarter" ? none : get(`${path}/recent_stages?${query(span)}&limit=${PAGE.toString()}`),
    span.span === "day" ? get(`${path}/cycles?${query(span)}&limit=${PAGE.toString()}`) : none,
    span.span === "day"
      ? none
      : get(`${path}/use_periods?${query(span)}&unit=${span.span === "week" ? "day" : "week"}`),
    get(`${path}/duration_by_mode?${query(wanted)}`),
    get(`${path}/frequency_by_mode?${query(wanted)}`),
    get(`${path}/utilization_stats?${query(wanted)}`),
  ]);
  return {
    ...{ start: wanted.start, end: wanted.end, durations, starts, use },
    periods: periods.data,
    cycles: endsOf(cycles.data),
    stages: stagesOf(stages.data),
  };
}

/**
 * @param {import("../charts/strip.js").Stage[]} stages
 * @param {{ start: number, end: number, now: number, tz: string, cycles: number[], chosen: any, booth: string, line: HTMLElement }} day
 * @param {{ onTap: (at: number) => void, onPoint: (at: number | null) => void }} act
 */
function dayStrip(stages, day, { onTap, onPoint }) {
  const name = dayText(day.start, day.tz);
  const drawn = strip({ ...day, stages, label: t("days.strip", { day: name }), onTap });
  /** @param {MouseEvent} event */
  const point = ({ clientX }) => {
    const { left, width } = drawn.getBoundingClientRect();
    onPoint(day.start + ((clientX - left) / width) * (day.end - day.start));
  };
  drawn.addEventListener("pointermove", point);
  drawn.addEventListener("pointerleave", () => onPoint(null));
  drawn.append(day.line);
  return [
    el("div", { className: "timed" }, drawn, hourAxis(day)),
    legend(stages, day, day.cycles.length > 0),
    stagesFooter(stages, {
      name: `${day.booth}-${csvTime(day.start).slice(0, 10)}-stages`,
      title: t("days.strip", { day: name }),
      tz: day.tz,
    }),
  ];
}

/**
 * Draws a strip of modes for each day of a week. A tap on a day opens this day.
 * @param {import("../charts/strip.js").Stage[]} stages @param {{ start: number, end: number, now: number, tz: string, onDay: (start: number) => void }} week
 */
function weekStrips(stages, { start, end: until, now, tz, onDay }) {
  const rows = Array.from({ length: DAYS_OF_WEEK }, (_, index) => {
    const day = dayStart(start + HALF_DAY_MS, tz, index);
    const end = dayStart(day + HALF_DAY_MS, tz, 1);
    const name = dayText(day, tz);
    if (day > now)
      return [el("span", { className: "soft" }, name), el("span", { className: "soft small" }, t("days.later"))];
    const label = t("days.strip", { day: name });
    return [
      pushButton(name, () => onDay(day)),
      strip({ stages, start: day, end, now, tz, label, slim: true, onTap: () => onDay(day) }),
    ];
  });
  const last = { start: dayStart(start + HALF_DAY_MS, tz, 6), end: until, tz };
  return [
    el("div", { className: "week" }, ...rows.flat(), el("span", {}), hourAxis({ ...last, every: 6 })),
    legend(stages, { start, end: until }),
  ];
}
