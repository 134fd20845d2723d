/** The device's language and session token, and the page's first request, which is sent before the other modules are loaded. */

/** Languages of the page. Each has its own file of texts, and a browser loads only the file it needs. */
export const LANGUAGES = /** @type {const} */ ({ en: "English", es: "Español", de: "Deutsch" });

/** @typedef {keyof typeof LANGUAGES} Language */

const LANGUAGE = "language";
const TOKEN = "session";
const BOOTH = "booth";

/** @param {string} name @returns {name is Language} */
const isLanguage = (name) => Object.hasOwn(LANGUAGES, name);

/** Returns the language chosen on this device, or else the first supported language of the browser. @returns {Language} */
function wished() {
  const own = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase());
  return [localStorage.getItem(LANGUAGE) ?? "", ...own].find(isLanguage) ?? "en";
}

export const language = wished();

/** Stores the language for this device and reloads the page. @param {string} name */
export function chooseLanguage(name) {
  localStorage.setItem(LANGUAGE, name);
  location.reload();
}

/** Returns the session token of this tab, or the token stored on the device if the session outlives the tab. */
export const token = () => sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN);

/**
 * Stores the session token: in the local storage if the session stays after the browser is closed, else in the session storage.
 * @param {string} value @param {boolean} stays
 */
export function keepToken(value, stays) {
  (stays ? localStorage : sessionStorage).setItem(TOKEN, value);
}

export function signOut() {
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(TOKEN);
}

/** Returns the booth that was shown last in this tab, or "" if no booth was shown yet. */
export const keptBooth = () => sessionStorage.getItem(BOOTH) ?? "";

/** Remembers the chosen booth until the browser tab is closed. @param {string} name */
export const keepBooth = (name) => sessionStorage.setItem(BOOTH, name);

/** Returns the path of the live view, which sends the status and one booth's readings every second. @param {string} booth */
export const eventsOf = (booth) => `/events${booth === "" ? "" : `?booth=${encodeURIComponent(booth)}`}`;

/** Sends a request to the agent, with the session token if there is a session. @param {string} path @param {RequestInit} [options] */
export function call(path, options = {}) {
  const own = token();
  // Requests the agent's messages as codes and values too, so that the page can translate or shorten them.
  const asked = `${path}${path.includes("?") ? "&" : "?"}said=true`;
  return fetch(asked, { ...options, headers: { ...(own === null ? {} : { Authorization: own }), ...options.headers } });
}

/** @type {{ path: string, answer: Promise<Response>, ending: AbortController } | null} */
let first = null;

/**
 * Returns the answer of the first request if it was sent to this path. Works only once.
 * @param {string} path @param {AbortSignal} signal
 */
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

// Sends a first request only from the page, not from the scanner's document.
if (location.pathname === "/") {
  const [path, ending] = [eventsOf(keptBooth()), new AbortController()];
  first = { path, ending, answer: call(path, { signal: ending.signal }) };
  // Keeps a failure from being reported as unhandled. The caller of `takeFirst` handles it.
  first.answer.catch(() => undefined);
}
