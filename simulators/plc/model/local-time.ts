/** A day in a facility's calendar. */
interface LocalDate {
  readonly year: number;
  /** 1..12 */
  readonly month: number;
  readonly day: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(tz: string): Intl.DateTimeFormat {
  const known = formats.get(tz);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-US", {
    timeZone: tz,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(tz, made);
  return made;
}

/** Returns the wall clock of `tz` at an instant, as if it were UTC. */
function wallAsUtc(tz: string, at: number): number {
  const part = new Map(
    formatOf(tz)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const field = (name: Intl.DateTimeFormatPartTypes): number => part.get(name) ?? 0;
  return Date.UTC(field("year"), field("month") - 1, field("day"), field("hour"), field("minute"), field("second"));
}

export function localDate(tz: string, at: number): LocalDate {
  const wall = new Date(wallAsUtc(tz, at));
  return { year: wall.getUTCFullYear(), month: wall.getUTCMonth() + 1, day: wall.getUTCDate() };
}

export function addDays(date: LocalDate, days: number): LocalDate {
  const moved = new Date(Date.UTC(date.year, date.month - 1, date.day + days));
  return { year: moved.getUTCFullYear(), month: moved.getUTCMonth() + 1, day: moved.getUTCDate() };
}

/** Returns the day of the week; 0: Sunday. */
export function weekdayOf({ year, month, day }: LocalDate): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay();
}

/**
 * Returns the instant of "HH:MM" (or "HH:MM:SS") on that day. For a wall time that exists twice or never, returns a
 * neighboring instant.
 */
export function instantOf(tz: string, date: LocalDate, time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  const wall = Date.UTC(date.year, date.month - 1, date.day, hours, minutes, seconds);
  const guess = wall - (wallAsUtc(tz, wall) - wall);
  return wall - (wallAsUtc(tz, guess) - guess);
}
