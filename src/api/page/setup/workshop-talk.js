import { converse, send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, errorText, field, pushButton, sentence } from "../kit/dom.js";
import { withSession } from "../kit/session.js";

const FINISHES = /\n$/;

/** Shows the output and the questions of the workshop while it runs, with a button that stops it. */
export function talkPanel() {
  const said = el("pre", { className: "lines", "aria-label": t("workshop.said"), tabIndex: 0, hidden: true });
  const step = el("p", { role: "status", className: "soft" });
  const asks = el("div", { role: "alert" });
  const stop = pushButton(t("workshop.stop"), () => ending.abort(), { hidden: true });
  const node = el("div", { id: "workshop-talk" }, said, step, asks, buttonRow(stop));
  let ending = new AbortController();
  /** @param {string} text */
  const fail = (text) => asks.replaceChildren(el("div", { className: "note bad lines" }, sentence(text)));
  /** @param {string} reply */
  const answer = async (reply) => {
    asks.replaceChildren();
    await send("/workshop/answer", { reply }).catch((error) => fail(String(error.message ?? error)));
  };
  /** @param {string} text */
  const say = (text) => {
    said.hidden = false;
    said.textContent = `${said.textContent ?? ""}${text}${FINISHES.test(text) ? "" : "\n"}`;
  };
  /** @param {any} wish */
  const run = async (wish) => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    /** @type {any} */
    let done = null;
    said.textContent = "";
    said.hidden = true;
    asks.replaceChildren();
    step.replaceChildren(t("workshop.working"));
    stop.hidden = false;
    node.scrollIntoView({ block: "nearest" });
    try {
      await withSession(() =>
        converse("/workshop/run", { body: wish, signal }, (name, data) => {
          if (name === "said") say(data.text);
          if (name === "table") say(aligned(data.rows));
          if (name === "progress") step.replaceChildren(data.text);
          if (name === "ask") {
            asks.replaceChildren(question(data, (reply) => void answer(reply)));
            asks.scrollIntoView({ block: "nearest" });
          }
          if (name === "failed") fail(data.error);
          if (name === "done") done = data;
        }),
      );
    } catch (error) {
      if (signal.aborted) say(t("workshop.stopped"));
      else fail(errorText(error));
    }
    step.replaceChildren();
    if (ending.signal === signal) stop.hidden = true;
    return done;
  };
  return { node, run, fail, stop: () => ending.abort() };
}

/**
 * Formats rows as lines with aligned columns. Columns of numbers are aligned to the right.
 * @param {readonly (readonly (string | number)[])[]} rows
 */
function aligned(rows) {
  const texts = rows.map((row) => row.map(String));
  const count = texts.reduce((most, row) => Math.max(most, row.length), 0);
  const columns = Array.from({ length: count }, (_, column) => ({
    width: texts.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0),
    isNumber: rows.some((row) => typeof row[column] === "number"),
  }));
  const lines = texts.map((row) => {
    const padded = row.map((cell, column) => {
      const { width = 0, isNumber = false } = columns[column] ?? {};
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    });
    return `${padded.join("  ").trimEnd()}\n`;
  });
  return lines.join("");
}

/**
 * @param {{ question: string, kind: string, choices: readonly { value: string, text: string }[] }} asked
 * @param {(reply: string) => void} answer
 */
function question({ question: text, kind, choices }, answer) {
  /** @param {string} label @param {string} reply @param {boolean} [isMain] */
  const reply = (label, reply, isMain = false) =>
    pushButton(t(label), () => answer(reply), isMain ? { className: "main" } : {});
  const words = el("p", { className: "advice lines" }, text);
  if (kind === "choose") {
    const buttons = choices.map(({ value, text: shown }) =>
      pushButton(shown === "" ? value : `${value}: ${shown}`, () => answer(value)),
    );
    return el("div", { className: "note" }, words, buttonRow(...buttons));
  }
  if (kind === "agree") {
    return el(
      "div",
      { className: "note" },
      words,
      buttonRow(reply("workshop.yes", "y", true), reply("workshop.no", "n")),
    );
  }
  if (kind === "ready") {
    const plain = el("p", { className: "advice" }, text);
    return el(
      "div",
      { className: "note" },
      plain,
      buttonRow(reply("workshop.isSo", "", true), reply("workshop.leaveOut", "s")),
    );
  }
  const form = el(
    "form",
    {
      className: "note",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        answer(String(new FormData(/** @type {HTMLFormElement} */ (form)).get("reply") ?? "").trim());
      },
    },
    words,
    field(t("workshop.reply"), { name: "reply", maxLength: 200, autocapitalize: "none", spellcheck: false }),
    buttonRow(el("button", { className: "main", type: "submit" }, t("workshop.say"))),
  );
  return form;
}
