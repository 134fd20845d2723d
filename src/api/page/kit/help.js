import { el } from "./dom.js";
import { t } from "../texts/texts.js";

let count = 0;

/** A word with what it means behind a button: by mouse, touch and keyboard, Escape closes it. @param {string} word @param {string} key of the explanation */
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
