import { el, svg } from "../kit/dom.js";

/**
 * Line charts over time, drawn by uPlot (see docs/explain/architecture.md), which is loaded with the first chart. This module adds the
 * colors of the page's themes, touch, and a cursor shared by several charts.
 */

/** @typedef {typeof import("uplot")} UPlot */
/**
 * A line of a chart. `values`: one per instant. `band`: highest and lowest value around each. `color`: a CSS variable of the page. `dash`:
 * number of a dash pattern, 0 for none. `spans`: draws the line across instants without data.
 * @typedef {{ label: string, values: readonly (number | null)[], band?: readonly [most: readonly (number | null)[], least: readonly (number | null)[]],
 *   color: string, dash?: number, points?: boolean, spans?: boolean }} Line
 */

/** Width of the numbers left of the chart, px. The strip above a chart starts at the same position. */
const LEFT = 44;
/** Space for the right half of the last hour's label, px. */
const RIGHT = 10;
const AXIS = 26;
const DASHES = [[], [9, 4], [2, 4], [12, 4, 2, 4]];
const TEXT = '13px system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

/** @type {Promise<UPlot> | null} */
let library = null;

/** Loads the library's script and style sheet once. The script is not a module, so it sets a global variable. @returns {Promise<UPlot>} */
function load() {
  if (library !== null) return library;
  const [href, src] = ["./uplot.css", "./uplot.js"].map((name) => new URL(name, import.meta.url).href);
  const parts = [el("link", { rel: "stylesheet", href }), el("script", { src })];
  const loading = Promise.all(
    parts.map(
      (part) =>
        new Promise((resolve, reject) => {
          part.addEventListener("load", resolve);
          part.addEventListener("error", () => reject(new Error("the charts' library doesn't come")));
        }),
    ),
  ).then(() => /** @type {UPlot} */ (Reflect.get(globalThis, "uPlot")));
  document.head.append(...parts);
  library = loading;
  loading.catch(() => {
    for (const part of parts) part.remove();
    library = null;
  });
  return loading;
}

/**
 * Draws the legend of a chart, with the color and dash pattern of each line.
 * @param {string} unit
 * @param {readonly { label: string, color: string, dash?: number, isBand?: boolean }[]} lines
 */
export function keys(unit, lines) {
  const items = lines.map(({ label, color: name, dash = 0, isBand = false }) => {
    const sample = isBand
      ? svg("rect", { x: 0, y: 1, width: 26, height: 10, fill: `var(--${name})`, opacity: 0.3 })
      : svg("line", {
          x1: 0,
          y1: 6,
          x2: 26,
          y2: 6,
          stroke: `var(--${name})`,
          "stroke-width": 3,
          "stroke-dasharray": (DASHES[dash] ?? []).join(" "),
        });
    return el("li", {}, svg("svg", { class: "line-key", viewBox: "0 0 26 12", "aria-hidden": "true" }, sample), label);
  });
  return el("ul", { className: "legend" }, unit !== "" && el("li", { className: "unit" }, unit), ...items);
}

/** Returns a CSS variable of the page in the present theme. @param {string} name */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/**
 * The look of a chart. `ticks`: returns the instants to label. `low`: highest value at which the axis may start.
 * @typedef {{ height: number, unit: (value: number, decimals: number) => string, ticks: (span: Span) => readonly number[], name: (at: number) => string, low?: number }} How
 */
/** @typedef {{ start: number, end: number }} Span */
/** @typedef {Span & { times: readonly number[], lines: readonly Line[] }} Shown */

/**
 * Creates a chart. It is drawn when data arrives, and again at each `update`.
 * @param {How & { onCursor?: (at: number | null) => void }} how
 */
export function plot(how) {
  const { height, onCursor } = how;
  const node = el("div", { className: "plot", "aria-hidden": "true" });
  /** @type {import("uplot") | null} */
  let chart = null;
  /** @type {Shown | null} */
  let data = null;
  let drawnAs = "";
  /** @type {number | null} */
  let cursor = null;
  const place = () => {
    if (chart === null) return;
    const left = cursor === null ? -10 : chart.valToPos(cursor / 1000, "x");
    chart.setCursor({ left, top: cursor === null ? -10 : 0 }, false);
  };
  const draw = async () => {
    const uPlot = await load();
    if (data === null || !node.isConnected || node.clientWidth === 0) return;
    const { times, lines, start, end } = data;
    const columns = /** @type {import("uplot").AlignedData} */ ([
      times.map((at) => at / 1000),
      ...lines.flatMap(({ values, band = [] }) => [...band, values]),
    ]);
    const shape = JSON.stringify(lines.map(({ label, color, dash, band }) => [label, color, dash, band !== undefined]));
    if (chart === null || drawnAs !== shape) {
      chart?.destroy();
      drawnAs = shape;
      const shown = () => data;
      chart = new uPlot(optionsOf(lines, { ...how, shown, width: node.clientWidth }), columns, node);
      fingers(chart, (at) => onCursor?.(at));
    } else chart.setData(columns, false);
    chart.setScale("x", { min: start / 1000, max: end / 1000 });
    place();
  };
  const size = new ResizeObserver(() => {
    if (chart === null) void draw();
    else if (node.clientWidth > 0) chart.setSize({ width: node.clientWidth, height });
    place();
  });
  size.observe(node);
  const theme = matchMedia("(prefers-color-scheme: dark)");
  const recolor = () => chart?.redraw(false);
  theme.addEventListener("change", recolor);
  return {
    node,
    /** @param {Shown} next */
    update(next) {
      data = next;
      void draw().catch(() => undefined);
    },
    /** @param {number | null} at */
    point(at) {
      cursor = at;
      place();
    },
    close() {
      size.disconnect();
      theme.removeEventListener("change", recolor);
      chart?.destroy();
      chart = null;
    },
  };
}

/** Width of a character on the axis, px. */
const LETTER = 7.5;

/**
 * Thins out the times until their labels fit on the axis.
 * @param {readonly number[]} times @param {{ name: (at: number) => string, width: number }} axis
 */
function apart(times, { name, width }) {
  const widest = Math.max(1, ...times.map((at) => name(at).length)) * LETTER + 8;
  const step = Math.ceil((times.length * widest) / (width - LEFT - RIGHT));
  return times.filter((_, index) => index % step === 0);
}

/**
 * Returns the options with which uPlot draws these lines.
 * @param {readonly Line[]} lines @param {How & { shown: () => Shown | null, width: number }} how @returns {import("uplot").Options}
 */
function optionsOf(lines, { width, height, unit, ticks, name, low, shown }) {
  const style = {
    stroke: () => color("soft"),
    font: TEXT,
    grid: { stroke: () => color("line"), width: 1 },
    ticks: { show: false },
  };
  const named = () => {
    const data = shown();
    return data === null ? [] : apart(ticks(data), { name, width }).map((at) => at / 1000);
  };
  return {
    ...{ width, height, padding: [8, RIGHT, 0, 0], legend: { show: false } },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 9 },
      move: (_, left) => [left, 0],
      bind: noMouse(),
    },
    scales: { x: { time: false }, y: { range: (_, least, most) => rangeOf(least, most, low) } },
    axes: [
      { ...style, size: AXIS, splits: named, values: (_, splits) => splits.map((at) => name(at * 1000)) },
      { ...style, size: LEFT, space: 34, values: (_, splits) => splits.map((value) => unit(value, decimals(splits))) },
    ],
    series: [{}, ...lines.flatMap(seriesOf)],
    bands: bandsOf(lines),
  };
}

/**
 * Returns the series of a line. The band between its lowest and highest values needs two more series, which are not drawn.
 * @param {Line} line @returns {import("uplot").Series[]}
 */
function seriesOf({ label, band, color: name, dash = 0, points = false, spans = false }) {
  const unseen = { stroke: () => "transparent", width: 0, points: { show: false } };
  const style = {
    stroke: () => color(name),
    width: 2,
    dash: DASHES[dash] ?? [],
    points: { show: points, size: 5 },
    spanGaps: spans,
  };
  return [...(band === undefined ? [] : [unseen, unseen]), { label, ...style }];
}

/**
 * Returns the areas that uPlot fills: for each line with a band, the area between its two limits.
 * @param {readonly Line[]} lines @returns {import("uplot").Band[]}
 */
function bandsOf(lines) {
  let column = 1;
  return lines.flatMap(({ band, color: name }) => {
    const first = column;
    column += band === undefined ? 1 : 3;
    return band === undefined ? [] : [{ series: [first, first + 1], fill: () => `${color(name)}44` }];
  });
}

/** Returns the number of decimals that neighboring labels of the axis need to differ. @param {readonly number[]} splits */
function decimals([first = 0, second = 1]) {
  const step = Math.abs(second - first);
  return step < 0.1 ? 2 : step < 1 ? 1 : 0;
}

/**
 * Returns the range of the axis, with a little space above and below the values, even if they never change.
 * @param {number | null} least @param {number | null} most @param {number} [low] @returns {[number, number]}
 */
function rangeOf(least, most, low) {
  const [from, to] = [Math.min(least ?? 0, low ?? Infinity), most ?? 1];
  const padding = Math.max((to - from) * 0.08, Math.max(Math.abs(from), Math.abs(to)) * 0.02, 1e-3);
  return [low !== undefined && from >= low ? low : from - padding, to + padding];
}

/** Turns off the library's own mouse handling. The page handles mouse, pen and finger by the same pointer events. */
function noMouse() {
  const none = () => null;
  return {
    mousedown: none,
    mouseup: none,
    click: none,
    dblclick: none,
    mousemove: none,
    mouseleave: none,
    mouseenter: none,
  };
}

/**
 * Reports the instant under the mouse or finger to `to`; null: the mouse has left the chart.
 * @param {import("uplot")} chart @param {(at: number | null) => void} to
 */
function fingers(chart, to) {
  const { over } = chart;
  /** @param {PointerEvent} event */
  const point = ({ clientX }) => to(chart.posToVal(clientX - over.getBoundingClientRect().left, "x") * 1000);
  over.addEventListener("pointermove", point);
  over.addEventListener("pointerdown", point);
  over.addEventListener("pointerleave", (event) => {
    // Keeps the cursor after a touch where the finger was lifted, so that people can read the values.
    if (event.pointerType === "mouse") to(null);
  });
}
