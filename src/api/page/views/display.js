import { chooseLanguage, language, LANGUAGES } from "../ahead.js";
import { askUser, el } from "../kit/dom.js";
import { unitText } from "../kit/format.js";
import { t } from "../texts/texts.js";
import { CHOICES, keepUnits, units } from "../kit/units.js";

/** Opens the dialog with the display settings of this device: language and units. */
export async function openDisplay() {
  const all = /** @type {(keyof typeof CHOICES)[]} */ (Object.keys(CHOICES));
  const said = await askUser(t("head.display"), {
    text: t("display.text"),
    fields: [
      choice("language", { of: Object.entries(LANGUAGES), chosen: language }),
      ...all.map((name) =>
        choice(name, { of: CHOICES[name].map((one) => [one, optionText(name, one)]), chosen: units[name] }),
      ),
    ],
    yes: t("display.save"),
    no: t("display.cancel"),
  });
  if (said === null) return;
  const { language: chosen = "", ...values } = said;
  keepUnits(values);
  chooseLanguage(chosen);
}

/**
 * Returns the text for one choice of a display setting.
 * @param {string} name @param {string} value
 */
function optionText(name, value) {
  return name === "clock" ? t(`display.clock${value}`) : unitText(value);
}

/** Draws the choice for a display setting. @param {string} name @param {{ of: readonly (readonly string[])[], chosen: string }} options */
function choice(name, { of, chosen }) {
  const id = `field-${name}`;
  return el(
    "div",
    {},
    el("label", { for: id }, t(`display.${name}`)),
    el(
      "select",
      { id, name },
      ...of.map(([value = "", text = ""]) => el("option", { value, selected: value === chosen }, text)),
    ),
  );
}
