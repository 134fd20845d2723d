import { el } from "./dom.js";
import { t } from "../texts/texts.js";

let count = 0;

/**
 * Draws a word with a button that explains it. The button works by mouse, touch and keyboard, and Escape closes the text.
 * @param {string} word @param {string} key text key of the explanation
 */
export function explained(word, key) {
  count += 1;
  const id = `help-${count.toString()}`;
  const text = el("span", { id, className: "help", role: "note" }, t(key));
  text.setAttribute("popover", "auto");
  const button = el(
    "button",
    { type: "button", className: "what no-print", "aria-label": t("help.what", { word }) },
    "?",
  );
  button.setAttribute("popovertarget", id);
  return el("span", { className: "explained" }, word, button, text);
}
