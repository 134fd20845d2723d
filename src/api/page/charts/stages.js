import { chartFooter, csvTime } from "./chart.js";
import { clockText, durationText, timeOf, wireText } from "../kit/format.js";
import { t } from "../texts/texts.js";

/** @typedef {import("./strip.js").Stage} Stage */

/** Returns the ends of the cycles that count. @param {any[]} cycles @returns {number[]} */
export function endsOf(cycles) {
  return cycles.filter(({ counted }) => counted).map(({ end }) => end);
}

/** Converts stages of the API to stages of a chart, with times in epoch ms. @param {any[]} stages @returns {Stage[]} */
export function stagesOf(stages) {
  return stages.map(({ mode, start_time, end_time }) => ({ mode, start: timeOf(start_time), end: timeOf(end_time) }));
}

/**
 * Offers the stages of a strip as a table and a file.
 * @param {readonly Stage[]} stages newest first @param {{ name: string, title: string, tz: string }} of
 */
export function stagesFooter(stages, { name, title, tz }) {
  const all = stages.toReversed();
  return chartFooter({
    ...{ name, title },
    shown: () => ({
      heads: [t("days.from"), t("days.to"), t("days.mode"), t("chart.lasted")],
      rows: all.map(({ mode, start, end }) => [
        clockText(start, tz),
        clockText(end, tz),
        wireText(mode),
        durationText(end - start),
      ]),
    }),
    csv: () => ({
      heads: ["start", "end", "mode", "minutes"],
      rows: all.map(({ mode, start, end }) => [
        csvTime(start),
        csvTime(end),
        mode,
        Math.round((end - start) / 600) / 100,
      ]),
    }),
  });
}
