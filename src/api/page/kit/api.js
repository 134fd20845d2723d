import { call, keepToken, signOut, takeFirst, token } from "../ahead.js";
import { spoken, t } from "../texts/texts.js";

/** Time limit of a request. */
const PATIENCE_MS = 15_000;
const AGAIN_MS = 1_500;
/**
 * Maximum time without an event of the live view, which normally sends one each second. After that, the page must not look live any longer.
 */
const SILENCE_MS = 5_000;

/** An error with a text for people. `status`: HTTP status of the answer; 0 if no answer arrived. */
export class ApiError extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function hasSession() {
  return token() !== null;
}

/** Parses the body of an answer as JSON, with its messages in the language of the page. @param {Response} answer @returns {Promise<any>} */
async function read(answer) {
  return JSON.parse(await answer.text(), spoken);
}

/**
 * Sends a request that fails if the agent doesn't answer in time. Throws an ApiError if the request fails.
 * @param {string} path @param {RequestInit} [options]
 */
function exchange(path, options = {}) {
  return answered(call(path, { ...options, signal: options.signal ?? AbortSignal.timeout(PATIENCE_MS) }));
}

/**
 * Waits for the answer to a request. Throws an ApiError if no answer comes or the answer is an error. Status 401 ends the session.
 * @param {Promise<Response>} asked
 */
async function answered(asked) {
  const answer = await asked.catch(() => {
    throw new ApiError(t("error.away"), 0);
  });
  if (answer.ok) return answer;
  const { error = answer.statusText } = await read(answer).catch(() => ({}));
  if (answer.status === 401) signOut();
  throw new ApiError(error, answer.status);
}

/** Reads a resource of the agent. Throws an ApiError if the request fails. @param {string} path @returns {Promise<any>} */
export async function get(path) {
  return read(await exchange(path));
}

/**
 * Sends JSON to the agent and returns its answer. Throws an ApiError if the request fails.
 * @param {string} path @param {unknown} body @param {string} [method] @returns {Promise<any>}
 */
export async function send(path, body, method = "POST") {
  const answer = await exchange(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return read(answer);
}

/**
 * Sends a request and passes on the events of its answer until the answer ends.
 * @param {string} path @param {{ body: unknown, signal: AbortSignal }} call @param {(name: string, data: any) => void} event
 */
export async function converse(path, { body, signal }, event) {
  const headers = { "Content-Type": "application/json" };
  const answer = await exchange(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (answer.body !== null) await readEvents(answer.body, event);
}

/** Starts a session with a PIN and stores the session token. Throws an ApiError if the PIN is wrong. @param {string} pin */
export async function enterPin(pin) {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ api_key: pin });
  const answer = await exchange("/api/authenticate", { method: "POST", headers, body });
  const { session_token } = await read(answer);
  keepToken(session_token, answer.headers.get("Session-Kept") === "true");
}

/** Saves the answer of a path as a file. A plain link could not send the session token. @param {string} path @param {string} name */
export async function download(path, name) {
  const answer = await exchange(path, { signal: AbortSignal.timeout(600_000) });
  saveBlob(await answer.blob(), name);
}

/** Saves data as a file in the browser's download folder. @param {Blob} blob @param {string} name */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), AGAIN_MS);
}

/**
 * Receives server-sent events by fetch, because EventSource can't send a session token. Reconnects until it is closed.
 * @param {string} path
 * @param {{ event: (name: string, data: any) => void, live: (isLive: boolean, error: ApiError | null) => void }} to
 */
export function listen(path, to) {
  const ending = new AbortController();
  const run = async () => {
    while (!ending.signal.aborted) {
      try {
        const { signal } = ending;
        const { body } = await answered(takeFirst(path, signal) ?? call(path, { signal }));
        to.live(true, null);
        if (body !== null) await readEvents(body, to.event, SILENCE_MS);
        to.live(false, null);
      } catch (error) {
        if (!ending.signal.aborted) to.live(false, error instanceof ApiError ? error : null);
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  void run();
  return () => ending.abort();
}

/**
 * Reads events until the body ends, or until nothing has arrived for `patience_ms`.
 * @param {ReadableStream<Uint8Array>} body @param {(name: string, data: any) => void} event @param {number} [patience_ms]
 */
async function readEvents(body, event, patience_ms) {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let text = "";
  for (;;) {
    const timer =
      patience_ms === undefined ? 0 : setTimeout(() => void reader.cancel().catch(() => undefined), patience_ms);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (name !== undefined && data !== undefined) event(name, JSON.parse(data, spoken));
    }
  }
}
