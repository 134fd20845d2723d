import { bars, modeLegend } from "../charts/bars.js";
import { chartFooter, csvTime } from "../charts/chart.js";
import { card } from "../kit/dom.js";
import { dayText, measured, minutesText, modeOf, number, shownUnit, wireText } from "../kit/format.js";
import { t } from "../texts/texts.js";
import { inUnits } from "../kit/units.js";

const HOUR_MIN = 60;

/** @typedef {{ start: number, end: number, modes: { mode: string, duration: number }[], utilization_minutes: number, working_minutes: number,
 *   utilization_pct: number | null, cycle_count: number, gas_usage: number | null, kwh_usage: number | null, approximate?: true }} Period */
/** @typedef {{ unit: "day" | "week", tz: string, booth: string }} Around */

/** Figures with a chart each: text key, field, decimals and unit. */
const FIGURES = /** @type {const} */ ([
  ["days.cycles", "cycle_count", 0, ""],
  ["days.utilization", "utilization_pct", 0, "%"],
  ["days.gas", "gas_usage", 1, "therm"],
  ["days.power", "kwh_usage", 0, "kWh"],
]);

/**
 * Draws the modes by day or by week as stacked columns, and each figure as simple columns.
 * @param {readonly Period[]} periods @param {Around} around
 */
export function periodCards(periods, around) {
  return [modesCard(periods, around), ...FIGURES.map((figure) => figureCard(periods, figure, around))];
}

/** Draws the card with the time in each mode, one column per period. @param {readonly Period[]} periods @param {Around} around */
function modesCard(periods, around) {
  const modes = [...new Set(periods.flatMap((period) => ordered(period.modes).map(({ mode }) => mode)))];
  const drawn = modes.filter((mode) => isDrawn(mode));
  const title = t(`chart.modesBy.${around.unit}`);
  const most = Math.max(...periods.map((period) => sumOf(period.modes.filter(({ mode }) => isDrawn(mode)))), 1);
  const isUnseen = periods.some(unseen);
  return card(
    title,
    { class: "wide" },
    bars({
      label: title,
      max: most,
      tall: true,
      axis: t("chart.inUseOnTop"),
      bars: periods.map((period) => ({
        ...columnOf(period, around),
        top: unseen(period) ? "" : hours(period.utilization_minutes),
        parts: ordered(period.modes)
          .filter(({ mode }) => isDrawn(mode))
          .map(({ mode, duration }) => ({
            value: duration,
            mode: modeOf(mode),
            title: `${nameOf(period, around)}: ${wireText(mode)} ${minutesText(duration)}`,
          })),
      })),
    }),
    modeLegend(
      [...drawn, ...(isUnseen ? ["No Data"] : [])].map((mode) => ({ mode: modeOf(mode), text: wireText(mode) })),
    ),
    chartFooter({
      name: `${fileName(periods, around)}-modes`,
      title,
      shown: () => ({
        heads: [t(`chart.${around.unit}`), ...modes.map(wireText)],
        rows: periods.map((period) => [
          nameOf(period, around),
          ...modes.map((mode) => minutesText(minutesIn(period, mode))),
        ]),
      }),
      csv: () => ({
        heads: ["start", "end", ...modes.map((mode) => `${mode} (min)`)],
        rows: periods.map((period) => [
          ...[csvTime(period.start), csvTime(period.end)],
          ...modes.map((mode) => minutesIn(period, mode)),
        ]),
      }),
    }),
  );
}

/**
 * Returns whether a mode is part of the columns. A booth is off for most of a week, so time off would dwarf everything else.
 * @param {string} mode
 */
function isDrawn(mode) {
  return !["off", "no_data"].includes(modeOf(mode));
}

/** Adds up the minutes in all modes. @param {Period["modes"]} modes */
function sumOf(modes) {
  return modes.reduce((sum, { duration }) => sum + duration, 0);
}

/** Returns whether the mode is unknown for more than half of a period. @param {Period} period */
function unseen({ modes }) {
  return sumOf(modes.filter(({ mode }) => modeOf(mode) === "no_data")) > sumOf(modes) / 2;
}

/** Formats minutes as hours, with a decimal below 10 hours. @param {number} minutes */
function hours(minutes) {
  const all = minutes / HOUR_MIN;
  return number(all, all > 0 && all < 10 ? 1 : 0);
}

/** Returns the name, label and look of a period's column. @param {Period} period @param {Around} around */
function columnOf(period, around) {
  return { name: nameOf(period, around), foot: footOf(period, around), unseen: unseen(period) };
}

/** Returns the minutes in a mode. @param {Period} period @param {string} mode */
function minutesIn({ modes }, mode) {
  return modes.find((one) => one.mode === mode)?.duration ?? 0;
}

/** Order of the modes in a column: productive time at the bottom, where columns are easy to compare, and unused time on top. */
const ORDER = "spray flash purge bake prep cool_down maintenance fault estop unknown setback idle off no_data".split(
  " ",
);

/** Sorts modes in the order in which columns show them. @param {Period["modes"]} modes */
function ordered(modes) {
  return modes.toSorted((a, b) => ORDER.indexOf(modeOf(a.mode)) - ORDER.indexOf(modeOf(b.mode)));
}

/**
 * Fields of figures that may be approximate: if a period starts or ends within an hour, that hour's figure is divided in proportion to
 * time.
 */
const APPROXIMATE = new Set(["cycle_count", "gas_usage", "kwh_usage"]);

/**
 * Draws the card of a figure, one column per period.
 * @param {readonly Period[]} periods @param {typeof FIGURES[number]} figure @param {Around} around
 */
function figureCard(periods, [text, field, digits, unit], around) {
  const title = unit === "" ? t(text) : `${t(text)}, ${shownUnit(unit)}`;
  /** Formats a figure without decimals from 100 on, because the space above a column is small. @param {number | null} value */
  const numberText = (value) =>
    value === null ? "–" : measured(value, unit, value > 0 && inUnits(value, unit).value < 100 ? digits : 0).number;
  /** Marks an approximate figure: the period cuts an hour whose readings were deleted from the log. @param {Period} period */
  const about = ({ approximate }) => (approximate === true && APPROXIMATE.has(field) ? "≈ " : "");
  return card(
    title,
    { "data-figure": field },
    bars({
      label: title,
      max: field === "utilization_pct" ? 100 : Math.max(...periods.map((period) => period[field] ?? 0), 0),
      bars: periods.map((period) => ({
        ...columnOf(period, around),
        top: unseen(period) ? "" : about(period) + numberText(period[field]),
        parts: [
          {
            value: period[field] ?? 0,
            title: `${nameOf(period, around)}: ${about(period)}${numberText(period[field])} ${shownUnit(unit)}`.trim(),
          },
        ],
      })),
    }),
    chartFooter({
      name: `${fileName(periods, around)}-${field}`,
      title,
      shown: () => ({
        heads: [t(`chart.${around.unit}`), title],
        rows: periods.map((period) => [nameOf(period, around), about(period) + numberText(period[field])]),
      }),
      csv: () => ({
        heads: ["start", "end", field],
        rows: periods.map((period) => [csvTime(period.start), csvTime(period.end), period[field]]),
      }),
    }),
  );
}

/** Returns the name of the CSV file of these periods. @param {readonly Period[]} periods @param {Around} around */
function fileName(periods, { unit, booth }) {
  return `${booth}-${csvTime(periods[0]?.start ?? 0).slice(0, 10)}-by-${unit}`;
}

/** Returns the name of a period: its day, or its first and last day. @param {Period} period @param {Around} around */
function nameOf({ start, end }, { unit, tz }) {
  return unit === "day" ? dayText(start, tz) : `${dayText(start, tz)} – ${dayText(end - 1, tz)}`;
}

/** Returns the short text below a column, which is at most some ten letters wide. @param {Period} period @param {Around} around */
function footOf({ start }, { unit, tz }) {
  // Splits "Mon 2 Mar": a day shows its weekday, and a week shows its date.
  const [day = "", ...date] = dayText(start, tz).split(" ");
  return unit === "day" ? day.replace(",", "") : date.join(" ");
}
