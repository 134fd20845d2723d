import { el, svg } from "../kit/dom.js";

const WIDTH = 100;
const HEIGHT = 30;
/** Minimum range of a sparkline, as a share of its largest value. */
const LEAST_SHARE = 0.3;

/**
 * Draws a small chart of a figure's last day: the band between the lowest and the highest value of each step. `text` describes it in words.
 * @param {{ min: readonly (number | null)[], max: readonly (number | null)[], text: string }} of
 */
export function sparkline({ min, max, text }) {
  const known = [...min, ...max].filter((value) => value !== null);
  if (known.length === 0) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  // Draws a figure that hardly changes as a flat line in the middle. If enlarged, a sensor's noise would look like real changes.
  const range = Math.max(high - low, LEAST_SHARE * Math.max(Math.abs(high), Math.abs(low)), 1e-9);
  const from = (low + high - range) / 2;
  /** @param {number} value */
  const y = (value) => (HEIGHT - 2 - ((value - from) / range) * (HEIGHT - 4)).toFixed(1);
  /** @param {number} index */
  const x = (index) => ((index / Math.max(1, min.length - 1)) * WIDTH).toFixed(1);
  const paths = stretches(min).map(([first, last]) => {
    const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const over = steps.map((index) => `${x(index)} ${y(/** @type {number} */ (max[index]))}`);
    const under = steps.toReversed().map((index) => `${x(index)} ${y(/** @type {number} */ (min[index]))}`);
    return `M${[...over, ...under].join("L")}Z`;
  });
  return framed(text, svg("path", { class: "band", d: paths.join("") }));
}

/** Draws hourly amounts as small columns. @param {{ values: readonly number[], text: string }} of */
export function sparkbars({ values, text }) {
  const most = Math.max(...values, 0);
  if (values.length === 0) return null;
  const width = WIDTH / values.length;
  const rects = values.map((value, index) => {
    const height = most === 0 ? 0 : (value / most) * (HEIGHT - 2);
    const place = { x: (index * width).toFixed(2), width: (width * 0.75).toFixed(2) };
    return svg("rect", { ...place, y: (HEIGHT - 1 - height).toFixed(1), height: (height + 1).toFixed(1) });
  });
  return framed(text, ...rects);
}

/** Returns the frame of a small chart. `text` describes the chart to screen readers. @param {string} text @param {...Node} inside */
function framed(text, ...inside) {
  const frame = {
    class: "spark",
    viewBox: `0 0 ${WIDTH.toString()} ${HEIGHT.toString()}`,
    preserveAspectRatio: "none",
  };
  return el("span", { className: "sparked" }, svg("svg", { ...frame, role: "img", "aria-label": text }, ...inside));
}

/** Returns the runs of consecutive steps that have data. @param {readonly (number | null)[]} values @returns {[number, number][]} */
function stretches(values) {
  /** @type {[number, number][]} */
  const found = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else found.push([index, index]);
  });
  return found;
}
