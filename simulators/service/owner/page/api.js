import { t } from "./texts.js";

const TOKEN = "owner-session";
const TIMEOUT_MS = 20_000;

/** The service's answer to who asks without a good token. */
export class SignedOut extends Error {}

/** The service's last time, epoch ms; in a simulated site it differs from the browser's. */
let now = Date.now();

export function serviceNow() {
  return now;
}

export function isSignedIn() {
  return sessionStorage.getItem(TOKEN) !== null;
}

export function signOut() {
  sessionStorage.removeItem(TOKEN);
}

/**
 * A key is sent with each request; e-mail and password are taken for a session. Rejects with an Error whose message is for people.
 * @param {{ api_key: string } | { email: string, password: string }} who
 */
export async function signIn(who) {
  const authorization = "api_key" in who ? who.api_key : `Bearer ${await sessionOf(who)}`;
  const answer = await fetch("/api/facilities", {
    headers: { authorization },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.status === 401) throw new Error(t("badKey"));
  if (!answer.ok) throw new Error(t("answered", { status: answer.status }));
  sessionStorage.setItem(TOKEN, authorization);
}

/** @param {{ email: string, password: string }} who @returns {Promise<string>} */
async function sessionOf(who) {
  const answer = await fetch("session", {
    ...{ method: "POST", body: JSON.stringify(who), headers: { "content-type": "application/json" } },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { session_token, error } = /** @type {{ session_token?: string, error?: string }} */ (await answer.json());
  if (session_token === undefined)
    throw new Error(answer.status === 401 ? t("badUser") : (error ?? t("answered", { status: answer.status })));
  return session_token;
}

/**
 * Sends a GET to the service and returns the body. Rejects with SignedOut if the session has ended.
 * @param {string} path @param {Readonly<Record<string, string>>} [query]
 * @returns {Promise<any>}
 */
export async function get(path, query = {}) {
  const search = new URLSearchParams(query).toString();
  const answer = await fetch(`/api/${path}${search === "" ? "" : `?${search}`}`, {
    headers: { authorization: sessionStorage.getItem(TOKEN) ?? "" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (!Number.isNaN(date)) now = date;
  if (answer.status === 401) throw new SignedOut(t("over"));
  if (!answer.ok) throw new Error(t("answered", { status: answer.status }));
  return answer.json();
}

/**
 * Sends data that needs no key: a link's token with the new password, or the e-mail address that asks for a link.
 * @param {"password" | "reset"} path @param {Readonly<Record<string, string>>} body
 */
export async function send(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.ok) return;
  throw new Error(answer.status === 401 ? t("linkOver") : t("answered", { status: answer.status }));
}
