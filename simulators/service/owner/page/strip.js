import { el, svg } from "./dom.js";
import { t } from "./texts.js";
import { clockText, lasting, modeOf, MODES } from "./format.js";

/** @typedef {{ mode: string, start: number, end: number }} Stage */

const WIDTH = 1440;
const HEIGHT = 100;
const HOUR_MS = 3_600_000;
/** Hours that an axis names: few enough for a phone. */
const AXIS_HOURS = [0, 6, 12, 18];
let patterns = 0;

/**
 * A day as a strip of modes. Time without data is hatched, time to come is empty: neither looks like an idle booth.
 * @param {{ stages: readonly Stage[], start: number, end: number, now: number, tz: string, label: string }} day
 */
export function strip({ stages, start, end, now, tz, label }) {
  const hatch = `hatch-${(patterns += 1).toString()}`;
  /** @param {number} at */
  const x = (at) => ((Math.min(Math.max(at, start), end) - start) / (end - start)) * WIDTH;
  const shown = stages.filter((stage) => stage.end > start && stage.start < end);
  const bars = shown.map((stage) => {
    const { key, label: name } = modeOf(stage.mode);
    const told = `${name} ${clockText(stage.start, tz)}–${clockText(stage.end, tz)}, ${lasting(stage.end - stage.start)}`;
    const fill = key === "no_data" ? `url(#${hatch})` : `var(--${key})`;
    const place = { x: x(stage.start), y: 0, width: Math.max(0.6, x(stage.end) - x(stage.start)), height: HEIGHT };
    return svg("rect", { ...place, fill, "data-mode": key }, svg("title", {}, told));
  });
  const line = svg("line", { class: "hatch-line", x1: 2, y1: 0, x2: 2, y2: 12 });
  const size = { width: 12, height: 12, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  return el(
    "div",
    { className: "day" },
    svg(
      "svg",
      {
        ...{ class: "strip", viewBox: `0 0 ${WIDTH.toString()} ${HEIGHT.toString()}`, preserveAspectRatio: "none" },
        ...{ role: "img", "aria-label": `${label}: ${spoken(shown)}` },
      },
      svg("defs", {}, svg("pattern", { id: hatch, ...size }, line)),
      svg("rect", { x: 0, y: 0, width: WIDTH, height: HEIGHT, fill: `url(#${hatch})` }),
      now < end && svg("rect", { class: "later", x: x(now), y: 0, width: WIDTH - x(now), height: HEIGHT }),
      ...bars,
    ),
    axis(start, end, tz),
  );
}

/** @param {number} start @param {number} end @param {string} tz */
function axis(start, end, tz) {
  const hours = AXIS_HOURS.map((hour) => el("span", {}, clockText(start + hour * HOUR_MS, tz)));
  return el("div", { className: "axis", "aria-hidden": "true" }, ...hours, el("span", {}, clockText(end, tz)));
}

/** The longest modes in words, for those who don't see the colors. @param {readonly Stage[]} stages */
function spoken(stages) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { mode, start, end } of stages) sums.set(mode, (sums.get(mode) ?? 0) + end - start);
  const longest = [...sums].sort(([, a], [, b]) => b - a).slice(0, 5);
  return longest.map(([mode, ms]) => `${modeOf(mode).label} ${lasting(ms)}`).join(", ") || t("nothingYet");
}

/** Returns the legend of the modes shown. @param {ReadonlySet<string>} modes */
export function legend(modes) {
  const items = MODES.filter(([name]) => modes.has(name)).map(([, key]) =>
    el("li", {}, el("span", { className: `swatch ${key}`, "aria-hidden": "true" }), t(`mode.${key}`)),
  );
  return el("ul", { className: "legend", "aria-label": t("colors") }, ...items);
}
