import { send } from "../kit/api.js";
import { t } from "../texts/texts.js";
import { buttonRow, el, field, pushButton } from "../kit/dom.js";
import { durationText } from "../kit/format.js";

/** @typedef {import("./begin.js").Step} Step */

/** Asks for the time zone of a chosen profile's booth, and tests the settings. @param {Step} step */
export function zoneStep(step) {
  return zoneForm(step, { profile: step.draft.profile, yes: t("begin.try") });
}

/**
 * Draws the form that starts the test of a profile. It suggests the phone's time zone, and asks for a name only if there are several booths.
 * @param {Step} step @param {{ profile: string, yes: string, other?: HTMLElement }} wish
 */
export function zoneForm({ status, draft, answer, run }, { profile, yes, other }) {
  const id = draft.id ?? freeName(status);
  const known = status.booths.find((/** @type {any} */ one) => one.booth === id)?.tz;
  const own = draft.tz ?? known ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hint = el("p", { className: "soft small", id: "zone-hint" }, zoneText(own));
  const form = el(
    "form",
    {
      oninput: (/** @type {Event} */ event) => {
        const input = /** @type {HTMLInputElement} */ (event.target);
        if (input.name === "tz") hint.textContent = zoneText(input.value.trim());
      },
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        const data = new FormData(/** @type {HTMLFormElement} */ (form));
        const tz = String(data.get("tz")).trim();
        const entry = { id: String(data.get("id") ?? id).trim(), profile, tz };
        await answer(entry);
        await run(() => send("/setup/booth", { ...draft.link, ...entry }));
      },
    },
    field(t("begin.zone"), {
      name: "tz",
      required: true,
      maxLength: 64,
      value: own,
      spellcheck: false,
      "aria-describedby": "zone-hint",
    }),
    hint,
    status.booths.length > 0 &&
      field(t("begin.name"), {
        name: "id",
        required: true,
        maxLength: 32,
        pattern: "[a-z0-9][a-z0-9\\-]{0,31}",
        value: id,
        autocapitalize: "none",
        spellcheck: false,
      }),
    buttonRow(el("button", { className: "main", type: "submit" }, yes), other),
  );
  form.querySelector("input")?.setAttribute("list", "zones");
  const zones = el(
    "datalist",
    { id: "zones" },
    ...Intl.supportedValuesOf("timeZone").map((value) => el("option", { value })),
  );
  return [form, zones];
}

/** Returns a hint with the present time in a time zone, or the hint that the time zone doesn't exist. @param {string} zone */
function zoneText(zone) {
  try {
    const time = new Date().toLocaleTimeString([], { timeZone: zone, hour: "2-digit", minute: "2-digit" });
    return t("begin.zoneHint", { zone, time });
  } catch {
    return t("begin.zoneNone");
  }
}

/** Returns the first name booth-1, booth-2, ... that no booth has. @param {any} status */
export function freeName({ booths }) {
  const taken = booths.map((/** @type {any} */ one) => one.booth);
  let number = 1;
  while (taken.includes(`booth-${number}`)) number += 1;
  return `booth-${number}`;
}

/** Draws the step in which a person keeps or undoes a configuration that is on trial. @param {Step} step */
export function trialStep({ status, run }) {
  const { booth, left_ms } = status.trial;
  const time = durationText(Math.ceil(left_ms / 1000) * 1000);
  /** @param {boolean} keep */
  const settle = (keep) => () => void run(() => send("/setup/settle", { keep }));
  return [
    el("p", { className: "advice", id: "trying", role: "status" }, t("begin.trying", { booth, time })),
    buttonRow(pushButton(t("begin.stay"), settle(true)), pushButton(t("begin.back"), settle(false))),
  ];
}
