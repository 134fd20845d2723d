import { card, chip, el, redraw } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./main.js").Context} Context */

/** All booths of the box with what they do, each a target for a finger; nothing where there is only one. @param {Context} context */
export function boothsCard(context) {
  const list = el("div", { className: "booths" });
  const node = card(t("now.booths"), { class: "wide" }, list);
  const update = () => {
    const { booths } = context.status();
    const chosen = context.booth().booth;
    node.hidden = booths.length < 2;
    const shown = booths.map((/** @type {any} */ { booth, now, plc }) => [booth, now?.mode ?? "no_data", plc.kind]);
    redraw(list, [shown, chosen], () =>
      shown.map((/** @type {[string, string, string]} */ [booth, mode, plc]) =>
        el(
          "button",
          { type: "button", "aria-pressed": String(booth === chosen), onclick: () => context.choose(booth) },
          el("strong", {}, booth),
          el("span", {}, chip(mode), plc === "down" ? t("now.noPlc") : t(`mode.${mode}`)),
        ),
      ),
    );
  };
  return { node, update };
}
