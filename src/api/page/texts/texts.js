import { language } from "../ahead.js";

/** @typedef {import("../ahead.js").Language} Language */
/** @typedef {Readonly<Record<string, string>>} Texts */
/** A sentence of the agent: its code and its arguments. @typedef {{ code: string, args: Readonly<Record<string, string | Said | readonly (string | Said)[]>>, text: string }} Said */

const FILES = /** @type {Readonly<Record<Language, () => Promise<{ TEXTS: Texts, SAYINGS: Texts }>>>} */ ({
  en: () => import("./en.js"),
  es: () => import("./es.js"),
  de: () => import("./de.js"),
});

/** Told to the window once texts that the chosen language lacks have come in English. */
export const ENGLISH_CAME = "english-came";

/** For numbers and dates: the browser's own kind of that language, as en-US. */
export const locale = navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === language) ?? language;
document.documentElement.lang = language;

const { TEXTS: texts, SAYINGS: sayings } = await FILES[language]();
/** @type {Texts} */
let english = language === "en" ? texts : {};
let isEnglishAsked = language === "en";

/** Loads English if the chosen language lacks a text. */
async function fetchEnglish() {
  isEnglishAsked = true;
  english = (await FILES.en()).TEXTS;
  dispatchEvent(new Event(ENGLISH_CAME));
}

/** @param {string} text @param {Readonly<Record<string, string | number>>} values */
function filled(text, values) {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** A text by its key, filled in. @param {string} key @param {Readonly<Record<string, string | number>>} [values] */
export function t(key, values = {}) {
  const text = texts[key] ?? english[key];
  if (text === undefined && !isEnglishAsked) void fetchEnglish();
  return filled(text ?? key, values);
}

/** Why a value isn't good: the drivers' few words in people's; what a server said by a name of its own stays. @param {string} reason */
export const whyText = (reason) => (`why.${reason}` in texts ? t(`why.${reason}`) : reason);

/** @param {Said} said @returns {string} */
function inOurWords({ code, args, text }) {
  const own = sayings[code];
  if (own === undefined) return text;
  const values = Object.entries(args).map(([name, value]) => [
    name,
    typeof value === "string" ? wordOf(value) : told(value),
  ]);
  return filled(own, Object.fromEntries(values));
}

/** A sentence, or several with what stands between. @param {Said | readonly (string | Said)[]} said */
function told(said) {
  if (!("length" in said)) return inOurWords(said);
  let [text, left] = ["", 0];
  for (const one of said) {
    const own = typeof one === "string" ? inColumn(one, left) : inOurWords(one);
    left = typeof one === "string" ? 0 : one.text.length - own.length;
    text += own;
  }
  return text;
}

/** Keeps the next text of a row in its column if there is room. @param {string} joint @param {number} left */
const inColumn = (joint, left) => (/^ {2,}$/.test(joint) ? " ".repeat(Math.max(2, joint.length + left)) : joint);

/** A mode in a sentence, as the agent names it. @param {string} value */
const wordOf = (value) => texts[`mode.${value.replaceAll(" ", "_")}`] ?? value;

/**
 * For JSON.parse: sentences of the agent in the chosen language, in the place of its own words. What it has no code for, as
 * what others say, stays.
 * @param {string} _ @param {any} value
 */
export function spoken(_, value) {
  for (const [name, said] of Object.entries(value?.said ?? {})) {
    // A list has one for each entry. The workshop's events have a text field of the same name, which is skipped.
    if (Array.isArray(value[name]))
      value[name] = said.map((/** @type {any} */ one, /** @type {number} */ index) =>
        one === null ? value[name][index] : told(one),
      );
    else if (typeof said === "object") value[name] = told(said);
  }
  return value;
}
