import { svg } from "./dom.js";
import { wireText, lasting, modeOf, clockText } from "./format.js";

/** @typedef {{ mode: string, start: number, end: number }} Stage */

const HEIGHT = 100;
const WIDTH = 1440;
let patterns = 0;

/**
 * A day as a strip of modes. Time without data is hatched, time to come is empty: neither looks like an idle booth.
 * @param {{ stages: readonly Stage[], start: number, end: number, now: number, tz: string, label: string, slim?: boolean,
 *   chosen?: { start: number, end: number } | null, onTap?: (at: number) => void }} day
 */
export function strip({ stages, start, end, now, tz, label, slim = false, chosen = null, onTap }) {
  const hatch = `hatch-${(patterns += 1).toString()}`;
  /** @param {number} at */
  const x = (at) => ((Math.min(Math.max(at, start), end) - start) / (end - start)) * WIDTH;
  const shown = stages.filter((stage) => stage.end > start && stage.start < end);
  const parts = shown.map((stage) =>
    svg(
      "rect",
      {
        x: x(stage.start),
        y: 0,
        width: Math.max(0.6, x(stage.end) - x(stage.start)),
        height: HEIGHT,
        "data-mode": modeOf(stage.mode),
        fill: modeOf(stage.mode) === "no_data" ? `url(#${hatch})` : `var(--${modeOf(stage.mode)})`,
      },
      svg(
        "title",
        {},
        `${wireText(stage.mode)} ${clockText(stage.start, tz)}–${clockText(stage.end, tz)}, ${lasting(stage.end - stage.start)}`,
      ),
    ),
  );
  const element = svg(
    "svg",
    {
      class: slim ? "strip slim" : "strip",
      viewBox: `0 0 ${WIDTH.toString()} ${HEIGHT.toString()}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${label}: ${spoken(shown)}`,
    },
    svg(
      "defs",
      {},
      svg(
        "pattern",
        { id: hatch, width: 12, height: 12, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("line", { class: "hatch-line", x1: 2, y1: 0, x2: 2, y2: 12 }),
      ),
    ),
    svg("rect", { x: 0, y: 0, width: WIDTH, height: HEIGHT, fill: `url(#${hatch})` }),
    now < end && svg("rect", { class: "later", x: x(now), y: 0, width: WIDTH - x(now), height: HEIGHT }),
    ...parts,
    chosen !== null &&
      svg("rect", {
        class: "chosen",
        x: x(chosen.start),
        y: 1,
        width: Math.max(4, x(chosen.end) - x(chosen.start)),
        height: HEIGHT - 2,
      }),
  );
  if (onTap !== undefined) {
    element.addEventListener("click", (event) => {
      const { clientX } = /** @type {MouseEvent} */ (event);
      const { left, width } = element.getBoundingClientRect();
      onTap(start + ((clientX - left) / width) * (end - start));
    });
  }
  return element;
}

/** The longest modes in words, for those who don't see the colours. @param {readonly Stage[]} stages */
function spoken(stages) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { mode, start, end } of stages) sums.set(mode, (sums.get(mode) ?? 0) + end - start);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([mode, ms]) => `${wireText(mode)} ${lasting(ms)}`)
    .join(", ");
}
