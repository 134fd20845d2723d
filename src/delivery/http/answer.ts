import { message, type Text } from "../../domain/message.ts";
import type { ServiceAnswer } from "../../domain/service.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { jsonOf } from "../../domain/json.ts";
import { errorShape } from "../../contract/provisioning.ts";
import type { HttpAnswer } from "./client.ts";

/**
 * Statuses that mean "try again later". A request with any other 4xx would fail again unchanged. 413 is mostly the limit of a proxy, and
 * says nothing about the request.
 */
export const KEEP = new Set([408, 413, 425, 429, 500, 502, 503, 504]);
/** Longest wait that a service can request. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Returns the wait of a Retry-After header, which is in seconds or a date; null if the header is absent or unreadable. */
export function retryAfterMs(header: string | string[] | undefined, now: EpochMs): Milliseconds | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  const wait = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), MAX_RETRY_AFTER_MS) : null;
}

/** Returns the middle of the second that a Date header names; null if the header is absent or unreadable. */
export function dateOf(header: string | string[] | undefined): EpochMs | null {
  const time = typeof header === "string" ? Date.parse(header) : NaN;
  return Number.isFinite(time) ? time + 500 : null;
}

/** Parses a body; null: the body has an unexpected form. */
export type Parse<T> = (body: unknown) => T | null;

/**
 * Returns the meaning of an answer. It depends on the status, never on the error's text. A body that isn't the expected JSON (a captive
 * portal's page, a truncated answer) means "try again later".
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
