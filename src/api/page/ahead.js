/**
 * The language and session of the device, and the page's first request, which is sent before the other modules are loaded.
 */

/** The languages of the page; each file holds all of one, and a browser loads the one that it shows. */
export const LANGUAGES = /** @type {const} */ ({ en: "English", es: "Español", de: "Deutsch" });

/** @typedef {keyof typeof LANGUAGES} Language */

const LANGUAGE = "language";
const TOKEN = "session";
const BOOTH = "booth";

/** @param {string} name @returns {name is Language} */
const isLanguage = (name) => Object.hasOwn(LANGUAGES, name);

/** The one that was chosen on this device, else the first of the browser's that there is. @returns {Language} */
function wished() {
  const own = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return [localStorage.getItem(LANGUAGE) ?? "", ...own].find(isLanguage) ?? "en";
}

export const language = wished();

/** From now on, on this device. @param {string} name */
export function chooseLanguage(name) {
  localStorage.setItem(LANGUAGE, name);
  location.reload();
}

/** Returns the session token: of this tab, or kept on the device if the box keeps the session too. */
export const token = () => sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN);

/** @param {string} value @param {boolean} stays */
export function keepToken(value, stays) {
  (stays ? localStorage : sessionStorage).setItem(TOKEN, value);
}

export function signOut() {
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(TOKEN);
}

/** The booth that was looked at last; "": none was. */
export const keptBooth = () => sessionStorage.getItem(BOOTH) ?? "";

/** @param {string} name */
export const keepBooth = (name) => sessionStorage.setItem(BOOTH, name);

/** Returns the path of the live view: the status each second, with a booth's readings. @param {string} booth */
export const eventsOf = (booth) => `/events${booth === "" ? "" : `?booth=${encodeURIComponent(booth)}`}`;

/** @param {string} path @param {RequestInit} [options] */
export function call(path, options = {}) {
  const own = token();
  // The agent's messages come as data too: for other languages, and for texts without commands.
  const asked = `${path}${path.includes("?") ? "&" : "?"}said=true`;
  return fetch(asked, { ...options, headers: { ...(own === null ? {} : { Authorization: own }), ...options.headers } });
}

/** @type {{ path: string, answer: Promise<Response>, ending: AbortController } | null} */
let first = null;

/** Returns the answer of the first request if it has this path. It is used once. @param {string} path @param {AbortSignal} signal */
export function takeFirst(path, signal) {
  const taken = first;
  first = null;
  if (taken?.path !== path) {
    taken?.ending.abort();
    return null;
  }
  signal.addEventListener("abort", () => taken.ending.abort());
  return taken.answer;
}

// The scanner's document asks for nothing.
if (location.pathname === "/") {
  const [path, ending] = [eventsOf(keptBooth()), new AbortController()];
  first = { path, ending, answer: call(path, { signal: ending.signal }) };
  // The caller of `takeFirst` handles the failure.
  first.answer.catch(() => undefined);
}
