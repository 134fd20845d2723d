import { signOut } from "../ahead.js";
import { get, hasSession, send } from "../kit/api.js";
import { askUser, card, el, errorText, pushButton, redraw, sentence } from "../kit/dom.js";
import { whenText } from "../kit/format.js";
import { pinButton, withSession } from "../kit/session.js";
import { t } from "../texts/texts.js";

/**
 * Shows whether the page stays open on the network, and lists the devices that are signed in there.
 * @param {import("../main.js").Context} context
 */
export function networkCard(context) {
  const body = el("div", {});
  const node = card(t("net.title"), {}, body);
  /** @type {any} */
  let network = null;
  let trouble = "";
  let isAsked = false;
  /** @param {() => Promise<any>} act */
  const tell = async (act) => {
    try {
      network = await withSession(act);
      trouble = "";
    } catch (error) {
      trouble = errorText(error);
    }
    update();
  };
  /** @param {boolean} always */
  const change = async (always) => {
    const { title, text } = always
      ? { title: t("net.onTitle"), text: t("net.onText") }
      : { title: t("net.offTitle"), text: t("net.offText") };
    if ((await askUser(title, { text, yes: t("net.yes"), no: t("net.no") })) === null) return;
    await tell(() => send("/page/network", { always }, "PUT"));
  };
  const update = () => {
    if (hasSession() && !isAsked) {
      isAsked = true;
      void tell(() => get("/page/network"));
    }
    const { at } = context.status();
    const tz = context.booth()?.tz ?? "UTC";
    redraw(body, [hasSession(), network, trouble], () => [
      trouble !== "" && el("p", { className: "note bad", role: "alert" }, sentence(trouble)),
      ...(network === null ? [!hasSession() && pinButton()] : shown(network, { at, tz, tell, change })),
    ]);
  };
  return { node, update };
}

/**
 * @param {any} network
 * @param {{ at: number, tz: string, tell: (act: () => Promise<any>) => Promise<void>, change: (always: boolean) => Promise<void> }} how
 */
function shown({ always, whose, has_pin, urls, devices }, { at, tz, tell, change }) {
  const isOurs = whose === "set_up" && (has_pin || always);
  return [
    el("p", { className: "advice" }, t(always ? "net.always" : "net.timed")),
    always && urls.map((/** @type {string} */ url) => el("p", { className: "small" }, url)),
    !has_pin && !always && el("p", { className: "soft" }, t("net.noPin")),
    whose === "file" && el("p", { className: "soft" }, t("net.byFile")),
    isOurs && pushButton(t(always ? "net.off" : "net.on"), () => void change(!always)),
    devices.length > 0 && el("h3", {}, t("net.devices")),
    devices.length > 0 &&
      el(
        "ul",
        { className: "plain" },
        ...devices.map((/** @type {any} */ one) =>
          el(
            "li",
            { className: "row" },
            el(
              "span",
              {},
              deviceText(one.device),
              el(
                "small",
                { className: "soft" },
                " ",
                one.is_own ? t("net.own") : t("net.seen", { at: whenText(one.seen_at, tz, at) }),
              ),
            ),
            pushButton(t("net.end"), () => void tell(() => send("/page/network/end", { id: one.id }))),
          ),
        ),
      ),
  ].flat();
}

/** Returns a browser's short name, such as "Chrome, Android". @param {string} agent */
function deviceText(agent) {
  const browser = /Edg|Firefox|Chrome|Safari/.exec(agent)?.[0].replace("Edg", "Edge");
  const system = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(agent)?.[0].replace("Mac OS X", "Mac");
  return [browser, system].filter(Boolean).join(", ") || t("net.unknown");
}

/** Ends this device's session on the device and at the box. */
export async function leave() {
  await get("/page/network")
    .then(({ devices }) => devices.find((/** @type {any} */ one) => one.is_own))
    .then((own) => (own === undefined ? null : send("/page/network/end", { id: own.id })))
    // Forgets the token on this device even if the box doesn't answer.
    .catch(() => undefined);
  signOut();
  location.reload();
}
