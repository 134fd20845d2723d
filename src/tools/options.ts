import { message } from "../domain/message.ts";
import type { Milliseconds } from "../domain/units.ts";
import { CommandError, EXIT, type Values } from "./command.ts";

const UNITS_MS: Readonly<Record<string, Milliseconds>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Returns the text of an option; undefined if the option isn't given. */
export function textOption(values: Values, name: string): string | undefined {
  const text = values[name];
  return typeof text === "string" ? text : undefined;
}

/**
 * Returns the duration of an option such as 90s, 10m or 2h; undefined if not given. Throws a CommandError for an invalid or too long
 * duration.
 */
export function lengthOption(values: Values, name: string, longest_h: number): Milliseconds | undefined {
  const text = textOption(values, name);
  if (text === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,6}(?:\.\d+)?)([smh])$/.exec(text) ?? [];
  const ms = Number(digits) * (UNITS_MS[unit] ?? NaN);
  if (ms > 0 && ms <= longest_h * 3_600_000) return ms;
  throw new CommandError(message("tool.no_duration", { option: name, text, most: longest_h }), EXIT.usage);
}
