import { call } from "../ahead.js";
import { get } from "../kit/api.js";
import { buttonRow, el, pushButton } from "../kit/dom.js";
import { dayStart } from "../kit/format.js";
import { t } from "../texts/texts.js";

const DAY_MS = 86_400_000;
const HALF_DAY_MS = 12 * 3_600_000;
const DAYS_SHOWN = 30;

/** @typedef {import("../main.js").Context} Context */

/** Offers the log sheet and the bake records of a period as documents for print and as CSV files. @param {Context} context */
export function recordsView(context) {
  const { time } = context.booth();
  const from = dayField(time - DAYS_SHOWN * DAY_MS);
  const to = dayField(time - DAY_MS);
  const said = el("p", { role: "status" });
  /** @param {string} name @param {"html" | "csv"} format */
  const save = async (name, format) => {
    said.textContent = "";
    const { booth, tz } = context.booth();
    // The period ends at the midnight after the last day. Half a day more reaches it, even if the clocks change.
    const end = dayStart(Date.parse(to.value) + DAY_MS + HALF_DAY_MS, tz);
    const start = dayStart(Date.parse(from.value) + HALF_DAY_MS, tz);
    if (!(start < end)) {
      said.textContent = t("records.period");
      return;
    }
    const window = `start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}`;
    const path = `/api/booths/${encodeURIComponent(booth)}/${name}?${window}&format=${format}&lang=${document.documentElement.lang}`;
    const answer = await call(path).catch(() => null);
    if (answer?.ok !== true) {
      said.textContent = t("error.away");
      return;
    }
    const text = format === "html" ? await withNames(await answer.text(), booth) : await answer.text();
    const href = URL.createObjectURL(new Blob([text]));
    el("a", { href, download: `${name}-${from.value}-${to.value}.${format}` }).click();
    URL.revokeObjectURL(href);
  };
  /** @param {"log_sheet" | "bake_records"} name @param {string} title @param {string} hint */
  const card = (name, title, hint) =>
    el(
      "section",
      { className: "card" },
      el("h2", {}, title),
      el("p", {}, hint),
      buttonRow(
        pushButton(t("records.document"), () => void save(name, "html")),
        pushButton(t("records.csv"), () => void save(name, "csv")),
      ),
    );
  const node = el(
    "div",
    {},
    el(
      "section",
      { className: "card" },
      el("label", {}, t("records.from"), " ", from),
      " ",
      el("label", {}, t("records.to"), " ", to),
      said,
    ),
    el(
      "div",
      { className: "grid two wide" },
      card("log_sheet", t("records.sheet"), t("records.sheet_hint")),
      card("bake_records", t("records.bakes"), t("records.bakes_hint")),
    ),
  );
  return { node, update: () => undefined, close: () => undefined };
}

/** @param {number} at */
function dayField(at) {
  const value = new Date(at).toISOString().slice(0, 10);
  return /** @type {HTMLInputElement} */ (el("input", { type: "date", value }));
}

/** Puts the names of persons into a document. They are not part of it, so that they can be erased. @param {string} html @param {string} booth */
async function withNames(html, booth) {
  const { data } = await get(`/filters/entries?booth=${encodeURIComponent(booth)}`).catch(() => ({ data: [] }));
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const { id, by } of data) {
    const place = parsed.querySelector(`[data-person="${CSS.escape(id)}"]`);
    if (place !== null && by !== "") place.textContent = `; ${place.getAttribute("data-by")} ${by}`;
  }
  return `<!doctype html>\n<html lang="${parsed.documentElement.lang}">${parsed.documentElement.getHTML()}</html>\n`;
}
