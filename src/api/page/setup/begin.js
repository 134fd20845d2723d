import { ApiError, get, send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, errorText, field, pushButton, redraw, sentence } from "../kit/dom.js";
import { durationText } from "../kit/format.js";
import { plcStep } from "./find.js";
import { programStep } from "./program.js";
import { withSession } from "../kit/session.js";
import { freeName, trialStep, zoneStep } from "./trial.js";

/** @typedef {import("../main.js").Context} Context */

/**
 * The input of a step of the set-up: the box's state, the answers so far, and the handler of a new answer.
 * @typedef {{ status: any, draft: any, answer: (more: object) => Promise<void>, run: (act: () => Promise<unknown>) => Promise<void> }} Step
 */

/** @typedef {{ nodes: readonly (HTMLElement | false | null)[], close: () => void }} StepView */

const STEPS = /** @type {const} */ (["service", "plc", "profile", "zone", "trial"]);
/** Interval at which the page asks whether settings on trial were accepted. */
const LOOK_EVERY_MS = 1_000;

/** Sets a box up step by step. The box stores each answer at once, so that any device can continue. @param {Context} context */
export function beginCard(context) {
  const said = el("div", { role: "alert" });
  const body = el("div", {});
  const list = el("ol", { className: "steps", "aria-label": t("begin.steps") });
  const title = el("h2", {}, t("begin.title"));
  const node = el(
    "section",
    { className: "card wide no-print", "aria-label": t("begin.title"), hidden: true },
    title,
    list,
    said,
    body,
  );
  /** @type {any} */
  let status = null;
  let asked = -Infinity;
  let wantsService = false;
  let isOver = false;
  /** @type {{ close: () => void } | null} */
  let open = null;

  /** @param {() => Promise<unknown>} act */
  const run = async (act) => {
    said.replaceChildren();
    try {
      await withSession(act);
      await refresh();
    } catch (error) {
      const text = errorText(error);
      said.replaceChildren(el("div", { className: "note bad" }, sentence(text)));
    }
  };
  /** @param {object} more */
  const answer = async (more) => {
    await run(() => send("/setup/draft", { draft: { ...status.draft, ...more } }, "PUT"));
  };
  const refresh = async () => {
    asked = performance.now();
    status = await get("/setup").catch((error) => {
      if (error instanceof ApiError && error.status === 501) isOver = true;
      return status;
    });
    if (!isOver) draw();
  };
  const draw = () => {
    const { draft, trial } = status;
    const lacks = context.status().lacks;
    const step = stepOf(status, { lacks, wantsService });
    node.hidden = false;
    title.textContent = t(lacks.length > 0 || step !== "" ? "begin.title" : "begin.more");
    drawSteps(list, step, draft);
    const left = trial === null ? "" : durationText(Math.ceil(trial.left_ms / 1000) * 1000);
    const key = [step, step === "" ? status : draft, left, status.taken_back, status.service];
    redraw(body, key, () => {
      open?.close();
      open = null;
      return [takenBack(status), ...drawn(step)];
    });
  };
  /** @param {string} step @returns {readonly (HTMLElement | false | null)[]} */
  const drawn = (step) => {
    const change = {
      service: () => void ((wantsService = true), draw()),
      later: () => void ((wantsService = false), answer({ service: "later" })),
    };
    const view = viewOf(step, { status, draft: status.draft, answer, run }, change);
    open = view;
    return view.nodes;
  };

  const update = () => {
    const isDue = performance.now() - asked >= LOOK_EVERY_MS;
    if (isDue && !isOver && (status === null || status.trial !== null)) void refresh();
  };
  return { node, update, close: () => open?.close() };
}

/**
 * @param {string} step @param {Step} here @param {{ service: () => void, later: () => void }} change
 * @returns {StepView}
 */
function viewOf(step, here, change) {
  /** @param {readonly (HTMLElement | false | null)[]} nodes @returns {StepView} */
  const still = (nodes) => ({ nodes, close: () => undefined });
  /** @param {StepView} view */
  const leaving = ({ nodes, close }) => ({ nodes: [...nodes, wayBack(here)], close });
  if (step === "service") return still(serviceStep(here, change.later));
  if (step === "plc") return leaving(plcStep(here));
  if (step === "profile") return leaving(programStep(here));
  if (step === "zone") return leaving(still(zoneStep(here)));
  return still(step === "trial" ? trialStep(here) : summary(here, change));
}

/**
 * Returns the next step of the set-up; "" if it is complete.
 * @param {any} status @param {{ lacks: readonly string[], wantsService: boolean }} now
 */
function stepOf({ trial, draft, service, booths }, { lacks, wantsService }) {
  if (trial !== null) return "trial";
  const lacksService =
    service.said_by !== "file" && (service.url === null || !service.has_key) && draft.service !== "later";
  if (wantsService || (lacksService && (lacks.length > 0 || booths.length === 0))) return "service";
  if (draft.id === undefined && !lacks.includes("booth")) return "";
  if (!hasLink(draft)) return "plc";
  return typeof draft.profile === "string" ? "zone" : "profile";
}

/**
 * Draws the list of the set-up's steps. An empty `step` hides the list.
 * @param {HTMLElement} list @param {string} step @param {any} draft
 */
function drawSteps(list, step, draft) {
  list.hidden = step === "";
  redraw(list, [step, draft], () => STEPS.map((name) => stepItem(name, step, draft)));
}

/** Draws a step of the list: done, current or still to come. @param {typeof STEPS[number]} name @param {string} step @param {any} draft */
function stepItem(name, step, draft) {
  const [here, index] = [STEPS.indexOf(/** @type {any} */ (step)), STEPS.indexOf(name)];
  const done = index < here;
  const mark = done ? "✓" : index === here ? "…" : "·";
  return el(
    "li",
    {
      className: done ? "done" : index === here ? "here" : "soft",
      ...(index === here ? { "aria-current": "step" } : {}),
    },
    el("span", { className: "tick", "aria-hidden": "true" }, mark),
    t(`step.${name}`),
    el("span", { className: "soft small" }, done ? ` ${answerText(name, draft)}` : ""),
  );
}

/** Returns the person's answer to a step as text; "": no answer yet. @param {string} name @param {any} draft */
function answerText(name, draft) {
  if (name === "plc") return linkText(draft.link ?? {});
  return name === "profile" ? String(draft.profile ?? "") : name === "zone" ? String(draft.tz ?? "") : "";
}

/** Returns the PLC's address as text; "": no address yet. @param {any} link */
function linkText({ modbus, opcua }) {
  if (opcua !== undefined) return opcua.endpoint;
  if (modbus === undefined) return "";
  return modbus.serial?.path ?? (modbus.port === undefined ? modbus.host : `${modbus.host}:${modbus.port}`);
}

/** Draws the note that the last change was undone; null: no change was undone. @param {any} status */
function takenBack({ taken_back }) {
  if (taken_back === null) return null;
  return el(
    "div",
    { className: "note bad", id: "taken-back" },
    t("begin.takenBack", { ...taken_back, reason: sentence(taken_back.reason) }),
  );
}

/** Draws the step that asks for the service's address and key. `later`: skips the step. @param {Step} step @param {() => void} later */
function serviceStep({ status, run }, later) {
  const { url, said_by, has_key } = status.service;
  const form = el(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const data = new FormData(/** @type {HTMLFormElement} */ (form));
        const [typed, key] = [String(data.get("url") ?? "").trim(), String(data.get("key") ?? "").trim()];
        void run(() =>
          send("/setup/service", { ...(typed === "" ? {} : { url: typed }), ...(key === "" ? {} : { api_key: key }) }),
        );
      },
    },
    said_by !== "file" &&
      field(t("begin.url"), {
        name: "url",
        type: "url",
        maxLength: 2000,
        required: url === null,
        value: url ?? "",
        "aria-describedby": "url-hint",
      }),
    said_by !== "file" && el("p", { className: "soft small", id: "url-hint" }, t("begin.urlHint")),
    !has_key &&
      field(t("begin.key"), { name: "key", type: "password", maxLength: 4096, "aria-describedby": "key-hint" }),
    !has_key && el("p", { className: "soft small", id: "key-hint" }, t("begin.keyHint")),
    buttonRow(
      el("button", { className: "main", type: "submit" }, t("begin.save")),
      pushButton(t("begin.later"), later),
    ),
  );
  return [el("p", { className: "soft" }, t("begin.kept")), form];
}

/** Draws the buttons that lead back to an earlier step or leave the set-up. @param {Step} step */
function wayBack({ status, draft, answer, run }) {
  const leave = () => run(() => send("/setup/draft", { draft: {} }, "PUT"));
  /** @param {string} text @param {() => Promise<void>} act */
  const button = (text, act) => pushButton(t(text), () => void act());
  return buttonRow(
    hasLink(draft) && button("begin.otherPlc", () => answer({ link: null, profile: null })),
    typeof draft.profile === "string" && button("begin.other", () => answer({ profile: null })),
    (status.booths.length > 0 || hasLink(draft)) && button("begin.leave", leave),
  );
}

/** Returns whether the draft has a link to a PLC. @param {any} draft */
function hasLink({ link }) {
  return link !== undefined && link !== null;
}

/** Shows the present settings, and the source of each. @param {Step} step @param {{ service: () => void }} change */
function summary({ status, answer }, change) {
  const { service, booths } = status;
  const isFixed = service.said_by === "file";
  /** @param {string} id */
  const changeBooth = (id) => pushButton(t("begin.changeBooth", { booth: id }), () => void answer({ id }));
  return [
    el(
      "dl",
      { className: "settings" },
      el("dt", {}, t("step.service")),
      el("dd", {}, service.url ?? t("begin.noService"), " ", whose(service.said_by)),
      ...booths.flatMap((/** @type {any} */ one) => [
        el("dt", {}, one.booth),
        el(
          "dd",
          {},
          t("begin.booth", one),
          " ",
          whose(Object.values(one.said_by).includes("file") ? "file" : "set_up"),
        ),
      ]),
    ),
    buttonRow(
      !isFixed && pushButton(t("step.service"), change.service),
      ...booths
        .filter((/** @type {any} */ one) => !Object.values(one.said_by).includes("file"))
        .map((/** @type {any} */ one) => changeBooth(one.booth)),
      pushButton(t("begin.another"), () => void answer({ id: freeName(status) })),
    ),
  ];
}

/** Draws the source of a setting, in parentheses; "": the source is unknown. @param {string | null} said_by */
function whose(said_by) {
  return said_by === null ? "" : el("span", { className: "soft small" }, `(${t(`whose.${said_by}`)})`);
}
