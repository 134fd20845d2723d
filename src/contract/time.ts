import type { EpochMs, Milliseconds } from "../domain/units.ts";

/** `2025-02-17 10:00:00Z`, the same without Z, and ISO 8601 with T: all three are UTC [S]. */
const SPELLINGS = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})\d*)?(Z|\+00:00)?$/;

/**
 * Reads a timestamp of the service; null where it isn't one of the three spellings or names no real instant.
 * An own parser, because `new Date("2025-02-17 10:00:00")` means local time.
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

/** For requests: ISO 8601 with Z. */
export function isoTime(instant: EpochMs): string {
  return new Date(instant).toISOString();
}

/** For answers, as the service spells them: `2025-02-17 10:00:00Z`. */
export function answerTime(instant: EpochMs): string {
  return `${new Date(instant).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** Milliseconds as the wire's minutes: ms / 60,000 to 4 decimals, halves up, without a float in between. */
export function minutesOf(ms: Milliseconds): number {
  return Math.round(ms / 6) / 10_000;
}
