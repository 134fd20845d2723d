import { send } from "../kit/api.js";
import {
  buttonRow,
  card,
  el,
  errorText,
  field,
  figure,
  pushButton,
  redraw,
  sentence,
  troubleNote,
} from "../kit/dom.js";
import { durationText, secondsText, versionsOf } from "../kit/format.js";
import { forgetScanned, scannedSerial } from "./scanned.js";
import { withSession } from "../kit/session.js";
import { stepList } from "./steps.js";
import { t } from "../texts/texts.js";

/** @typedef {import("../main.js").Context} Context */

/** The name stored for a person who entered no name. */
const SOMEBODY = "somebody with the PIN";
const STARTING = ["unprovisioned", "not_found", "released", "decommissioned", "denied"];

/** Draws the card that binds the booth to the service. @param {Context} context */
export function bindingCard(context) {
  const said = el("div", { role: "alert" });
  const body = el("div", {});
  const node = card(t("setup.binding"), {}, said, body);
  let wantsAnother = false;
  /** @param {() => Promise<unknown>} act */
  const run = async (act) => {
    said.replaceChildren();
    try {
      await withSession(act);
      wantsAnother = false;
    } catch (error) {
      said.replaceChildren(el("div", { className: "note bad" }, sentence(errorText(error))));
    }
    update();
  };
  const another = () => {
    wantsAnother = true;
    update();
  };
  const update = () => {
    const booth = context.booth();
    const { state, reason, advice } = booth.provisioning;
    const wait = countdown(booth, context.status().at);
    const showsForm = wantsAnother || STARTING.includes(state);
    redraw(
      body,
      [
        booth.booth,
        state,
        reason,
        advice,
        booth.serial,
        booth.provisioning.account,
        booth.provisioning.facility,
        booth.provisioning.brand,
        booth.provisioning.model,
        booth.provisioning.choices?.map((/** @type {any} */ one) => one.name),
        booth.plc.shows_serial,
        showsForm,
        versionsOf(booth.now),
        wait,
      ],
      () => [
        ...(wait === "" ? stateNote(booth) : waitNote(wait, reason)),
        showsForm && serialForm(booth, run),
        !showsForm && isToConfirm(booth) && confirmCard(booth, { run, another }),
        stepList(booth),
        !showsForm && state !== "active" && !isToConfirm(booth) && buttonRow(pushButton(t("setup.change"), another)),
      ],
    );
  };
  return { node, update };
}

/** Returns whether a person must confirm the binding before it continues. @param {any} booth */
function isToConfirm({ provisioning: { state, possible_at } }) {
  return state === "awaiting_confirm" || (state === "conflict" && possible_at === undefined);
}

/**
 * Returns when this box may take over the booth from another box, and how long that is from now; "" if it doesn't have to wait.
 * @param {any} booth @param {number} at now
 */
function countdown({ provisioning: { possible_at }, tz }, at) {
  if (possible_at === undefined) return "";
  const left = Math.max(0, Math.ceil((possible_at - at) / 1000) * 1000);
  return t("setup.possible", { at: secondsText(possible_at, tz), left: durationText(left) });
}

/**
 * Draws the countdown to the time when a take-over is possible, with the reason for the wait.
 * @param {string} wait @param {string} reason
 */
function waitNote(wait, reason) {
  const text = el("p", {}, t("setup.possibleText"));
  return [
    el("div", { className: "note", id: "countdown", role: "timer" }, el("h3", {}, wait), text),
    el("p", { className: "soft" }, sentence(reason)),
  ];
}

/** Draws a note about the state of the binding. @param {any} booth */
function stateNote({ serial, provisioning }) {
  const { state, reason, advice } = provisioning;
  if (state === "active")
    return [el("div", { className: "note good" }, el("p", {}, t("setup.done", { serial: serial ?? "" })))];
  if (state === "queued")
    return [
      el(
        "div",
        { className: "note good", id: "queued" },
        el("h3", {}, t("setup.queuedTitle")),
        el("p", {}, t("setup.queued")),
      ),
      el("p", { className: "soft" }, sentence(reason)),
    ];
  const isBad = ["conflict", "not_found", "denied", "suspended"].includes(state);
  return [
    el(
      "div",
      { className: "row" },
      el("p", { className: "advice", id: "state" }, t(`state.${state}`)),
      el("span", { className: "soft" }, serial ?? ""),
    ),
    (reason !== "" || (isBad && advice !== "")) && troubleNote(isBad ? "bad" : "", { reason, advice }),
  ];
}

/**
 * Draws the form for the booth's serial number. A scanned serial number is filled in.
 * @param {any} booth @param {(act: () => Promise<unknown>) => Promise<void>} run
 */
function serialForm({ booth, serial }, run) {
  const scanned = scannedSerial();
  const hint = el(
    "p",
    { className: "soft small", id: "serial-hint" },
    t(scanned === null ? "setup.serialHint" : "setup.scannedNow"),
  );
  const form = el(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const serial_number = String(new FormData(/** @type {HTMLFormElement} */ (form)).get("serial"))
          .trim()
          .toUpperCase();
        forgetScanned();
        void run(() => send("/api/booths_provisioning", { booth, serial_number }));
      },
      oninput: (/** @type {Event} */ event) => {
        const isLikely = /[OI01]/i.test(/** @type {HTMLInputElement} */ (event.target).value);
        hint.textContent = isLikely ? t("setup.likely") : t("setup.serialHint");
      },
    },
    field(t("setup.serial"), {
      name: "serial",
      className: "code",
      required: true,
      maxLength: 60,
      autocapitalize: "characters",
      spellcheck: false,
      "aria-describedby": "serial-hint",
      value: scanned ?? serial ?? "",
    }),
    hint,
    buttonRow(
      el("button", { className: "main", type: "submit" }, t("setup.check")),
      pushButton(t("setup.scanIt"), () => location.assign("/scan")),
    ),
  );
  return form;
}

/**
 * Asks whether this is the right booth, and whether this gateway replaces one that is already bound to the booth.
 * @param {any} booth @param {{ run: (act: () => Promise<unknown>) => Promise<void>, another: () => void }} acts
 */
function confirmCard(booth, { run, another }) {
  const isConflict = booth.provisioning.state === "conflict";
  /** @param {FormData} data */
  const confirm = (data) => {
    const [by, replace] = [String(data.get("by")).trim() || SOMEBODY, data.get("replace") !== null];
    const service_booth = data.get("service_booth") ?? undefined;
    return send("/confirm", { booth: booth.booth, by, note: "compared on the page", replace, service_booth });
  };
  const form = el(
    "form",
    {
      "aria-label": t("setup.card"),
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void run(() => confirm(new FormData(/** @type {HTMLFormElement} */ (form))));
      },
    },
    el("h3", {}, t("setup.card")),
    bothSides(booth),
    ...choiceOf(booth.provisioning.choices),
    field(t("setup.byFree"), { name: "by", maxLength: 100, autocomplete: "name" }),
    isConflict &&
      el(
        "label",
        { className: "check" },
        el("input", { type: "checkbox", name: "replace", required: true }),
        t("setup.replace"),
      ),
    buttonRow(
      el("button", { className: "main", type: "submit" }, t("setup.confirm")),
      pushButton(t("setup.reject"), another),
    ),
  );
  return form;
}

/** Draws a choice if several booths of the service match. @param {any[]} [choices] */
function choiceOf(choices = []) {
  if (choices.length < 2) return [];
  return choices.map(({ name, account, facility, brand, model }) =>
    el(
      "label",
      { className: "check" },
      el("input", { type: "radio", name: "service_booth", value: name, required: true }),
      [name, account, facility, brand, model].filter((text) => text !== null).join(", "),
    ),
  );
}

/** Shows the booth's data from the service and from the PLC, to be compared with the nameplate. @param {any} booth */
function bothSides({ serial, provisioning, plc, now }) {
  /** @param {string} name @param {string | null | undefined} value */
  const line = (name, value) => figure(t(name), value ?? el("span", { className: "soft" }, t("setup.unknown")));
  const { account, facility, brand, model } = provisioning;
  const { program, firmware } = versionsOf(now);
  const service = [
    line("setup.serialShort", serial),
    line("setup.account", account),
    line("setup.facility", facility),
    line("setup.brand", brand),
    line("setup.model", model),
  ];
  const own = [
    line("setup.serialShort", plc.shows_serial),
    line("setup.program", program),
    line("setup.firmware", firmware),
  ];
  return el(
    "div",
    { className: "compare" },
    el("div", {}, el("h3", {}, t("setup.fromService")), el("dl", {}, ...service)),
    el("div", {}, el("h3", {}, t("setup.fromPlc")), el("dl", {}, ...own)),
  );
}
