import { send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { askUser, buttonRow, el, field, pushButton } from "../kit/dom.js";
import { atWork, probeResult } from "./plc.js";
import { withSession } from "../kit/session.js";

/** @typedef {import("./begin.js").Step} Step */

/**
 * Finds the PLC: at a typed address, by a search of the box's network after a confirmation, on a serial line, or as an OPC UA server.
 * @param {Step} step
 */
export function plcStep({ status, answer }) {
  const { subnets, lines } = status.nearby;
  const count = subnets.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.hosts, 0);
  const found = el("div", {});
  const work = atWork();
  /** @param {object} link @param {readonly string[]} said */
  const use = (link, said) => void answer({ link, said, profile: null });

  /** Probes an address. A PLC that a person has chosen from the list is used at once. @param {string} address @param {boolean} [isChosen] */
  const look = async (address, isChosen = false) => {
    found.replaceChildren();
    if (address.startsWith("opc.tcp:")) {
      const done = await work.run("/setup/find", { where: "opcua", endpoint: address });
      const offers = done?.answer.offers ?? null;
      if (offers?.length === 0) found.replaceChildren(el("div", { className: "note bad" }, t("begin.noOffers")));
      const trusted = offers === null ? null : await trust(address, offers);
      if (trusted !== null) use(trusted.link, trusted.said);
      return;
    }
    const done = await work.run("/plc/probe", { address });
    if (done === null) return;
    const link = linkIn(done.answer);
    if (link !== null && isChosen) return use(link.link, link.said);
    found.replaceChildren(
      ...probeResult(done),
      ...(link === null ? [] : [useButton(address, () => use(link.link, link.said))]),
    );
    found.lastElementChild?.scrollIntoView({ block: "nearest" });
  };
  const lookThrough = async () => {
    const where = subnets.map((/** @type {any} */ one) => one.cidr).join(", ");
    const question = {
      text: t("begin.findText", { count, subnets: where }),
      yes: t("begin.findYes"),
      no: t("begin.no"),
    };
    if ((await askUser(t("begin.findTitle"), question)) === null) return;
    const done = await work.run("/setup/find", { where: "subnets" });
    if (done === null) return;
    list(done.answer.found, ({ host, port, protocol }) => {
      const at = `${host}:${port}`;
      return [at, () => void look(protocol === "opcua" ? `opc.tcp://${at}` : at, true)];
    });
  };
  const lookOnLines = async () => {
    const done = await work.run("/setup/find", { where: "serial" });
    if (done === null) return;
    list(done.answer.found, ({ serial, unit_id, said }) => [
      `${serial.path}, ${serial.baud_rate}, ${unit_id}`,
      () => use({ modbus: { serial, unit_id } }, said),
    ]);
  };
  /** @param {readonly any[]} all @param {(one: any) => [string, () => void]} of */
  const list = (all, of) => {
    found.replaceChildren(
      el("p", { className: "advice" }, t(all.length === 0 ? "begin.nobody" : "begin.found")),
      ...all.map((one) => useButton(...of(one))),
    );
    found.scrollIntoView({ block: "nearest" });
  };
  const form = addressForm((address) => void look(address));
  const others = buttonRow(
    count > 0 && pushButton(t("begin.find", { count }), () => void lookThrough()),
    lines.length > 0 && pushButton(t("begin.serial"), () => void lookOnLines()),
  );
  return { nodes: [form, others, work.node, found], close: () => work.stop() };
}

/** Draws the form for a PLC's address, and passes the address to `look`. @param {(address: string) => void} look */
function addressForm(look) {
  const form = el(
    "form",
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        look(String(new FormData(/** @type {HTMLFormElement} */ (form)).get("plc")).trim());
      },
    },
    field(t("begin.address"), {
      name: "plc",
      required: true,
      maxLength: 255,
      autocapitalize: "none",
      spellcheck: false,
      "aria-describedby": "plc-hint",
    }),
    el("p", { className: "soft small", id: "plc-hint" }, t("begin.addressHint")),
    buttonRow(el("button", { className: "main", type: "submit" }, t("begin.look"))),
  );
  return form;
}

/**
 * Asks a person to compare the server's certificate before anything is sent to that server. Returns null if the server must not be used.
 * @param {string} endpoint @param {readonly any[]} offers
 */
async function trust(endpoint, offers) {
  const safe = offers.find(({ policy, fingerprint }) => policy !== "None" && fingerprint !== null);
  if (safe !== undefined) {
    const question = { text: t("begin.pinText", safe), yes: t("begin.pinYes"), no: t("begin.no") };
    const pinned = { security_policy: safe.policy, server_certificate_fingerprint: safe.fingerprint };
    if ((await askUser(t("begin.pinTitle"), question)) === null) return null;
    const user = await login(endpoint);
    return { link: { opcua: { endpoint, ...pinned, ...(user === null ? {} : { user }) } }, said: [safe.name] };
  }
  if (offers.length === 0) return null;
  const question = { text: t("begin.noneText"), yes: t("begin.noneYes"), no: t("begin.no") };
  if ((await askUser(t("begin.noneTitle"), question)) === null) return null;
  return { link: { opcua: { endpoint, security_policy: "None", allow_insecure: true } }, said: [] };
}

/**
 * Asks for the server's user name and password, and sends the password to the box, which never returns it. Returns null if no login is
 * needed.
 * @param {string} endpoint
 */
async function login(endpoint) {
  const said = await askUser(t("begin.loginTitle"), {
    text: t("begin.loginText"),
    fields: [
      field(t("begin.user"), {
        name: "user",
        required: true,
        maxLength: 256,
        autocapitalize: "none",
        spellcheck: false,
      }),
      field(t("begin.password"), { name: "password", type: "password", required: true, maxLength: 1024 }),
    ],
    yes: t("begin.loginYes"),
    no: t("begin.loginNo"),
  });
  if (said === null) return null;
  await withSession(() => send("/setup/login", { endpoint, user: said.user, password: said.password }));
  return said.user;
}

/** @param {string} name @param {() => void} act */
function useButton(name, act) {
  return buttonRow(pushButton(t("begin.use", { name }), act, { className: "main" }));
}

/**
 * Returns the link that a probe found. If a PLC answers to every unit id, the link has none, and the profile's unit id is used.
 * @param {any} answer
 */
function linkIn({ host, port, modbus }) {
  if (modbus.kind !== "modbus") return null;
  const answering = modbus.units.filter((/** @type {any} */ one) => one.answer === "answers");
  const isAny = modbus.units.length > 1 && answering.length === modbus.units.length;
  const unit = isAny ? {} : { unit_id: answering[0]?.unit };
  const said = (modbus.identification ?? []).map((/** @type {any} */ one) => one.text).filter(Boolean);
  return { link: { modbus: { host, port, ...unit } }, said };
}
