import { get } from "../kit/api.js";
import { boothsCard } from "./booths.js";
import { card, el, figure, redraw, sentence, troubleNote } from "../kit/dom.js";
import { durationText, measured, minutesText, number, unitText, whenText } from "../kit/format.js";
import { explained } from "../kit/help.js";
import { measuredOf } from "../charts/measured.js";
import { pinButton } from "../kit/session.js";
import { t, whyText } from "../texts/texts.js";
import { lastDay, todayStrip } from "./today.js";

const TODAY_EVERY_MS = 10_000;

/** @typedef {import("../main.js").Context} Context */

/** The view of the booth's present state. @param {Context} context */
export function nowView(context) {
  const strip = todayStrip(context);
  const mode = modeCard(context, strip.node);
  const notes = el("div", { className: "wide grid", role: "alert" });
  const day = lastDay(context, () => update());
  const [today, measured] = [todayCard(context, day, () => update()), measuredCard(context, day)];
  const links = el("div", { className: "grid two wide" });
  const booths = boothsCard(context);
  const backlog = el("div", {});
  const node = el(
    "div",
    { className: "grid two" },
    ...[notes, mode.node, booths.node, today.node, measured.node, links],
    card(t("backlog.title"), { class: "wide" }, backlog),
  );
  const update = () => {
    const booth = context.booth();
    const status = context.status();
    for (const part of [booths, mode, strip, day, today, measured]) part.update();
    const warnings = notesOf(status, booth);
    redraw(notes, warnings, () => warnings.map((text) => el("div", { className: "note bad" }, text)));
    const { plc } = booth;
    redraw(links, [linkKey(plc, status.at), plc.notes, linkKey(status.service, status.at)], () => [
      linkCard(t("link.plc"), plc, { where: plc.address, at: status.at, tz: booth.tz, notes: plc.notes }),
      linkCard(t("link.service"), status.service, { where: status.service.url ?? "", at: status.at, tz: booth.tz }),
    ]);
    const waiting = backlogTexts(booth, status);
    redraw(backlog, waiting, () =>
      waiting.map((text, index) => el("p", index === 0 ? { className: "advice" } : {}, text)),
    );
  };
  const close = () => {
    strip.close();
    booths.close();
    day.close();
  };
  return { node, begin: mode.begin, update, close };
}

/** Shows the mode in large letters above the strip of the day. @param {Context} context @param {HTMLElement} strip */
function modeCard(context, strip) {
  const name = el("p", { className: "name", id: "mode", role: "status" });
  const since = el("p", { id: "since" });
  const node = el(
    "section",
    { className: "card mode wide", "aria-label": t("nav.now") },
    el("div", {}, name, since),
    strip,
  );
  const begin = () => {
    const now = context.booth().now?.mode ?? "no_data";
    node.style.setProperty("--mode", `var(--${now})`);
    node.classList.toggle("hatch", now === "no_data");
    redraw(name, now, () => [t(`mode.${now}`)]);
  };
  const update = () => {
    const booth = context.booth();
    begin();
    redraw(since, sinceText(booth), () => [sinceText(booth)]);
  };
  return { node, begin, update };
}

/**
 * Draws the card with today's figures, which it reads again from time to time.
 * @param {Context} context @param {ReturnType<typeof lastDay>} day @param {() => void} onChange
 */
function todayCard(context, day, onChange) {
  const figures = el("dl", { className: "figures" });
  const foot = el("div", {});
  /** @type {any} */
  let use = null;
  let asked = -Infinity;
  const refresh = async () => {
    if (performance.now() - asked < TODAY_EVERY_MS) return;
    asked = performance.now();
    use = await get(`/api/booths/${encodeURIComponent(context.booth().booth)}/utilization_stats`).catch(() => use);
    onChange();
  };
  const update = () => {
    const booth = context.booth();
    const run = runText(booth);
    redraw(figures, [booth.now?.cycles_today, booth.now?.cycles_total, run, use, day.hours()], () =>
      todayFigures(booth, use, { run, day }),
    );
    redraw(foot, day.hours(), () => [day.hoursFooter()]);
    void refresh();
  };
  return { node: card(t("now.today"), { "data-figures": "today" }, figures, foot), update };
}

/** Draws the card with the latest measured values. @param {Context} context @param {ReturnType<typeof lastDay>} day */
function measuredCard(context, day) {
  const figures = el("dl", { className: "figures" });
  const foot = el("div", {});
  const update = () => {
    const shown = measuredOf(context.readings());
    const isRead = context.booth().plc.kind !== "down";
    const needsPin = context.needsPin();
    const key = shown.map(({ age_ms, ...rest }) => (isRead ? rest : [rest, durationText(age_ms ?? 0)]));
    redraw(figures, [isRead, needsPin, day.trends(), key], () =>
      needsPin
        ? [el("div", {}, el("dd", {}, pinButton()))]
        : shown.length === 0
          ? [el("div", {}, el("dt", {}, t("now.noMeasured")))]
          : shown.map((reading) => readingFigure(reading, isRead, day.ofTag(reading.tag, reading.unit))),
    );
    redraw(foot, [needsPin, day.trends()], () => [!needsPin && day.trendsFooter()]);
  };
  return { node: card(t("now.measured"), { "data-figures": "measured" }, figures, foot), update };
}

/** Returns whether no booth of the box has ever been bound to a service. @param {import("../main.js").Status} status */
export function isUnbound({ booths }) {
  return booths.every(({ provisioning }) => provisioning.generation === null);
}

/** Returns the text that says since when the mode is in force, or for how long it is unknown. @param {import("../main.js").Booth} booth */
function sinceText({ now, plc, time, tz }) {
  if (now === null || now.since === null) return t("now.neverRead");
  if (now.mode === "no_data" && now.last_good_at !== null)
    return t(plc.kind === "down" ? "now.gap" : "now.unknown", { time: durationText(time - now.last_good_at) });
  return t("now.since", { time: durationText(time - now.since), at: whenText(now.since, tz, time) });
}

/**
 * Returns the warnings about the gateway and the booth.
 * @param {import("../main.js").Status} status @param {import("../main.js").Booth} booth
 */
function notesOf(status, { log }) {
  return [
    // Warns about the clock only if the box was ever bound. A box without a service sends nothing, and nothing sets its clock.
    ...(status.clock.synced || isUnbound(status) ? [] : [t("note.clock")]),
    ...(log.trouble === "" ? [] : [t("note.store", { reason: log.trouble })]),
    ...(log.forked === null ? [] : [`${sentence(log.forked.reason)}. ${sentence(log.forked.advice)}.`]),
    ...(log.lacking === null ? [] : [`${sentence(log.lacking.reason)}.`]),
    ...status.disabled.map(
      ({ advice, booth, reason }) => `${t("note.disabled", { booth, reason })}. ${sentence(advice)}.`,
    ),
  ];
}

/** Shows the run as unknown while the PLC can't be read. @param {import("../main.js").Booth} booth */
function runText({ now, plc }) {
  if (now === null || now.mode === "no_data" || plc.kind === "down") return t("now.runUnknown");
  return t(now.run_open ? "now.running" : "now.notRunning");
}

/**
 * Draws today's figures, with a small chart of the last 24 hours for some of them.
 * @param {import("../main.js").Booth} booth @param {any} use @param {{ run: string, day: ReturnType<typeof lastDay> }} more
 */
function todayFigures({ now }, use, { run, day }) {
  return [
    figure(
      t("now.cycles"),
      String(now?.cycles_today ?? 0),
      ...(now?.cycles_total === null || now === null
        ? []
        : [el("br"), el("small", {}, t("now.counter", { count: number(now.cycles_total) }))]),
      day.ofHours("cycle_count"),
    ),
    figure(
      t("now.inUse"),
      use === null ? "…" : minutesText(use.utilization_minutes),
      day.ofHours("utilization_minutes"),
    ),
    figure(
      explained(t("now.utilization"), "help.utilization"),
      use === null ? "…" : use.utilization_pct === null ? "–" : `${number(use.utilization_pct)} %`,
      el("br"),
      el(
        "small",
        {},
        use === null
          ? ""
          : use.working_minutes === 0
            ? t("now.noHours")
            : t("now.ofHours", { time: minutesText(use.working_minutes) }),
      ),
      day.ofHours("utilization_pct"),
    ),
    figure(t("now.run"), run),
  ];
}

/**
 * Shows a reading. A value that is no longer confirmed is called the last value, never the present one.
 * @param {import("../main.js").Reading} reading @param {boolean} isRead @param {Node | null} spark
 */
function readingFigure({ label, value, unit, quality, reason, age_ms }, isRead, spark) {
  const known = typeof value === "number" ? measured(value, unit, 1) : { number: String(value), unit: unitText(unit) };
  const isKnown = value !== null && quality !== "bad";
  if (isKnown && isRead) return figure(label, known.number, " ", el("small", {}, known.unit), spark);
  const last =
    isKnown && age_ms !== null
      ? t("now.last", { value: `${known.number} ${known.unit}`, time: durationText(age_ms) })
      : "";
  const why = isKnown
    ? "–"
    : quality === null
      ? t("setup.notRead")
      : reason === ""
        ? t(`quality.${quality}`)
        : whyText(reason);
  return el(
    "div",
    {},
    el("dt", {}, label),
    el("dd", { className: "gone" }, why, last !== "" && el("br"), el("small", {}, last)),
    spark !== null && el("dd", {}, spark),
  );
}

/**
 * Returns a key that changes when the shown state of the link changes. The key contains rounded times, so it also changes once a minute.
 * @param {import("../main.js").Link} link @param {number} at
 */
export function linkKey(link, at) {
  return [
    link.kind,
    link.since,
    ...(link.kind === "up" ? [] : [link.reason, link.advice]),
    durationText(at - link.since),
    link.kind === "down" && link.next_try_at !== null ? durationText(link.next_try_at - at) : "",
  ];
}

const LOOKS = /** @type {const} */ ({ up: "good", degraded: "warn", down: "bad" });

/**
 * Draws the card of a link, with its state, and the time until the next try if the link is down.
 * @param {string} title @param {import("../main.js").Link} link @param {{ where: string, at: number, tz: string, notes?: readonly string[] | undefined }} around
 */
export function linkCard(title, link, { where, at, tz, notes = [] }) {
  const style = LOOKS[link.kind];
  const left = link.kind === "down" && link.next_try_at !== null ? link.next_try_at - at : null;
  return card(
    title,
    { "data-link": link.kind },
    el(
      "div",
      { className: "row" },
      el("span", { className: `badge ${style}` }, t(`link.${link.kind}`)),
      el("span", { className: "soft small" }, where),
    ),
    el(
      "p",
      { className: "soft" },
      t("link.since", { at: whenText(link.since, tz, at), time: durationText(at - link.since) }),
    ),
    link.kind !== "up" && troubleNote(link.kind === "down" ? "bad" : "", link),
    left !== null &&
      el("p", { className: "soft small" }, left > 0 ? t("link.next", { time: durationText(left) }) : t("link.soon")),
    ...notes.map((note) => el("p", { className: "soft small" }, note)),
  );
}

/**
 * Returns the texts about the records that wait for the service.
 * @param {import("../main.js").Booth} booth @param {import("../main.js").Status} status
 */
function backlogTexts({ log, provisioning }, { service }) {
  if (provisioning.delivery === "none") return [t("backlog.kept")];
  const waiting = log.newest_seq - log.acked_seq;
  const count = waiting === 1 ? t("backlog.record") : t("backlog.records", { count: number(waiting) });
  const hours = log.storage?.hours_to_full ?? null;
  return [
    waiting <= 0
      ? t("backlog.none")
      : t(service.kind === "up" && provisioning.delivery !== "unknown" ? "backlog.going" : "backlog.some", { count }),
    ...(provisioning.delivery === "broker" ? [t("backlog.broker")] : []),
    ...(hours === null ? [] : [t("backlog.full", { time: durationText(hours * 3_600_000) })]),
  ];
}
