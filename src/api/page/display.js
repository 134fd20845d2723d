import { askUser, el } from "./dom.js";
import { chooseLanguage, language, LANGUAGES, t } from "./texts.js";

/** How this device shows things: asked once, kept on it. */
export async function openDisplay() {
  const said = await askUser(t("head.display"), {
    fields: [choice(t("display.language"), "language", { of: LANGUAGES, chosen: language })],
    yes: t("display.save"),
    no: t("display.cancel"),
  });
  if (said !== null) chooseLanguage(said["language"] ?? "");
}

/** @param {string} label @param {string} name @param {{ of: Readonly<Record<string, string>>, chosen: string }} options */
function choice(label, name, { of, chosen }) {
  const id = `field-${name}`;
  return el(
    "div",
    {},
    el("label", { for: id }, label),
    el(
      "select",
      { id, name },
      ...Object.entries(of).map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
    ),
  );
}
