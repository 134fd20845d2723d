import { get } from "../kit/api.js";
import { loader } from "../charts/chart.js";
import { card, chip, el, redraw } from "../kit/dom.js";
import { DAY_MS, dayStart, dayText } from "../kit/format.js";
import { stagesOf } from "../charts/stages.js";
import { strip } from "../charts/strip.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../main.js").Context} Context */

/** Interval of requests for each booth. It is long because the box has more important work. */
const EVERY_MS = 30_000;

/**
 * Lists the booths of a box with several: what each one does, and its day so far as a strip. A tap on a row selects the booth.
 * @param {Context} context
 */
export function boothsCard(context) {
  const list = el("div", { className: "booths" });
  const node = card(t("now.booths"), { class: "wide" }, list);
  /** @type {ReturnType<typeof loader<Map<string, import("../charts/strip.js").Stage[]>>>} */
  const days = loader(EVERY_MS, () => update());
  const update = () => {
    const { booths } = context.status();
    const chosen = context.booth().booth;
    node.hidden = booths.length < 2;
    if (node.hidden) return;
    const names = booths.map(({ booth }) => String(booth));
    days.want(names.join(" "), () => stagesByBooth(names));
    const stages = days.data();
    const shown = booths.map(({ booth, now, plc, time, tz }) => ({
      ...{ booth, tz, mode: now?.mode ?? "no_data", isDown: plc.kind === "down" },
      minute: Math.floor(time / 60_000),
    }));
    redraw(list, [shown, chosen, stages === null ? null : [...stages]], () =>
      shown.map((/** @type {any} */ one) => row(one, { chosen, context, stages: stages?.get(one.booth) ?? null })),
    );
  };
  return { node, update, close: () => days.drop() };
}

/**
 * Loads the recent stages of the booths, by booth.
 * @param {readonly string[]} names @returns {Promise<Map<string, import("../charts/strip.js").Stage[]>>}
 */
async function stagesByBooth(names) {
  const all = await Promise.all(
    names.map((name) => get(`/api/booths/${encodeURIComponent(name)}/recent_stages?limit=1000`)),
  );
  return new Map(names.map((name, index) => [name, stagesOf(all[index].data)]));
}

/**
 * @param {{ booth: string, tz: string, mode: string, isDown: boolean, minute: number }} one
 * @param {{ chosen: string, context: Context, stages: import("../charts/strip.js").Stage[] | null }} shown
 */
function row({ booth, tz, mode, isDown, minute }, { chosen, context, stages }) {
  const now = minute * 60_000;
  const start = dayStart(now, tz);
  const label = `${booth}, ${t("days.strip", { day: dayText(start, tz) })}`;
  return el(
    "div",
    { className: "booth" },
    el(
      "button",
      { type: "button", "aria-pressed": String(booth === chosen), onclick: () => context.choose(booth) },
      el("strong", {}, booth),
      el("span", {}, chip(mode), isDown ? t("now.noPlc") : t(`mode.${mode}`)),
    ),
    stages !== null && strip({ stages, start, end: dayStart(start + DAY_MS / 2, tz, 1), now, tz, label, slim: true }),
  );
}
