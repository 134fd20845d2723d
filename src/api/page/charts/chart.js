import { saveBlob } from "../kit/api.js";
import { el, table } from "../kit/dom.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../kit/dom.js").Child} Child */
/** @typedef {{ heads: readonly string[], rows: readonly (readonly (string | number | null)[])[] }} Rows */

/** Names of charts whose tables are open: redrawing must not close them. @type {Set<string>} */
const opened = new Set();

/**
 * The footer of a chart: its figures as a table, for people who can't see the chart or want exact values, and as a file.
 * @param {{ name: string, title: string, shown: () => Rows, csv: () => Rows }} chart `name`: of the file, and of the chart where it is told
 *   apart from others
 */
export function chartFooter({ name, title, shown, csv }) {
  const body = el("div", {});
  const fill = () => {
    const { heads, rows } = shown();
    body.replaceChildren(
      table(
        title,
        heads,
        rows.map((row) => row.map((cell) => (cell === null ? "–" : String(cell)))),
      ),
    );
  };
  const details = /** @type {HTMLDetailsElement} */ (
    el("details", {}, el("summary", {}, t("chart.table"), el("span", { className: "hidden" }, `: ${title}`)), body)
  );
  if (opened.has(name)) {
    details.open = true;
    fill();
  }
  details.addEventListener("toggle", () => {
    if (details.open) fill();
    if (details.open) opened.add(name);
    else opened.delete(name);
  });
  const save = el(
    "button",
    { type: "button", className: "slight", onclick: () => saveBlob(csvBlob(csv()), `${name}.csv`) },
    t("chart.csv"),
    el("span", { className: "hidden" }, `: ${title}`),
  );
  return el("div", { className: "chart-foot no-print" }, details, save);
}

/** @param {Rows} rows */
function csvBlob({ heads, rows }) {
  const text = [heads, ...rows].map((cells) => cells.map(csvCell).join(",")).join("\n");
  return new Blob([`${text}\n`], { type: "text/csv" });
}

/** Quoted where it must be; what a spreadsheet would take for a formula is made harmless. @param {string | number | null} cell */
function csvCell(cell) {
  if (cell === null) return "";
  const text = String(cell);
  const safe = typeof cell === "string" && /^\s*[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** An instant for a file: no reader of one is asked which zone was meant. @param {number} at */
export function csvTime(at) {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/**
 * Fetches the data of a chart: when `key` changes, and every `every_ms`. Answers for an older key are dropped. After a failure the old
 * data stays, and the request is repeated soon.
 * @template T @param {number} every_ms @param {() => void} onChange
 */
export function loader(every_ms, onChange) {
  const AGAIN_MS = 5_000;
  let key = "";
  let due = -Infinity;
  let turn = 0;
  /** @type {T | null} */
  let data = null;
  return {
    /** @returns {T | null} null before the first answer */
    data: () => data,
    /** @param {string} wanted @param {() => Promise<T>} load @param {boolean} [keep] what was there for another key is shown until the new comes */
    want(wanted, load, keep = false) {
      const now = performance.now();
      if (wanted === key && now < due) return;
      if (wanted !== key && !keep) data = null;
      key = wanted;
      due = now + every_ms;
      turn += 1;
      const mine = turn;
      load().then(
        (found) => {
          if (mine !== turn) return;
          data = found;
          onChange();
        },
        () => {
          if (mine === turn) due = performance.now() + AGAIN_MS;
        },
      );
    },
    /** Marks the data as out of date. */
    again() {
      due = -Infinity;
    },
    drop() {
      turn += 1;
    },
  };
}
