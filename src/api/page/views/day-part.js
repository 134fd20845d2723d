import { card, el, pushButton } from "../kit/dom.js";
import { t } from "../texts/texts.js";

/** Step for the ends of a selected part. Taps on a phone are imprecise, so a part starts and ends on five minutes. */
const STEP_MS = 300_000;

/** @typedef {{ start: number, end: number }} Part */

/** Returns a time in the form that a time input expects, whichever clock the device shows. @param {number} at @param {string} tz */
function typedTime(at, tz) {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: tz,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(at);
}

/**
 * Lets people select a part of a day, by two taps on its strip or by two times.
 * @param {{ day: () => Part & { tz: string }, onChange: () => void }} around `onChange`: called when the selection changes
 */
export function partChooser({ day, onChange }) {
  /** @type {Part | null} */
  let part = null;
  /** @type {number | null} */
  let first = null;
  const from = /** @type {HTMLInputElement} */ (el("input", { type: "time", id: "from" }));
  const to = /** @type {HTMLInputElement} */ (el("input", { type: "time", id: "to" }));
  /** @param {Part | null} chosen */
  const choose = (chosen) => {
    part = chosen;
    first = null;
    from.value = chosen === null ? "" : typedTime(chosen.start, day().tz);
    to.value = chosen === null ? "" : typedTime(chosen.end, day().tz);
    onChange();
  };
  const typed = () => {
    if (from.value === "" || to.value === "") return;
    const { start, end } = day();
    /** @param {string} text */
    const at = (text) => start + (Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5))) * 60_000;
    if (at(to.value) > at(from.value)) choose({ start: at(from.value), end: Math.min(end, at(to.value)) });
  };
  from.addEventListener("change", typed);
  to.addEventListener("change", typed);
  const whole = pushButton(t("days.whole"), () => choose(null));
  return {
    node: card(
      t("days.part"),
      { class: "part no-print" },
      el("p", { className: "soft small" }, t("days.tap")),
      el(
        "div",
        { className: "fields" },
        el("div", {}, el("label", { for: "from" }, t("days.from")), from),
        el("div", {}, el("label", { for: "to" }, t("days.to")), to),
        whole,
      ),
    ),
    choose,
    part: () => part,
    /** Returns the selection to show on the strip, even after only the first of two taps. */
    marked: () => part ?? (first === null ? null : { start: first, end: first + STEP_MS / 2 }),
    /** @param {number} at */
    tap(at) {
      const near = Math.round(at / STEP_MS) * STEP_MS;
      if (first === null || part !== null) {
        choose(null);
        first = near;
        onChange();
        return;
      }
      const start = Math.min(first, near);
      choose({ start, end: Math.max(first, near, start + STEP_MS) });
    },
  };
}
