const SPELLING = /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?Z?$/;

/**
 * Parses an instant in one of three formats, all UTC: "2025-02-17 10:00:00Z", the same without Z, ISO 8601 with Z.
 * Returns undefined for another format or a date that doesn't exist.
 */
export function parseTime(text: string): number | undefined {
  const match = SPELLING.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const millis = Number((match[7] ?? "0").padEnd(3, "0").slice(0, 3));
  const time = Date.UTC(year, month - 1, day, hour, minute, second, millis);
  const back = new Date(time);
  const same = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && back.getUTCHours() === hour;
  return same && back.getUTCMinutes() === minute && back.getUTCSeconds() === second ? time : undefined;
}

/** The last instant that the formats can express. */
export const LAST_INSTANT = 253_402_300_799_999;
export const FIRST_INSTANT = -86_400_000;

export function isInstant(time: number): boolean {
  return time >= FIRST_INSTANT && time <= LAST_INSTANT;
}

/** Formats an instant as "2025-02-17 10:00:00Z", rounded down to the second. */
export function formatTime(time: number): string {
  return `${new Date(Math.floor(time / 1000) * 1000).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

export function formatOptional(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : formatTime(time);
}

/** Returns minutes with 4 decimals, as in answers. */
export function minutes(ms: number): number {
  return Math.round(ms / 6) / 10_000;
}

/** Returns days with 4 decimals. */
export function days(ms: number): number {
  return Math.round((ms / 86_400_000) * 10_000) / 10_000;
}
