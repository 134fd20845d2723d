import { chip, el } from "../kit/dom.js";
import { wireText, durationText, modeOf, clockText } from "../kit/format.js";
import { axisHour, hourTicks } from "./measured.js";
import { t } from "../texts/texts.js";

/** @typedef {{ mode: string, start: number, end: number }} Stage */
/** @typedef {{ start: number, end: number }} Span */

/** Minimum distance between two marks for ended cycles, as a share of the strip. Closer cycles share one mark. */
const MARK_SHARE = 0.004;

/**
 * Draws a period as a strip of modes. Time without data is hatched, future time is empty, off is dotted and setback is striped. So
 * none of these looks like an idle booth, even without colors. `cycles`: ends of cycles.
 * @param {{ stages: readonly Stage[], start: number, end: number, now: number, tz: string, label: string, slim?: boolean,
 *   cycles?: readonly number[], chosen?: Span | null, onTap?: (at: number) => void }} day
 */
export function strip({ stages, start, end, now, tz, label, slim = false, cycles = [], chosen = null, onTap }) {
  /** @param {number} at */
  const share = (at) => (Math.min(Math.max(at, start), end) - start) / (end - start);
  /** @param {Span} span @param {number} [least] */
  const place = (span, least = 0) => {
    const left = share(span.start);
    return { left: percent(left), width: percent(Math.max(least, share(span.end) - left)) };
  };
  const shown = stages.filter((stage) => stage.end > start && stage.start < end);
  const marks = cycles.filter((at) => at > start && at <= end);
  const parts = shown.map((stage) => {
    const mode = modeOf(stage.mode);
    const title = `${wireText(stage.mode)} ${clockText(stage.start, tz)}–${clockText(stage.end, tz)}, ${durationText(stage.end - stage.start)}`;
    const style = { ...place(stage, 0.0005), "--mode": `var(--${mode})` };
    return el("i", { className: `seg ${lookOf(mode)}`, "data-mode": mode, title, style });
  });
  const spokenCycles = marks.length === 0 ? "" : `, ${t("chart.cyclesEnded", { count: marks.length })}`;
  const element = el(
    "div",
    {
      className: slim ? "strip slim" : "strip",
      role: "img",
      "aria-label": `${label}: ${toldStages(shown)}${spokenCycles}`,
    },
    el("i", { className: "seg hatch", style: { left: "0", width: "100%" } }),
    now < end && el("i", { className: "later", style: place({ start: now, end }) }),
    ...parts,
    ...apart(marks, MARK_SHARE * (end - start)).map((at) =>
      el("i", { className: "cycle", style: { left: percent(share(at)) } }),
    ),
    chosen !== null && el("i", { className: "chosen", style: place(chosen, 0.004) }),
  );
  if (onTap !== undefined) {
    element.classList.add("tapped");
    element.addEventListener("click", (event) => {
      const { clientX } = /** @type {MouseEvent} */ (event);
      const { left, width } = element.getBoundingClientRect();
      onTap(start + ((clientX - left) / width) * (end - start));
    });
  }
  return element;
}

/** Returns the pattern of a mode that its color alone would not distinguish. @param {string} mode */
export function lookOf(mode) {
  return mode === "no_data" ? "hatch" : mode === "off" || mode === "setback" ? `mark-${mode}` : "";
}

/** Formats a share from 0 to 1 as a CSS percentage. @param {number} share */
function percent(share) {
  return `${(share * 100).toFixed(3)}%`;
}

/** Drops each mark that is at most `least` after the previous mark. @param {readonly number[]} marks @param {number} least */
function apart(marks, least) {
  return marks.filter((at, index) => index === 0 || at - /** @type {number} */ (marks[index - 1]) > least);
}

/**
 * Draws the hours below a strip, each where it begins. On a day when the clocks change, there is one hour more or less.
 * @param {Span & { tz: string, every?: number }} day `every`: hours between two labels
 */
export function hourAxis({ start, end, tz, every = 4 }) {
  const marks = hourTicks({ start, end, tz }, every).map((at) => {
    const isLast = at === end;
    const left = percent((at - start) / (end - start));
    const name = isLast && axisHour(at, tz) === "00" ? "24" : axisHour(at, tz);
    return el("span", { style: { left }, className: at === start ? "first" : isLast ? "last" : "" }, name);
  });
  return el("div", { className: "hours", "aria-hidden": "true" }, ...marks);
}

/** Draws the legend of strips: their modes, longest first. @param {readonly Stage[]} stages @param {Span} span @param {boolean} [cycles] */
export function legend(stages, span, cycles = false) {
  const modes = [...sumsOf(stages.filter(({ start, end }) => end > span.start && start < span.end))]
    .sort(([, a], [, b]) => b - a)
    .map(([mode]) => mode);
  return el(
    "ul",
    { className: "legend" },
    ...modes.map((mode) => el("li", {}, chip(modeOf(mode)), wireText(mode))),
    cycles && el("li", {}, el("span", { className: "cycle-key", "aria-hidden": "true" }), t("chart.cycleEnd")),
  );
}

/** Returns the longest modes in words, for people who can't see the colors. @param {readonly Stage[]} stages */
function toldStages(stages) {
  return [...sumsOf(stages)]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([mode, ms]) => `${wireText(mode)} ${durationText(ms)}`)
    .join(", ");
}

/** Adds up the time in each mode, in ms. @param {readonly Stage[]} stages */
function sumsOf(stages) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { mode, start, end } of stages) sums.set(mode, (sums.get(mode) ?? 0) + end - start);
  return sums;
}
