/** The page's languages; a browser loads the one that it shows. */
export const LANGUAGES = /** @type {const} */ ({ en: "English", es: "Español", de: "Deutsch" });

const FILES = {
  en: () => import("./en.js"),
  es: () => import("./es.js"),
  de: () => import("./de.js"),
};
const KEPT = "owner-language";

/** @param {string} name @returns {name is keyof typeof LANGUAGES} */
const isLanguage = (name) => Object.hasOwn(LANGUAGES, name);

/** Returns the language chosen on this device, else the first available of the browser's languages. */
function wished() {
  const names = [localStorage.getItem(KEPT) ?? "", ...navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase())];
  return names.find(isLanguage) ?? "en";
}

export const language = wished();
/** For numbers and dates. English ones are the service's: 24 hours, the day before the month. */
export const locale = language === "en" ? "en-GB" : language;
document.documentElement.lang = language;

const { TEXTS } = /** @type {{ TEXTS: Readonly<Record<string, string>> }} */ (await FILES[language]());

/** @param {string} name */
export function chooseLanguage(name) {
  localStorage.setItem(KEPT, name);
  location.reload();
}

/** A text by its key, filled in. @param {string} key @param {Readonly<Record<string, string | number>>} [values] */
export function t(key, values = {}) {
  return (TEXTS[key] ?? key).replaceAll(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * Returns the text for one or for several. The text of one has the key with .one.
 * @param {number} count
 * @param {string} key
 * @param {Readonly<Record<string, string | number>>} [more]
 */
export function counted(count, key, more = {}) {
  return t(count === 1 ? `${key}.one` : key, { count, ...more });
}
