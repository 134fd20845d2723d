import { converse } from "../kit/api.js";
import { buttonRow, card, el, errorText, field, pushButton, redraw, sentence, table } from "../kit/dom.js";
import { number } from "../kit/format.js";
import { progressLine } from "../kit/progress.js";
import { t } from "../texts/texts.js";
import { withSession } from "../kit/session.js";

/** @typedef {import("../main.js").Context} Context */

/** Maximum number of interpretations shown for a value, best first. */
const MOST_WAYS = 8;

/**
 * Shows the tools for the PLC. They find out what answers there, and which address and byte order a manual means.
 * @param {Context} context
 */
export function plcCard(context) {
  const found = el("div", {});
  const tags = el("datalist", { id: "tags" });
  const work = atWork();
  /** @param {string} path @param {object} body @param {(done: any) => HTMLElement[]} show */
  const run = async (path, body, show) => {
    found.replaceChildren();
    const done = await work.run(path, body);
    if (done !== null) found.replaceChildren(...show(done));
  };
  const address = addressOf(context.booth());
  const node = card(
    t("plc.title"),
    { class: "no-print" },
    el("p", { className: "soft" }, t("plc.text")),
    form(
      (values) => run("/plc/probe", { address: values.address }, probeResult),
      [field(t("plc.address"), { name: "address", required: true, maxLength: 255, value: address })],
      t("plc.probe"),
    ),
    form(
      ({ at, expect }) => run("/plc/detect", { ...wanted(context), at, ...(expect ? { expect } : {}) }, detectResult),
      [tagField(), field(t("plc.expect"), { name: "expect", maxLength: 40, inputMode: "decimal" })],
      t("plc.detect"),
    ),
    tags,
    work.node,
    found,
  );
  const update = () => {
    const names = context.readings().map(({ tag }) => tag);
    redraw(tags, names, () => names.map((value) => el("option", { value })));
  };
  return { node, update, close: () => work.stop() };
}

/** Runs a tool of the box, with its progress and a stop button. `run` resolves with the result, or null after it has shown an error. */
export function atWork() {
  const said = el("div", { role: "status" });
  const work = progressLine();
  const stop = pushButton(t("plc.stop"), () => ending.abort(), { hidden: true });
  const node = el("div", {}, work.node, said, buttonRow(stop));
  let ending = new AbortController();
  /** @param {string} path @param {object} body @returns {Promise<any>} */
  const run = async (path, body) => {
    ending.abort();
    ending = new AbortController();
    const { signal } = ending;
    /** @type {any} */
    let done = null;
    said.replaceChildren();
    work.show(t("plc.working"));
    stop.hidden = false;
    try {
      await withSession(() =>
        converse(path, { body, signal }, (name, data) => {
          if (name === "progress" && data.text !== "") work.show(t("plc.step", data), data.share);
          if (name === "failed") said.replaceChildren(el("div", { className: "note bad" }, sentence(data.error)));
          if (name !== "done") return;
          done = data;
        }),
      );
    } catch (error) {
      const text = errorText(error);
      said.replaceChildren(signal.aborted ? t("plc.stopped") : el("div", { className: "note bad" }, sentence(text)));
    }
    if (ending.signal !== signal) return null;
    work.show("");
    stop.hidden = true;
    return done;
  };
  return { node, run, stop: () => ending.abort() };
}

/** Returns the body of a request about the booth that is shown. @param {Context} context */
const wanted = (context) => ({ booth: context.booth().booth });

/**
 * Returns the address that the form shows first. Returns "" for a serial line, because only a network address can be probed.
 * @param {any} booth
 */
function addressOf({ plc }) {
  return /^[\w.:[\]-]+$/.test(plc.address) ? plc.address : "";
}

function tagField() {
  const whole = field(t("plc.at"), { name: "at", required: true, maxLength: 100, spellcheck: false });
  whole.querySelector("input")?.setAttribute("list", "tags");
  return whole;
}

/**
 * Draws a form that passes the trimmed values of its fields to `act`.
 * @param {(values: Record<string, string>) => Promise<void>} act @param {readonly HTMLElement[]} fields @param {string} label
 */
function form(act, fields, label) {
  const node = el(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        const data = new FormData(/** @type {HTMLFormElement} */ (node));
        void act(Object.fromEntries([...data].map(([name, value]) => [name, String(value).trim()])));
      },
    },
    el("div", { className: "fields" }, ...fields),
    buttonRow(el("button", { type: "submit" }, label)),
  );
  return node;
}

/**
 * Draws the findings of a probe about a PLC.
 * @param {{ answer: any, text: string }} done
 */
export function probeResult({ answer: { host, port, modbus, opcua }, text }) {
  if (modbus.kind !== "modbus") return [el("div", { className: "note bad lines" }, text)];
  /** @param {string} kind */
  const units = (kind) =>
    modbus.units
      .filter((/** @type {any} */ { answer }) => answer === kind)
      .map((/** @type {any} */ { unit }) => unit)
      .join(", ");
  const told = (modbus.identification ?? []).map((/** @type {any} */ one) => one.text).filter(Boolean);
  const more = modbus.connections === modbus.connections_tried;
  return [
    table(
      t("plc.probe"),
      [t("plc.what"), t("plc.found")],
      [
        [t("plc.modbus"), `${host}:${port}`],
        [t("plc.units"), units("answers")],
        ...(units("silent") === "" ? [] : [[t("plc.silent"), units("silent")]]),
        ...(units("absent") === "" ? [] : [[t("plc.absent"), units("absent")]]),
        ...(units("breaks_off") === "" ? [] : [[t("plc.breaksOff"), units("breaks_off")]]),
        [
          t("plc.identification"),
          told.length === 0 ? t(modbus.identification_failure === null ? "plc.none" : "plc.closes") : told.join(" · "),
        ],
        [
          t("plc.connections"),
          modbus.connections === null
            ? t("plc.shared")
            : t(more ? "plc.orMore" : "plc.beside", { count: modbus.connections }),
        ],
        [t("plc.roundTrip"), modbus.round_trip_ms === null ? t("plc.none") : `${number(modbus.round_trip_ms, 2)} ms`],
        [t("plc.opcua"), t(opcua ? "plc.answers" : "plc.silence")],
      ],
    ),
  ];
}

/** @param {{ best: any, point: any, also: any[] }} finding @param {string} text what the tool says */
function findingText({ best, point, also }, text) {
  if (best === null) return text;
  const parts = Object.entries(point).map(([name, value]) => `${name}: ${name === "address" ? `"${value}"` : value}`);
  const others = also.length === 0 ? "" : t("plc.also", { count: also.length });
  return `${t("plc.best", { value: short(best.value), point: `{ ${parts.join(", ")} }` })} ${others}`;
}

/** Formats a value with at most 7 significant digits. @param {number | null} value */
const short = (value) => (value === null ? "–" : String(Number(value.toPrecision(7))));

/** Draws the possible addresses and types of a value, the most probable first. @param {{ answer: any, text: string }} done */
function detectResult({ answer: { ranked, finding }, text }) {
  const rows = ranked
    .slice(0, MOST_WAYS)
    .map((/** @type {any} */ one) => [
      `${one.table}:${one.address}`,
      short(one.value),
      one.plausible ? el("span", { className: "badge good" }, t("plc.fits")) : t("plc.no"),
      one.type,
      one.order,
      one.reading,
      one.words.map((/** @type {number} */ word) => word.toString(16).padStart(4, "0")).join(" "),
    ]);
  const heads = ["address", "value", "plausible", "type", "order", "reading", "registers"];
  return [
    el("p", { className: "advice lines" }, findingText(finding, text)),
    ...(rows.length === 0
      ? []
      : [
          table(
            t("plc.ways"),
            heads.map((name) => t(`way.${name}`)),
            rows,
          ),
        ]),
  ];
}
