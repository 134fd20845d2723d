import { converse, send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, errorText, field, pushButton, sentence, table } from "../kit/dom.js";
import { progressLine } from "../kit/progress.js";
import { withSession } from "../kit/session.js";

/** Maximum number of choices that are shown as buttons; more are shown as a list. */
const MOST_BUTTONS = 6;

/** Shows the output and the questions of the workshop while it runs, with a button that stops it. */
export function talkPanel() {
  const said = el("div", { className: "said", role: "group", "aria-label": t("workshop.said") });
  const work = progressLine();
  const asks = el("div", { role: "alert" });
  const stop = pushButton(t("workshop.stop"), () => ending.abort(), { hidden: true });
  const node = el("div", { id: "workshop-talk" }, said, work.node, asks, buttonRow(stop));
  let ending = new AbortController();
  /** @param {string} text */
  const fail = (text) => asks.replaceChildren(el("div", { className: "note bad lines" }, sentence(text)));
  /** @param {string} reply */
  const answer = async (reply) => {
    asks.replaceChildren();
    await send("/workshop/answer", { reply }).catch((error) => fail(String(error.message ?? error)));
  };
  /** Runs an action. Resolves with its result, or null after it has shown an error. @param {any} wish */
  const run = async (wish) => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    /** @type {any} */
    let done = null;
    said.replaceChildren();
    asks.replaceChildren();
    work.show(t("workshop.working"));
    stop.hidden = false;
    node.scrollIntoView({ block: "nearest" });
    /** @param {string} name @param {any} data */
    const event = (name, data) => {
      if (name === "said" && wish.action !== "test") said.append(el("p", { className: "lines soft" }, data.text));
      if (name === "table") {
        // Each list of candidates replaces the one before.
        if (wish.action === "learn") said.replaceChildren();
        said.append(rowsView(data.rows));
      }
      if (name === "progress") work.show(data.text, data.share);
      if (name === "ask") {
        work.show("");
        asks.replaceChildren(question(data, (reply) => void answer(reply)));
        asks.scrollIntoView({ block: "nearest" });
      }
      if (name === "failed") fail(data.error);
      if (name === "done") done = data;
    };
    try {
      await withSession(() => converse("/workshop/run", { body: wish, signal }, event));
    } catch (error) {
      // A newer run has its own output.
      if (signal.aborted && ending.signal !== signal) return null;
      if (signal.aborted) said.append(el("p", { className: "soft" }, t("workshop.stopped")));
      else fail(errorText(error));
    }
    if (ending.signal !== signal) return done;
    work.show("");
    stop.hidden = true;
    return done;
  };
  return { node, run, fail, stop: () => ending.abort() };
}

/** Draws rows: lines of text, or a table whose first row is the head. @param {readonly (readonly (string | number)[])[]} rows */
function rowsView(rows) {
  const [first = [], ...rest] = rows.map((row) => row.map(String));
  if (first.length === 1) return el("p", { className: "lines" }, [first, ...rest].map(([text]) => text).join("\n"));
  const made = table(t("workshop.said"), first, rest);
  made.classList.add("stack");
  return made;
}

/**
 * @param {{ question: string, kind: string, choices: readonly { value: string, text: string }[] }} asked
 * @param {(reply: string) => void} answer
 */
function question({ question: text, kind, choices }, answer) {
  /** @param {string} label @param {string} reply @param {boolean} [isMain] */
  const reply = (label, reply, isMain = false) =>
    pushButton(t(label), () => answer(reply), isMain ? { className: "main" } : {});
  const words = el("p", { className: "advice lines" }, sentence(text));
  /** @param {...(HTMLElement | false)} parts */
  const note = (...parts) => el("div", { className: "note" }, words, ...parts);
  switch (kind) {
    case "choose":
      return note(choices.length > MOST_BUTTONS ? listOf(choices, answer) : buttonRow(...choices.map(buttonOf)));
    case "match":
      return note(
        buttonRow(reply("workshop.yes", "y", true), reply("workshop.no", "n")),
        choices.length > 0 && el("p", {}, t("workshop.others")),
        choices.length > 0 &&
          buttonRow(...choices.map(({ value, text: shown }) => pushButton(shown, () => answer(value)))),
      );
    case "agree":
      return note(buttonRow(reply("workshop.yes", "y", true), reply("workshop.no", "n")));
    case "ready":
      return note(
        buttonRow(reply("workshop.isSo", "", true), reply("workshop.leaveOut", "s"), reply("workshop.again", "r")),
      );
    default:
      return replyForm(words, answer);
  }
  /** @param {{ value: string, text: string }} choice */
  function buttonOf({ value, text: shown }) {
    return pushButton(shown === "" ? t(`mode.${value}`) : `${value}: ${shown}`, () => answer(value));
  }
}

/** Draws choices as a list with a button. @param {readonly { value: string, text: string }[]} choices @param {(reply: string) => void} answer */
function listOf(choices, answer) {
  const select = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      { "aria-label": t("workshop.reply") },
      ...choices.map(({ value, text }) => el("option", { value }, text || value)),
    )
  );
  return el(
    "div",
    {},
    select,
    buttonRow(pushButton(t("workshop.say"), () => answer(select.value), { className: "main" })),
  );
}

/** @param {HTMLElement} words @param {(reply: string) => void} answer */
function replyForm(words, answer) {
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
