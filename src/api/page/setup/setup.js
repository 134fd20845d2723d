import { beginCard } from "./begin.js";
import { bindingCard } from "./binding.js";
import { card, el, pushButton, redraw, table } from "../kit/dom.js";
import { durationText, secondsText, valueText, versionsOf, whenText } from "../kit/format.js";
import { linkCard, linkKey } from "../views/now.js";
import { networkCard } from "./network.js";
import { pinButton } from "../kit/session.js";
import { sizeCard } from "./size.js";
import { plcCard } from "./plc.js";
import { STEPS, stepTimes } from "./steps.js";
import { t, whyText } from "../texts/texts.js";
import { workshopCard } from "./workshop.js";

/** @typedef {import("../main.js").Context} Context */

/**
 * Shows the set-up view: the binding of the booth, its PLC, and the settings made here, as text for the customer's configuration file.
 * @param {Context} context
 */
export function setupView(context) {
  const begin = beginCard(context);
  if (context.booth() === undefined) {
    const workshop = workshopCard(context);
    const node = el("div", { className: "grid" }, begin.node, workshop.node);
    const close = () => (begin.close(), workshop.close());
    return { node, update: () => begin.update(), close };
  }
  const binding = bindingCard(context);
  const plc = el("div", {});
  const tags = el("div", {});
  const size = sizeCard(context);
  const look = plcCard(context);
  const network = networkCard(context);
  const workshop = workshopCard(context);
  const node = el(
    "div",
    { className: "grid" },
    // Shows the set-up card first until the set-up is complete, then the binding card.
    context.status().lacks.length > 0 && begin.node,
    binding.node,
    context.status().lacks.length === 0 && begin.node,
    plc,
    size.node,
    look.node,
    network.node,
    workshop.node,
    reportCard(context),
    card(t("setup.tags"), {}, tags),
  );
  const update = () => {
    const booth = context.booth();
    const status = context.status();
    begin.update();
    binding.update();
    redraw(plc, [linkKey(booth.plc, status.at)], () => [
      linkCard(t("link.plc"), booth.plc, { where: booth.plc.address, at: status.at, tz: booth.tz }),
    ]);
    const readings = context.readings();
    redraw(tags, [context.needsPin(), readings], () => [context.needsPin() ? pinButton() : tagTable(readings)]);
    size.update();
    look.update();
    network.update();
  };
  return { node, update, close: () => (begin.close(), look.close(), workshop.close()) };
}

/** Draws the latest readings of all tags, with quality and age. @param {readonly any[]} readings */
function tagTable(readings) {
  const live = table(
    t("setup.tags"),
    [t("setup.tag"), t("setup.value"), t("setup.quality"), t("setup.age")],
    readings.map(({ label, tag, value, unit, quality, reason, age_ms }) => [
      el("span", { title: tag }, label),
      valueText(value, unit),
      quality === null
        ? t("setup.notRead")
        : el(
            "span",
            { className: `badge ${quality === "good" ? "good" : quality === "bad" ? "bad" : "warn"}` },
            reason === "" ? t(`quality.${quality}`) : `${t(`quality.${quality}`)}: ${whyText(reason)}`,
          ),
      age_ms === null ? "–" : durationText(age_ms),
    ]),
  );
  // Shows quality and age below the value on a phone, where four columns would have to be scrolled sideways.
  live.classList.add("paired");
  return live;
}

/** Draws the card with the installation report, which can be copied as text. @param {Context} context */
function reportCard(context) {
  const text = /** @type {HTMLTextAreaElement} */ (
    el("textarea", { readOnly: true, rows: 8, "aria-label": t("setup.report"), hidden: true })
  );
  const said = el("span", { role: "status", className: "soft" });
  const fill = () => {
    text.value = reportText(context);
    text.hidden = false;
  };
  const copy = async () => {
    fill();
    text.select();
    await navigator.clipboard.writeText(text.value).catch(() => document.execCommand("copy"));
    said.textContent = t("setup.copied");
  };
  const print = () => {
    fill();
    window.print();
  };
  return card(
    t("setup.report"),
    {},
    el("p", { className: "no-print" }, t("setup.reportText")),
    text,
    el(
      "div",
      { className: "buttons no-print" },
      pushButton(t("setup.copy"), () => void copy()),
      pushButton(t("setup.print"), print),
      said,
    ),
  );
}

/** Returns the text of the installation report. @param {Context} context */
function reportText(context) {
  const booth = context.booth();
  const status = context.status();
  const { provisioning, plc, now, log, tz, time } = booth;
  const times = stepTimes(provisioning);
  const steps = STEPS.map(([name], index) => [t(`step.${name}`), times[index]]).filter(([, at]) => at !== null);
  return [
    `${t("setup.report")}, ${new Date(status.at).toISOString()}`,
    `${booth.booth}  ${booth.serial ?? "-"}  ${provisioning.account ?? "-"}, ${provisioning.facility ?? "-"}`,
    `${t(`state.${provisioning.state}`)} ${whenText(provisioning.since, tz, time)}`,
    ...steps.map(([name, at]) => `  ${secondsText(Number(at), tz)}  ${String(name)}`),
    `${t("link.plc")}  ${plc.address}: ${t(`link.${plc.kind}`)}; ${plc.shows_serial ?? "-"}, ${versionsOf(now).program ?? "-"}, ${versionsOf(now).firmware ?? "-"}`,
    `${t("link.service")}  ${status.service.url ?? "-"}: ${t(`link.${status.service.kind}`)}`,
    `${log.newest_seq.toString()} / ${log.acked_seq.toString()}`,
    ...context
      .readings()
      .map(
        ({ label, value, unit, quality, reason }) =>
          `  ${String(label).padEnd(28)} ${valueText(value, unit)}  ${quality === null ? "-" : t(`quality.${quality}`)} ${whyText(reason)}`,
      ),
    `${t("health.agent")} ${status.agent_version}, ${status.gateway_id}`,
  ].join("\n");
}
