import { download, get, send } from "../kit/api.js";
import { buttonRow, card, el, errorText, field, figure, pushButton, redraw, sentence, table } from "../kit/dom.js";
import { bytes, durationText, timeOf, versionsOf, whenText } from "../kit/format.js";
import { pinButton, withSession } from "../kit/session.js";
import { t } from "../texts/texts.js";
import { logPanel } from "./log.js";

const AGAIN_MS = 5_000;
/** @type {readonly any[]} */
const NO_LINES = [];

/** @typedef {import("../main.js").Context} Context */

/** Shows the health of the box itself. @param {Context} context */
export function healthView(context) {
  const incidents = el("div", {});
  const clock = el("div", {});
  const store = el("div", {});
  const network = el("div", {});
  const told_to = el("div", {});
  const toldCard = card(t("health.told"), { class: "wide" }, told_to);
  const versions = el("dl", { className: "figures plain" });
  const log = el("div", {});
  const panel = logPanel();
  const said = el("p", { role: "status", className: "advice" });
  const node = el(
    "div",
    { className: "grid two" },
    card(t("health.clock"), {}, clock),
    card(t("health.store"), {}, store),
    card(t("health.network"), { class: "wide" }, network),
    card(t("health.versions"), { class: "wide" }, versions),
    toldCard,
    card(t("health.incidents"), { class: "wide" }, incidents),
    card(t("health.log"), { class: "wide" }, log),
    helpCard(said),
  );
  /** @type {{ incidents: any[], lines: any[] | null } | null} */
  let shown = null;
  let asked = -Infinity;
  const refresh = async () => {
    if (performance.now() - asked < AGAIN_MS) return;
    asked = performance.now();
    const { booth } = context.booth();
    const answers = await Promise.all([
      get(`/api/validation_incidents?booth_id=${encodeURIComponent(booth)}&limit=25&sort=-first_seen_at`),
      context.needsPin() ? null : get("/log").catch(() => null),
    ]).catch(() => null);
    if (answers === null) return;
    shown = { incidents: answers[0].data, lines: answers[1]?.lines ?? null };
    update();
  };
  const update = () => {
    const booth = context.booth();
    const status = context.status();
    redraw(incidents, shown?.incidents, () => [incidentTable(shown?.incidents ?? [], booth)]);
    const clockLines = clockTexts(status);
    redraw(clock, clockLines, () =>
      clockLines.map(([level, text]) => el("p", {}, el("span", { className: `badge ${level}` }, text))),
    );
    const storeLines = storeTexts(booth, status);
    redraw(store, storeLines, () => [storeBar(booth.log.storage), ...storeLines.map((text) => el("p", {}, text))]);
    redraw(network, [status.traffic], () => trafficParts(status.traffic));
    toldCard.hidden = status.notices.length + status.outputs.length === 0;
    const toldLines = toldTexts(status);
    redraw(told_to, toldLines, () =>
      toldLines.map(([level, name, text]) =>
        el("p", {}, el("span", { className: `badge ${level}` }, name), ` ${text}`),
      ),
    );
    const { agent_version, gateway_id, certificates } = status;
    const up_for = durationText(status.at - status.started_at);
    redraw(versions, [agent_version, gateway_id, up_for, versionsOf(booth.now), certificates], () =>
      versionFigures(status, booth),
    );
    // Asks again at once if the person has signed in since the last request.
    if (!context.needsPin() && shown?.lines === null) asked = -Infinity;
    redraw(log, context.needsPin(), () => [context.needsPin() ? pinButton() : panel.node]);
    panel.update(shown?.lines ?? NO_LINES, booth.tz);
    void refresh();
  };
  return { node, update, close: () => undefined };
}

/** Draws the table of the booth's incidents. @param {any[]} incidents @param {import("../main.js").Booth} booth */
function incidentTable(incidents, { tz, time }) {
  if (incidents.length === 0) return el("p", {}, t("health.noIncidents"));
  const shown = table(
    t("health.incidents"),
    [t("health.first"), t("health.tag"), t("health.reason"), t("health.state")],
    incidents.map(({ first_seen_at, tag_name, reason, resolved_at }) => [
      whenText(timeOf(first_seen_at), tz, time),
      tag_name,
      reason,
      resolved_at === null
        ? el("span", { className: "badge warn" }, t("health.open"))
        : t("health.resolved", { at: whenText(timeOf(resolved_at), tz, time) }),
    ]),
  );
  // Stacks the cells on a phone, because the reason is a sentence and too long for a narrow column.
  shown.classList.add("stack");
  return shown;
}

/**
 * Returns the texts about the state of the clock, each with the look of its badge.
 * @param {import("../main.js").Status} status @returns {(readonly [string, string])[]}
 */
function clockTexts({ clock, booths }) {
  const waiting = booths.reduce((sum, { log }) => sum + log.waiting_for_clock, 0);
  if (!clock.synced) {
    return [
      ["bad", t("health.unsynced")],
      ["warn", t("health.clock_waiting", { count: waiting })],
    ];
  }
  const off = Math.abs(clock.offset_ms ?? 0);
  return off < 2_000
    ? [["good", t("health.synced")]]
    : [
        ["good", t("health.synced")],
        ["warn", t("health.offset", { time: durationText(off) })],
      ];
}

/** Returns the state of the outputs and notices. @param {import("../main.js").Status} status @returns {(readonly [string, string, string])[]} */
function toldTexts({ outputs, notices, at }) {
  /** @param {Exclude<import("../main.js").Link, { kind: "up" }>} link */
  const down = ({ reason, advice }) => t("health.notTold", { reason, advice: sentence(advice) });
  return [
    ...outputs.map(({ name, link, booths, pushed }) => {
      const count = booths.reduce((sum, one) => sum + one.waiting, 0);
      const passed = booths.flatMap((one) => one.passed_over).length;
      const up = t("health.outputUp", { time: durationText(at - link.since), count: pushed?.waiting ?? count });
      const text = [link.kind === "up" ? up : down(link), passed > 0 && t("health.outputPassed", { count: passed })];
      return /** @type {const} */ ([link.kind === "up" ? "good" : "bad", name, text.filter(Boolean).join(" ")]);
    }),
    ...notices.map(({ name, link, last, waiting }) => {
      const newest =
        last === null
          ? t("health.toldNone")
          : t("health.toldLast", { what: last.what, time: durationText(at - last.at) });
      const waits = waiting === 0 ? [] : [t("health.toldWaits", { count: waiting })];
      const state = link.kind === "up" ? [] : [down(link)];
      return /** @type {const} */ ([link.kind === "up" ? "good" : "bad", name, [...state, ...waits, newest].join(" ")]);
    }),
  ];
}

/**
 * Returns the texts about the state of the booth's store.
 * @param {import("../main.js").Booth} booth @param {import("../main.js").Status} status
 */
function storeTexts({ log }, { at, loss_window_ms }) {
  const { storage } = log;
  return [
    ...(storage === null ? [] : [t("health.used", { used: bytes(storage.used_bytes), max: bytes(storage.max_bytes) })]),
    ...(storage?.hours_to_full === null || storage === null
      ? []
      : [t("health.toFull", { time: durationText(storage.hours_to_full * 3_600_000) })]),
    ...(log.last_commit_at === null ? [] : [t("health.lastCommit", { time: durationText(at - log.last_commit_at) })]),
    t("health.loss", { time: durationText(loss_window_ms) }),
    ...(log.missing === null ? [] : [t("health.missing", { reason: log.missing })]),
    ...(storage?.health.low ? [t("health.lowDisk")] : []),
    ...(storage !== null && storage.health.damaged_files.length > 0
      ? [t("health.damaged", { files: storage.health.damaged_files.join(", ") })]
      : []),
    ...(log.trouble === "" ? [] : [t("note.store", { reason: log.trouble })]),
  ];
}

/** Draws a bar with the used share of the store; null: the store's size is unknown. @param {any} storage */
function storeBar(storage) {
  if (storage === null) return null;
  const percent = Math.min(100, (storage.used_bytes / storage.max_bytes) * 100);
  const text = t("health.used", { used: bytes(storage.used_bytes), max: bytes(storage.max_bytes) });
  return el(
    "div",
    {
      className: "gauge",
      role: "meter",
      "aria-label": text,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": Math.round(percent),
      "aria-valuetext": text,
    },
    el("i", { style: { width: `${percent.toString()}%` } }),
  );
}

/** Shows the network traffic by purpose. @param {any} traffic */
function trafficParts(traffic) {
  if (traffic === undefined) return [];
  const { today, month, budget_bytes, reason, advice } = traffic;
  const purposes = Object.keys(month.traffic);
  /** @param {any} period @param {string} purpose */
  const both = ({ traffic }, purpose) => bytes(traffic[purpose].up + traffic[purpose].down);
  const shown = table(
    t("health.network"),
    [t("health.purpose"), t("health.today"), t("health.month")],
    purposes.map((purpose) => [t(`purpose.${purpose}`), both(today, purpose), both(month, purpose)]),
  );
  const budget =
    budget_bytes === null
      ? null
      : el("p", {}, t("health.budget", { used: bytes(month.metered), max: bytes(budget_bytes) }));
  const gives =
    reason === ""
      ? null
      : el(
          "p",
          {},
          el("span", { className: "badge warn" }, t("health.thrift")),
          ` ${sentence(reason)}. ${sentence(advice)}.`,
        );
  const cuts = month.cuts === 0 ? null : el("p", {}, t("health.cuts", { count: month.cuts }));
  return [shown, budget, gives, cuts].filter((part) => part !== null);
}

/**
 * Returns the versions of the agent and the booth, and the certificates with their expiry dates.
 * @param {import("../main.js").Status} status @param {import("../main.js").Booth} booth
 */
function versionFigures(status, { now }) {
  const { program, firmware } = versionsOf(now);
  return [
    figure(t("health.agent"), status.agent_version),
    figure(t("health.running"), durationText(status.at - status.started_at)),
    figure(t("health.firmware"), firmware ?? "–"),
    figure(t("health.program"), program ?? "–"),
    el("div", { className: "wide" }, el("dt", {}, t("health.gateway")), el("dd", {}, status.gateway_id)),
    ...status.certificates.map((/** @type {any} */ { server, expires, advice }) =>
      figure(
        t("health.profile", { server: server ?? t("health.own") }),
        el(
          "small",
          {},
          t("health.ends", { day: new Date(expires).toISOString().slice(0, 10) }),
          advice === "" ? "" : `; ${advice}`,
        ),
      ),
    ),
  ];
}

/** @param {HTMLElement} said */
function helpCard(said) {
  /** @param {() => Promise<string>} action */
  const tell = (action) => {
    void action().then(
      (text) => said.replaceChildren(text),
      (error) => said.replaceChildren(errorText(error)),
    );
  };
  const form = el(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const values = Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (form)));
        tell(async () => t("health.kept", { id: (await withSession(() => send("/api/help", values))).id }));
      },
    },
    field(t("health.subject"), { name: "subject", required: true, maxLength: 200 }),
    field(t("health.message"), { name: "message", maxLength: 4000 }),
    buttonRow(
      el("button", { type: "submit" }, t("health.keep")),
      pushButton(t("health.download"), () =>
        tell(async () => (await withSession(() => download("/support.json", "booth-gateway-report.json")), "")),
      ),
    ),
  );
  return card(t("health.help"), { class: "wide no-print" }, el("p", {}, t("health.helpText")), form, said);
}
