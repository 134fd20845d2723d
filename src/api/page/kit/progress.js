import { el } from "./dom.js";
import { durationText } from "./format.js";
import { t } from "../texts/texts.js";

/** Shortest remaining time that is shown. */
const LEAST_LEFT_MS = 2_000;

/** Shows the present step of a task, and with the finished share also a bar and the remaining time. An empty text hides it. */
export function progressLine() {
  const words = el("span", {});
  const left = el("span", { "aria-hidden": "true" });
  const bar = /** @type {HTMLProgressElement} */ (
    el("progress", { max: 1, hidden: true, "aria-label": t("work.share") })
  );
  const node = el("div", { className: "work" }, el("p", { role: "status", className: "soft" }, words), left, bar);
  let begun = 0;
  /** @param {string} text @param {number} [share] */
  const show = (text, share) => {
    words.textContent = text;
    bar.hidden = share === undefined || text === "";
    left.textContent = "";
    if (share === undefined) return;
    if (share === 0 || begun === 0) begun = performance.now();
    bar.value = share;
    const left_ms = share === 0 ? 0 : ((performance.now() - begun) * (1 - share)) / share;
    if (left_ms >= LEAST_LEFT_MS) left.textContent = t("work.left", { time: durationText(left_ms) });
  };
  return { node, show };
}
