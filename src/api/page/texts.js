/** The languages of the page; each file holds all of one, and a browser loads the one that it shows. */
export const LANGUAGES = /** @type {const} */ ({ en: "English", es: "Español", de: "Deutsch" });

/** @typedef {keyof typeof LANGUAGES} Language */
/** @typedef {Readonly<Record<string, string>>} Texts */

const FILES = /** @type {Readonly<Record<Language, () => Promise<{ TEXTS: Texts }>>>} */ ({
  en: () => import("./en.js"),
  es: () => import("./es.js"),
  de: () => import("./de.js"),
});

/** Told to the window once texts that the chosen language lacks have come in English. */
export const ENGLISH_CAME = "english-came";

const KEPT = "language";

/** @param {string} name @returns {name is Language} */
const isLanguage = (name) => Object.hasOwn(LANGUAGES, name);

/** The one that was chosen on this device, else the first of the browser's that there is. @returns {Language} */
function wished() {
  const names = [localStorage.getItem(KEPT) ?? "", ...navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase())];
  return names.find(isLanguage) ?? "en";
}

export const language = wished();
/** For numbers and dates: the browser's own kind of that language, as en-US. */
export const locale = navigator.languages.find((tag) => tag.slice(0, 2).toLowerCase() === language) ?? language;
document.documentElement.lang = language;

/** @type {Texts} */
const texts = (await FILES[language]()).TEXTS;
/** @type {Texts} */
let english = language === "en" ? texts : {};
let isEnglishAsked = language === "en";

/** From now on, on this device. @param {string} name */
export function chooseLanguage(name) {
  localStorage.setItem(KEPT, name);
  location.reload();
}

/** Where the chosen language has a hole: only then is a second one loaded. */
async function fetchEnglish() {
  isEnglishAsked = true;
  english = (await FILES.en()).TEXTS;
  dispatchEvent(new Event(ENGLISH_CAME));
}

/** A text by its key, filled in. @param {string} key @param {Readonly<Record<string, string | number>>} [values] */
export function t(key, values = {}) {
  const text = texts[key] ?? english[key];
  if (text === undefined && !isEnglishAsked) void fetchEnglish();
  return (text ?? key).replaceAll(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
