import { get } from "./api.js";
import { figureCards } from "./day-figures.js";
import { partChooser } from "./day-part.js";
import { el, redraw } from "./dom.js";
import { dayStart, dayText, timeOf } from "./format.js";
import { strip } from "./strip.js";
import { t } from "./texts.js";

const DAYS_OF_WEEK = 7;
const AGAIN_MS = 15_000;
/** As many as an answer holds at once. */
const PAGE = 1_000;

/** @typedef {import("./main.js").Context} Context */
/** @typedef {{ stages: import("./strip.js").Stage[], durations: any, starts: any, use: any, start: number, end: number }} Figures */

/** A day or a week: its modes as strips, and what they come to. @param {Context} context */
export function daysView(context) {
  const choice = { span: 1, back: 0 };
  const title = el("h2", { id: "span" });
  const strips = el("div", {});
  const figures = el("div", { className: "grid two wide" });
  /** @param {object} change */
  const choose = (change) => {
    Object.assign(choice, change);
    part.choose(null);
  };
  const buttons = spanButtons((change) => choose(change(choice)));
  const spanOf = () => {
    const { time, tz } = context.booth();
    const start = dayStart(time, tz, 1 - choice.span - choice.back * choice.span);
    return { start, end: dayStart(start + 12 * 3_600_000, tz, choice.span), tz, now: time };
  };
  const part = partChooser({ day: spanOf, onChange: () => void refresh() });
  const top = el(
    "section",
    { className: "card wide", "aria-labelledby": "span" },
    title,
    buttons.node,
    strips,
    part.node,
  );
  let asked = 0;
  let turn = 0;
  /** @type {Figures | null} */
  let shown = null;
  const draw = () => {
    const { start, end, tz, now } = spanOf();
    const name = choice.span === 1 ? dayText(start, tz) : `${dayText(start, tz)} – ${dayText(end - 1, tz)}`;
    redraw(title, name, () => [name]);
    buttons.update(choice);
    part.node.hidden = choice.span !== 1;
    if (shown === null) return;
    const { stages } = shown;
    const chosen = part.marked();
    /** @param {number} day */
    const onDay = (day) => choose({ span: 1, back: Math.round((dayStart(now, tz) - day) / 86_400_000) });
    redraw(strips, [stages, chosen, start, end, Math.floor(now / 60_000)], () =>
      choice.span === 1
        ? dayStrip(stages, { start, end, now, tz, chosen, onTap: part.tap })
        : weekStrips(stages, { start, now, tz, onDay }),
    );
    redraw(figures, [shown, tz], () => figureCards(/** @type {Figures} */ (shown), context));
  };
  const refresh = async () => {
    asked = performance.now();
    turn += 1;
    const mine = turn;
    const span = spanOf();
    draw();
    const found = await load(context.booth().booth, span, part.part() ?? span).catch(() => null);
    // Only the newest choice counts, whichever answer comes last.
    if (mine !== turn || found === null) return;
    shown = found;
    draw();
  };
  const update = () => {
    if (performance.now() - asked > AGAIN_MS || asked === 0) void refresh();
    else draw();
  };
  return { node: el("div", { className: "grid" }, top, figures), update, close: () => void (turn += 1) };
}

/** @param {(change: (choice: { span: number, back: number }) => object) => void} act */
function spanButtons(act) {
  const day = el("button", { type: "button", onclick: () => act(() => ({ span: 1, back: 0 })) }, t("days.day"));
  const week = el(
    "button",
    { type: "button", onclick: () => act(() => ({ span: DAYS_OF_WEEK, back: 0 })) },
    t("days.week"),
  );
  const before = el(
    "button",
    { type: "button", onclick: () => act(({ back }) => ({ back: back + 1 })) },
    `‹ ${t("days.before")}`,
  );
  const after = /** @type {HTMLButtonElement} */ (
    el(
      "button",
      { type: "button", onclick: () => act(({ back }) => ({ back: Math.max(0, back - 1) })) },
      `${t("days.after")} ›`,
    )
  );
  return {
    node: el("div", { className: "buttons span no-print" }, day, week, before, after),
    /** @param {{ span: number, back: number }} choice */
    update: ({ span, back }) => {
      day.setAttribute("aria-pressed", String(span === 1));
      week.setAttribute("aria-pressed", String(span !== 1));
      after.disabled = back === 0;
    },
  };
}

/** @param {string} booth @param {{ start: number, end: number }} span @param {{ start: number, end: number }} wanted @returns {Promise<Figures>} */
async function load(booth, span, wanted) {
  const path = `/api/booths/${encodeURIComponent(booth)}`;
  /** @param {{ start: number, end: number }} window */
  const query = ({ start, end }) =>
    `start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}&coverage=true`;
  const [stages, durations, starts, use] = await Promise.all([
    get(`${path}/recent_stages?${query(span)}&limit=${PAGE.toString()}`),
    get(`${path}/duration_by_mode?${query(wanted)}`),
    get(`${path}/frequency_by_mode?${query(wanted)}`),
    get(`${path}/utilization_stats?${query(wanted)}`),
  ]);
  return {
    ...wanted,
    durations,
    starts,
    use,
    stages: stages.data.map((/** @type {any} */ stage) => ({
      mode: stage.mode,
      start: timeOf(stage.start_time),
      end: timeOf(stage.end_time),
    })),
  };
}

/** @param {import("./strip.js").Stage[]} stages @param {{ start: number, end: number, now: number, tz: string, chosen: any, onTap: (at: number) => void }} day */
function dayStrip(stages, day) {
  return [
    strip({ ...day, stages, label: t("days.strip", { day: dayText(day.start, day.tz) }) }),
    el(
      "div",
      { className: "hours", "aria-hidden": "true" },
      ...["00", "04", "08", "12", "16", "20", "24"].map((hour) => el("span", {}, hour)),
    ),
  ];
}

/** @param {import("./strip.js").Stage[]} stages @param {{ start: number, now: number, tz: string, onDay: (start: number) => void }} week */
function weekStrips(stages, { start, now, tz, onDay }) {
  const rows = Array.from({ length: DAYS_OF_WEEK }, (_, index) => {
    const day = dayStart(start + 12 * 3_600_000, tz, index);
    const end = dayStart(day + 12 * 3_600_000, tz, 1);
    const name = dayText(day, tz);
    if (day > now)
      return [el("span", { className: "soft" }, name), el("span", { className: "soft small" }, t("days.later"))];
    return [
      el("button", { type: "button", onclick: () => onDay(day) }, name),
      strip({
        stages,
        start: day,
        end,
        now,
        tz,
        label: t("days.strip", { day: name }),
        slim: true,
        onTap: () => onDay(day),
      }),
    ];
  });
  return [el("div", { className: "week" }, ...rows.flat())];
}
