import type { EpochMs, Milliseconds } from "../domain/units.ts";

/** Matches the service's spellings of a time: `2025-02-17 10:00:00Z`, the same without Z, and ISO 8601 with T. All three are UTC [S]. */
const SPELLINGS = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})\d*)?(Z|\+00:00)?$/;

/**
 * Parses a time of the service. Returns null for another spelling, or for an instant that does not exist. Does not use `Date`, which reads
 * `2025-02-17 10:00:00` as local time.
 */
export function parseTime(text: string): EpochMs | null {
  const match = SPELLINGS.exec(text.trim());
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const ms = Number((match[7] ?? "").padEnd(3, "0"));
  const instant = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  const back = new Date(instant);
  const exists =
    back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return exists ? instant : null;
}

/** Formats an instant for requests: ISO 8601 with Z. */
export function isoTime(instant: EpochMs): string {
  return new Date(instant).toISOString();
}

/** Formats an instant for answers, like the service: `2025-02-17 10:00:00Z`. */
export function answerTime(instant: EpochMs): string {
  return `${new Date(instant).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** Converts milliseconds to minutes as in messages and answers: ms / 60,000 to 4 decimals, halves up, without rounding twice. */
export function minutesOf(ms: Milliseconds): number {
  return Math.round(ms / 6) / 10_000;
}
