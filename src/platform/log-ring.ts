import type { EpochMs } from "../core/types/units.ts";
import type { Logger } from "../ports.ts";

/** About a day of a healthy agent; some 60 kB. */
const MAX_LINES = 300;
const MAX_TEXT = 500;

export interface RememberedLine {
  readonly at: EpochMs;
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

/** A logger that keeps its newest lines for screens: their text alone, without fields. `lines()`: newest last. */
export function rememberingLog(
  log: Logger,
  wall: () => EpochMs,
): { readonly log: Logger; readonly lines: () => readonly RememberedLine[] } {
  const lines: RememberedLine[] = [];
  const keep = (level: RememberedLine["level"], text: string): void => {
    lines.push({ at: wall(), level, text: text.slice(0, MAX_TEXT) });
    if (lines.length > MAX_LINES) lines.shift();
  };
  const both = (level: RememberedLine["level"]): Logger["info"] => {
    return (fields, text) => {
      keep(level, text);
      log[level](fields, text);
    };
  };
  return {
    log: {
      debug: (fields, text) => log.debug(fields, text),
      info: both("info"),
      warn: both("warn"),
      error: both("error"),
    },
    lines: () => lines,
  };
}
