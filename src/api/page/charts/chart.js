import { saveBlob } from "../kit/api.js";
import { el, table } from "../kit/dom.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../kit/dom.js").Child} Child */
/** @typedef {{ heads: readonly string[], rows: readonly (readonly (string | number | null)[])[] }} Rows */

/** Names of charts whose tables are open. Redrawing a chart keeps its table open. @type {Set<string>} */
const opened = new Set();

/**
 * Draws the footer of a chart. It offers the figures as a file and as a table, for exact values and for people who can't see the chart.
 * @param {{ name: string, title: string, shown: () => Rows, csv: () => Rows }} chart `name`: name of the file, which
 *   also identifies the chart
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

/** Makes a CSV file from the heads and rows of a table. @param {Rows} rows */
function csvBlob({ heads, rows }) {
  const text = [heads, ...rows].map((cells) => cells.map(csvCell).join(",")).join("\n");
  return new Blob([`${text}\n`], { type: "text/csv" });
}

/**
 * Quotes a cell of a CSV file if necessary, and keeps a spreadsheet from reading the cell as a formula.
 * @param {string | number | null} cell
 */
function csvCell(cell) {
  if (cell === null) return "";
  const text = String(cell);
  const safe = typeof cell === "string" && /^\s*[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns an instant in UTC for a file, because a reader of the file can't know which time zone was meant. @param {number} at */
export function csvTime(at) {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/**
 * Fetches a chart's data whenever `key` changes, and every `every_ms`. Answers for an older key are dropped. After a failure, the old data
 * remains and the request is soon repeated.
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
    /** @param {string} wanted @param {() => Promise<T>} load @param {boolean} [keep] shows the old key's data until the new data arrives */
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
    /** Marks the data as out of date, so that the next update fetches it. */
    again() {
      due = -Infinity;
    },
    drop() {
      turn += 1;
    },
  };
}
