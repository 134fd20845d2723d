import { language } from "../ahead.js";
import { icuText } from "../../../domain/messages/icu.js";

/** @typedef {import("../ahead.js").Language} Language */
/** @typedef {Readonly<Record<string, string>>} Texts */
/**
 * A message of the agent as code and values, with its English text.
 * @typedef {{ code: string, args: Readonly<Record<string, Arg>>, text: string }} Said
 */
/** @typedef {string | number | Said | readonly (string | Said)[]} Arg */

/** Event dispatched on the window once the English texts were loaded to fill gaps in the chosen language. */
export const ENGLISH_CAME = "english-came";

/** Locale of numbers and dates: the browser's own variant of the language, such as en-US. */
export const locale = navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === language) ?? language;
document.documentElement.lang = language;

/** @param {string} path @returns {Promise<Texts>} */
const loadTexts = async (path) => (await fetch(new URL(path, import.meta.url))).json();

const texts = await loadTexts(`./${language}.json`);
/** Translations of the agent's messages. English needs none, because the agent sends English texts. @type {Texts} */
const messages = language === "en" ? {} : await loadTexts(`./messages-${language}.json`);
let english = language === "en" ? texts : {};
let isEnglishAsked = language === "en";

/** Loads the English texts when the chosen language lacks one. */
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

/** Returns the text for a value's reason. A name that a PLC's server made up is returned unchanged. @param {string} reason */
export const whyText = (reason) => (`why.${reason}` in texts ? t(`why.${reason}`) : reason);

/**
 * Translates the name of a mode, or a tag's label from a shipped profile.
 * @param {string} word
 */
const wordText = (word) =>
  texts[`mode.${word.replaceAll(" ", "_")}`] ??
  messages[`tag.${word.toLowerCase().replaceAll(/\W+/g, "_").replace(/_$/, "")}`] ??
  word;

/** Renders a message in the chosen language. A variant of the text for the page has priority. @param {Said} said @returns {string} */
function messageText({ code, args, text }) {
  const pattern = messages[`${code}.page`] ?? messages[code];
  if (pattern === undefined) return withModeNames(text, args);
  const values = Object.entries(args).map(([name, arg]) => [name, argText(arg)]);
  return icuText(pattern, Object.fromEntries(values), locale);
}

/**
 * Replaces a mode's key by its name in an English text, which comes with its values.
 * @param {string} text @param {Said["args"]} args @returns {string}
 */
function withModeNames(text, args) {
  const { mode } = args;
  const name = typeof mode === "string" ? texts[`mode.${mode}`] : undefined;
  return name === undefined ? text : text.replace(new RegExp(`\\b${String(mode)}\\b`), name);
}

/** Returns the text of a message's argument, which may itself be a message or a list. @param {Arg} arg @returns {string | number} */
function argText(arg) {
  if (typeof arg === "number") return arg;
  if (typeof arg === "string") return wordText(arg);
  return "code" in arg ? messageText(arg) : arg.map(argText).join(", ");
}

/**
 * Reviver for JSON.parse that translates the agent's messages. Plain texts, such as words of the service, stay as they are.
 * @param {string} name @param {any} value
 */
export function spoken(name, value) {
  if (name === "label" && typeof value === "string") return wordText(value);
  // Skips the workshop's texts and the set-up's list with the same name `said`.
  if (typeof value?.said !== "object" || value.said === null || Array.isArray(value.said)) return value;
  for (const [field, said] of Object.entries(value.said)) value[field] = fieldText(value[field], said);
  return value;
}

/**
 * Translates a field. A list has one entry per item; a null entry means that the text isn't a message.
 * @param {any} text @param {any} said @returns {any}
 */
function fieldText(text, said) {
  if (said === null) return text;
  if (!Array.isArray(said)) return messageText(said);
  return said.map((one, index) => fieldText(text[index], one));
}
