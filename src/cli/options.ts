import type { Milliseconds } from "../domain/units.ts";
import { CommandError, EXIT, type Values } from "../tools/command.ts";
import { instantIn, zoneOf } from "./time.ts";

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** An option's text, where one was given. */
export function textOption(values: Values, name: string): string | undefined {
  const text = values[name];
  return typeof text === "string" ? text : undefined;
}

/** A length of time given as an option, e.g. 90s, 10m, 2h; undefined where it wasn't. Throws a CommandError where it is none, or longer. */
export function lengthOption(values: Values, name: string, longest_h: number): Milliseconds | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,6}(?:\.\d+)?)([smh])$/.exec(text) ?? [];
  const ms = Number(digits) * (UNITS_MS[unit] ?? NaN);
  if (ms > 0 && ms <= longest_h * 3_600_000) return ms;
  throw new CommandError(`--${name} ${text} is no time such as 90s, 10m or 2h, up to ${longest_h}h`, EXIT.usage);
}

/** One --from or --to as the query wants it. Throws a CommandError where it is no time. */
function timeOption(values: Values, name: "from" | "to"): string | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const time = instantIn(text, { now: Date.now(), tz: zoneOf(values) });
  if (time !== null) return new Date(time).toISOString();
  const known = "today, yesterday, -2h, 2026-03-02 or 2026-03-02T15:00:00Z";
  throw new CommandError(`--${name} ${text} is not a time like ${known}`, EXIT.usage);
}

/** The query of a report: the window, and what the command adds. */
export function reportQuery(values: Values, more: Readonly<Record<string, string>> = {}): URLSearchParams {
  const [start, end] = [timeOption(values, "from"), timeOption(values, "to")];
  return new URLSearchParams({
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    ...more,
  });
}
