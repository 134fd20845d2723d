import { language } from "../ahead.js";
import { icuText } from "../../../domain/messages/icu.js";

/** @typedef {import("../ahead.js").Language} Language */
/** @typedef {Readonly<Record<string, string>>} Texts */
/** A message of the agent: its code and values, and its English text. @typedef {{ code: string, args: Readonly<Record<string, Arg>>, text: string }} Said */
/** @typedef {string | number | Said | readonly (string | Said)[]} Arg */

/** Dispatched on the window once English texts have arrived that the chosen language lacks. */
export const ENGLISH_CAME = "english-came";

/** For numbers and dates: the browser's own variant of the language, such as en-US. */
export const locale = navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === language) ?? language;
document.documentElement.lang = language;

/** @param {string} path @returns {Promise<Texts>} */
const loadTexts = async (path) => (await fetch(new URL(path, import.meta.url))).json();

/** The texts of the page. */
const texts = await loadTexts(`./${language}.json`);
/** The agent's messages. It sends them in English itself. @type {Texts} */
const messages = language === "en" ? {} : await loadTexts(`./messages-${language}.json`);
let english = language === "en" ? texts : {};
let isEnglishAsked = language === "en";

/** Loads English if the chosen language lacks a text. */
async function fetchEnglish() {
  isEnglishAsked = true;
  english = await loadTexts("./en.json");
  dispatchEvent(new Event(ENGLISH_CAME));
}

/** Returns a text of the page by its key. @param {string} key @param {Readonly<Record<string, string | number>>} [values] */
export function t(key, values = {}) {
  const text = texts[key] ?? english[key];
  if (text === undefined && !isEnglishAsked) void fetchEnglish();
  return icuText(text ?? key, values, locale);
}

/** Returns why a value isn't good. Names that a server made up stay. @param {string} reason */
export const whyText = (reason) => (`why.${reason}` in texts ? t(`why.${reason}`) : reason);

/** Translates a mode, or the label of a tag of a shipped profile. @param {string} word */
const wordText = (word) =>
  texts[`mode.${word.replaceAll(" ", "_")}`] ??
  messages[`tag.${word.toLowerCase().replaceAll(/\W+/g, "_").replace(/_$/, "")}`] ??
  word;

/** Renders a message in the chosen language; a variant for the page comes first. @param {Said} said @returns {string} */
function messageText({ code, args, text }) {
  const pattern = messages[`${code}.page`] ?? messages[code];
  if (pattern === undefined) return text;
  const values = Object.entries(args).map(([name, arg]) => [name, argText(arg)]);
  return icuText(pattern, Object.fromEntries(values), locale);
}

/** @param {Arg} arg @returns {string | number} */
function argText(arg) {
  if (typeof arg === "number") return arg;
  if (typeof arg === "string") return wordText(arg);
  return "code" in arg ? messageText(arg) : arg.map(argText).join(", ");
}

/**
 * For JSON.parse: replaces the English texts of the agent's messages by the chosen language. Texts without a message stay, such as
 * words of the service.
 * @param {string} name @param {any} value
 */
export function spoken(name, value) {
  if (name === "label" && typeof value === "string") return wordText(value);
  // The workshop's events have a text field of the same name, which is skipped.
  if (typeof value?.said !== "object" || value.said === null) return value;
  for (const [field, said] of Object.entries(value.said)) value[field] = fieldText(value[field], said);
  return value;
}

/** A list has an entry for each of its own; null: the entry is no message. @param {any} text @param {any} said @returns {any} */
function fieldText(text, said) {
  if (said === null) return text;
  if (!Array.isArray(said)) return messageText(said);
  return said.map((one, index) => fieldText(text[index], one));
}
