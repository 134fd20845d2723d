import { download, saveBlob } from "../kit/api.js";
import { card, chip, el, figure, pushButton, table } from "../kit/dom.js";
import { measured, minutesText, modeOf, number, wireText } from "../kit/format.js";
import { explained } from "../kit/help.js";
import { withSession } from "../kit/session.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../main.js").Context} Context */
/** @typedef {import("./days.js").Figures} Figures */

/**
 * Draws the cards with the figures of a span: the time in each mode, the use and the coverage.
 * @param {Figures} figures @param {Context} context
 */
export function figureCards({ durations, starts, use, start, end }, context) {
  const { booth } = context.booth();
  const counts = new Map(starts.modes.map((/** @type {any} */ { mode, count }) => [mode, count]));
  const modes = byDuration(durations.modes);
  const total = modes.reduce((/** @type {number} */ sum, /** @type {any} */ { duration }) => sum + duration, 0);
  const rows = modes.map((/** @type {any} */ { mode, duration }) => [
    el("span", { className: "named" }, chip(modeOf(mode)), modeName(mode)),
    el(
      "span",
      {},
      el("span", { className: "whole" }, minutesText(duration)),
      " ",
      el("small", {}, `${number((duration / total) * 100, 1)} %`),
    ),
    String(counts.get(mode) ?? 0),
  ]);
  const gas = measured(use.gas_usage, "therm", 1);
  const heads = [t("days.mode"), t("days.time"), t("days.starts")];
  const name = `${booth}-${new Date(start).toISOString().slice(0, 10)}`;
  return [
    card(
      t("days.modes"),
      { class: "modes" },
      rows.length === 0 ? el("p", {}, t("days.none")) : table(t("days.modes"), heads, rows),
      coverageBar(durations.coverage),
    ),
    card(
      t("days.use"),
      {},
      el(
        "dl",
        { className: "figures" },
        figure(t("days.cycles"), number(use.cycle_count)),
        figure(t("days.inUse"), minutesText(use.utilization_minutes)),
        figure(t("days.working"), minutesText(use.working_minutes)),
        figure(
          explained(t("days.utilization"), "help.utilization"),
          use.utilization_pct === null ? "–" : `${number(use.utilization_pct, 1)} %`,
        ),
        figure(t("days.overtime"), minutesText(use.overtime_minutes)),
        figure(t("days.gas"), gas.number, " ", el("small", {}, gas.unit)),
        figure(t("days.power"), number(use.kwh_usage, 1), " ", el("small", {}, "kWh")),
      ),
      use.approximate === true ? el("p", { className: "note" }, t("days.approximate")) : "",
      el(
        "div",
        { className: "buttons no-print" },
        pushButton(t("days.csv"), () => saveBlob(csvOf(durations, counts), `${name}-modes.csv`)),
        pushButton(
          t("days.readings"),
          () =>
            void withSession(() =>
              download(
                `/api/booths/${encodeURIComponent(booth)}/export_csv?start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}`,
                `${name}-readings.csv`,
              ),
            ).catch(() => undefined),
        ),
      ),
    ),
  ];
}

/** Returns the modes that lasted any time, longest first. @param {any[]} modes @returns {any[]} */
function byDuration(modes) {
  return modes.filter(({ duration }) => duration > 0).toSorted((a, b) => b.duration - a.duration);
}

/** Returns a mode's name. Setback gets an explanation, because not every booth has it. @param {string} mode on the wire */
function modeName(mode) {
  return modeOf(mode) === "setback" ? explained(wireText(mode), "help.setback") : wireText(mode);
}

/** Draws which parts of the span were observed, inferred or missing. @param {any} coverage */
function coverageBar({ observed, inferred, missing }) {
  const total = Math.max(1e-9, observed + inferred + missing);
  const parts = /** @type {const} */ ([
    ["observed", observed],
    ["inferred", inferred],
    ["missing", missing],
  ]);
  return el(
    "div",
    { style: { "margin-top": "1rem" } },
    el("h3", {}, t("days.coverage")),
    el(
      "div",
      { className: "bar", "aria-hidden": "true" },
      ...parts.map(([name, minutes]) =>
        el("i", { className: name, style: { width: `${((minutes / total) * 100).toString()}%` } }),
      ),
    ),
    el(
      "p",
      { className: "small soft" },
      ...parts.flatMap(([name, minutes], index) => [
        index > 0 && " · ",
        name === "inferred" ? explained(t("days.inferred"), "help.inferred") : t(`days.${name}`),
        ` ${minutesText(minutes)}`,
      ]),
    ),
  );
}

/** Makes a CSV file with the minutes and starts of each mode. @param {any} durations @param {Map<string, number>} counts */
function csvOf(durations, counts) {
  const rows = durations.modes.map((/** @type {any} */ { mode, duration }) =>
    [durations.start, durations.end, mode, duration, counts.get(mode) ?? 0].join(","),
  );
  return new Blob([["start,end,mode,minutes,starts", ...rows, ""].join("\n")], { type: "text/csv" });
}
