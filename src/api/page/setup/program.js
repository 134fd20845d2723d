import { t } from "../texts/texts.js";
import { buttonRow, el, pushButton, sentence, table } from "../kit/dom.js";
import { hasSession } from "../kit/api.js";
import { valueText } from "../kit/format.js";
import { atWork } from "./plc.js";
import { zoneForm } from "./trial.js";

/** @typedef {import("./begin.js").Step} Step */

const MOST_SHOWN = 6;
const LEAST_SHOWN = 0.1;
/** Least fit of a profile that the page recommends. */
const LEAST_GOOD = 0.5;
const LOOKS = /** @type {const} */ ({ plausible: "good", open: "", odd: "bad", silent: "warn" });
/** Verdicts on values in the order of the list: values that need attention come first. */
const ORDER = ["odd", "silent", "plausible", "open"];

/**
 * Asks which program runs in the PLC. Lists the known programs by how well they fit, and then their values with the usual ranges.
 * @param {Step} step
 */
export function programStep(step) {
  const { draft } = step;
  const work = atWork();
  const found = el("div", {});
  const read = async () => {
    found.replaceChildren();
    const done = await work.run("/setup/rank", { ...draft.link, said: draft.said ?? [] });
    if (done !== null) showAll(done.answer.profiles);
  };
  /** @param {readonly any[]} profiles */
  const showAll = (profiles) => {
    // Leaves out a profile that fits badly if others fit better.
    const likely = profiles.filter(({ fit }, index) => index < MOST_SHOWN && (index === 0 || fit >= LEAST_SHOWN));
    const fits = (likely[0]?.fit ?? 0) >= LEAST_GOOD;
    const create = buttonRow(pushButton(t("begin.noneFits"), openWorkshop, fits ? {} : { className: "main" }));
    const cards = likely.map((one, index) => profileCard(one, fits && index === 0, () => showValues(one, profiles)));
    found.replaceChildren(
      ...(fits ? [...cards, create] : [el("p", { className: "advice" }, t("begin.fitsBadly")), create, ...cards]),
    );
  };
  /** @param {any} one @param {readonly any[]} profiles */
  const showValues = (one, profiles) => {
    found.replaceChildren(
      el("h3", {}, `${one.profile}: ${t("begin.values")}`),
      el("p", { className: "soft" }, t("begin.compare")),
      valueTable(one.values),
      ...zoneForm(step, {
        profile: one.profile,
        yes: t("begin.right"),
        other: pushButton(t("begin.other"), () => showAll(profiles)),
      }),
    );
    found.querySelector("h3")?.scrollIntoView({ block: "start" });
  };
  // Reads at once, unless the person would first have to enter the PIN.
  if (hasSession()) void read();
  const nodes = [
    el("h3", {}, t("begin.rank")),
    el("p", { className: "soft" }, t("begin.rankText")),
    buttonRow(pushButton(t("begin.read"), () => void read(), { className: "main" })),
    work.node,
    found,
  ];
  return { nodes, close: () => work.stop() };
}

/** Opens the workshop, which is further down on the same page. */
function openWorkshop() {
  const workshop = document.getElementById("workshop");
  if (workshop instanceof HTMLDetailsElement) workshop.open = true;
  workshop?.scrollIntoView({ block: "start" });
}

/**
 * Draws a profile, the reasons why it fits or not, and a button that chooses the profile.
 * @param {any} ranked @param {boolean} isBest @param {() => void} choose
 */
function profileCard({ profile, reasons }, isBest, choose) {
  return el(
    "section",
    { className: isBest ? "ranked first" : "ranked", "aria-label": profile },
    el(
      "p",
      {},
      el("strong", {}, profile),
      isBest && " ",
      isBest && el("span", { className: "badge good" }, t("begin.best")),
    ),
    el("ul", {}, ...reasons.map((/** @type {string} */ reason) => el("li", {}, sentence(reason)))),
    buttonRow(pushButton(t("begin.choose", { profile }), choose, isBest ? { className: "main" } : {})),
  );
}

/** Draws the values that were read with a profile next to their usual ranges, ordered by verdict. @param {readonly any[]} values */
function valueTable(values) {
  const heads = [t("begin.value"), t("begin.now"), t("begin.usual")];
  const sorted = values.toSorted((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));
  const rows = sorted.map(({ label, value, unit, verdict, usual, limits }) => [
    label,
    el(
      "span",
      {},
      valueText(value, unit),
      " ",
      el("span", { className: `badge ${LOOKS[/** @type {keyof typeof LOOKS} */ (verdict)]}` }, t(`verdict.${verdict}`)),
    ),
    limits === null ? usual : t("begin.range", { min: valueText(limits.min, unit), max: valueText(limits.max, unit) }),
  ]);
  const made = table(t("begin.values"), heads, rows);
  made.classList.add("paired", "halves");
  return made;
}
