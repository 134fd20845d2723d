import { message, type Text } from "../../domain/message.ts";
import type { ServiceAnswer } from "../../domain/service.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { jsonOf } from "../../domain/json.ts";
import { errorShape } from "../../contract/provisioning.ts";
import type { HttpAnswer } from "./client.ts";

/**
 * Statuses that mean "try again later". A request with any other 4xx fails again if it is repeated unchanged. 413 is mostly the limit of a
 * proxy, and no verdict on the request.
 */
export const KEEP = new Set([408, 413, 425, 429, 500, 502, 503, 504]);
/** Longest wait that a service can ask for. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Returns the wait of a Retry-After header, in seconds or as a date; null if it is absent or unreadable. */
export function retryAfterMs(header: string | string[] | undefined, now: EpochMs): Milliseconds | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  const wait = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), MAX_RETRY_AFTER_MS) : null;
}

/** Returns the middle of the second that a Date header names; null if it is absent or unreadable. */
export function dateOf(header: string | string[] | undefined): EpochMs | null {
  const time = typeof header === "string" ? Date.parse(header) : NaN;
  return Number.isFinite(time) ? time + 500 : null;
}

/** Parses a body; null: it isn't what was asked for. */
export type Parse<T> = (body: unknown) => T | null;

/**
 * Returns what an answer means. The status decides, never the error's text. A body that isn't the expected JSON (a captive portal's
 * page, a truncated answer) means "try again later".
 */
export function answerOf<T>(answer: HttpAnswer, parse: Parse<T>, now: EpochMs): ServiceAnswer<T> {
  const { status } = answer;
  const reason = reasonOf(answer);
  if (status >= 200 && status < 300) {
    const value = parse(jsonOf(answer.text));
    if (value !== null) return { kind: "ok", value };
    return { kind: "keep", reason: message("service.strange", { status }), after_ms: null };
  }
  if (status === 401 || status === 403) return { kind: "denied", reason };
  if (status === 404) return { kind: "not_found" };
  if (status === 409 || status === 412) return { kind: "conflict", reason };
  if (KEEP.has(status) || status < 400) {
    return { kind: "keep", reason, after_ms: retryAfterMs(answer.headers["retry-after"], now) };
  }
  return { kind: "reject", reason };
}

function reasonOf(answer: HttpAnswer): Text {
  const text = errorShape.parse(jsonOf(answer.text)).error.slice(0, 200);
  return text === "" ? message("service.answered", { status: answer.status }) : `${text} (${answer.status})`;
}
