import { chip, el } from "../kit/dom.js";
import { lookOf } from "./strip.js";

/**
 * A column of a chart: its name, its parts from the bottom up, and the texts above and below it. `unseen`: the period has hardly any data.
 * @typedef {{ name: string, parts: readonly { value: number, mode?: string, title: string }[], top: string, foot: string, unseen: boolean }} Bar
 */

/** Maximum number of wide columns. In charts with more columns, a phone shows the numbers upright and only a few texts below. */
const MAX_WIDE = 7;
const MAX_FEET = 4;

/**
 * Draws a column chart with plain elements. Unlike a canvas, these elements follow the page's colors, text size and print style.
 * @param {{ label: string, bars: readonly Bar[], max: number, axis?: string, tall?: boolean }} chart `max`: value of a column
 *   of full height; `axis`: its label
 */
export function bars({ label, bars: all, max, axis = "", tall = false }) {
  const isNarrow = all.length > MAX_WIDE;
  const every = isNarrow ? Math.ceil(all.length / MAX_FEET) : 1;
  const spoken = all.map(({ name, top }) => `${name}: ${top || "–"}`).join(", ");
  return el(
    "div",
    { className: tall ? "bars tall" : "bars", role: "img", "aria-label": `${label}. ${spoken}` },
    axis !== "" && el("span", { className: "soft small" }, axis),
    el(
      "div",
      { className: isNarrow ? "columns narrow" : "columns" },
      ...all.map((bar, index) => column(bar, { max, isNamed: index % every === 0 })),
    ),
  );
}

/**
 * Draws one column of a bar chart, with the figure above it and its name below it.
 * @param {Bar} bar @param {{ max: number, isNamed: boolean }} around
 */
function column({ name, parts, top, foot, unseen }, { max, isNamed }) {
  const drawn = parts.filter(({ value }) => value > 0);
  return el(
    "div",
    { className: "column", title: name },
    el("span", { className: "top" }, top),
    el("span", { className: unseen ? "pile hatch" : "pile" }, ...drawn.map((part) => piece(part, max))),
    el("span", { className: "foot" }, isNamed ? foot : ""),
  );
}

/**
 * Draws one part of a column, with a height in proportion to `max`. A part without a mode gets the color of amounts.
 * @param {Bar["parts"][number]} part @param {number} max
 */
function piece({ value, mode, title }, max) {
  const height = `${((100 * value) / Math.max(max, 1e-9)).toFixed(2)}%`;
  if (mode === undefined) return el("i", { className: "amount", title, style: { height } });
  return el("i", {
    className: `seg ${lookOf(mode)}`,
    "data-mode": mode,
    title,
    style: { height, "--mode": `var(--${mode})` },
  });
}

/** Draws a legend that names the color of each mode. @param {readonly { mode: string, text: string }[]} modes */
export function modeLegend(modes) {
  return el("ul", { className: "legend" }, ...modes.map(({ mode, text }) => el("li", {}, chip(mode), text)));
}
