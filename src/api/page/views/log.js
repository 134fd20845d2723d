import { saveBlob } from "../kit/api.js";
import { buttonRow, el, field, pushButton, redraw } from "../kit/dom.js";
import { dayText, secondsText } from "../kit/format.js";
import { t } from "../texts/texts.js";

/** @typedef {{ at: number, level: "info" | "warn" | "error", text: string }} Line */

/** Levels by the choice that shows them. */
const LEVELS = { all: ["info", "warn", "error"], warn: ["warn", "error"], error: ["error"] };

/** Shows the log's lines, the newest first, with a search, choices of level and day, and a download of the shown lines. */
export function logPanel() {
  /** @type {readonly Line[]} */
  let lines = [];
  let tz = "UTC";
  const list = el("div", { className: "log", tabIndex: 0, role: "log", "aria-label": t("health.log") });
  const count = el("p", { role: "status", className: "soft small" });
  const search = field(t("log.search"), { name: "log-search", type: "search", maxLength: 100, oninput: draw });
  const level = choice("log-level", t("log.level"), draw);
  const day = choice("log-day", t("log.day"), draw);
  const typed = /** @type {HTMLInputElement} */ (search.querySelector("input"));
  const save = /** @type {HTMLButtonElement} */ (
    pushButton(t("log.download"), () => saveBlob(textFile(shown()), `booth-gateway-log-${isoDay(Date.now())}.txt`))
  );
  const filters = el("div", { className: "fields no-print" }, search, level.node, day.node);
  const node = el("div", {}, filters, count, list, buttonRow(save));
  fill(level.select, [
    ["all", t("log.all")],
    ["warn", t("log.warnings")],
    ["error", t("log.errors")],
  ]);

  /** Returns the lines that the person has chosen, oldest first. */
  function shown() {
    const words = typed.value.toLowerCase().split(/\s+/);
    const levels = LEVELS[/** @type {keyof typeof LEVELS} */ (level.select.value)];
    return lines.filter(
      (line) =>
        levels.includes(line.level) &&
        (day.select.value === "" || dayText(line.at, tz) === day.select.value) &&
        words.every((word) => line.text.toLowerCase().includes(word)),
    );
  }
  function draw() {
    const found = shown();
    const many = new Set(found.map(({ at }) => dayText(at, tz))).size > 1;
    /** @param {Line} line */
    const timeOf = ({ at }) => (many ? `${dayText(at, tz)} ${secondsText(at, tz)}` : secondsText(at, tz));
    redraw(list, [found, tz], () =>
      found.toReversed().map((line) => el("div", { className: line.level }, `${timeOf(line)}  ${line.text}`)),
    );
    const text = lines.length === 0 ? t("health.noLog") : t("log.count", { count: found.length, all: lines.length });
    if (count.textContent !== text) count.textContent = text;
    save.disabled = found.length === 0;
  }
  /** Takes new lines, oldest first, and the booth's time zone. @param {readonly Line[]} newest @param {string} zone */
  const update = (newest, zone) => {
    if (newest === lines && zone === tz) return;
    lines = newest;
    tz = zone;
    const days = [...new Set(lines.map(({ at }) => dayText(at, tz)))].toReversed();
    fill(day.select, [["", t("log.allDays")], ...days.map((name) => /** @type {const} */ ([name, name]))]);
    draw();
  };
  return { node, update };
}

/** Draws a list of choices with its label. @param {string} id @param {string} label @param {() => void} onchange */
function choice(id, label, onchange) {
  const select = /** @type {HTMLSelectElement} */ (el("select", { id, onchange }));
  return { select, node: el("div", {}, el("label", { for: id }, label), select) };
}

/** Fills a list, and keeps the choice if the list still has it. @param {HTMLSelectElement} select @param {readonly (readonly [string, string])[]} options */
function fill(select, options) {
  const { value } = select;
  redraw(select, options, () => options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = options.some(([key]) => key === value) ? value : (options[0]?.[0] ?? "");
}

/** Returns lines as a text file, with times in UTC. @param {readonly Line[]} lines */
function textFile(lines) {
  const rows = lines.map(({ at, level, text }) => `${new Date(at).toISOString()} ${level.padEnd(5)} ${text}\n`);
  return new Blob(rows, { type: "text/plain;charset=utf-8" });
}

/** @param {number} at */
const isoDay = (at) => new Date(at).toISOString().slice(0, 10);
