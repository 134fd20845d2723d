import { pino } from "pino";
import { isJournal, withPriority } from "./journal.ts";
import type { Logger } from "../domain/machine.ts";
import type { EpochMs } from "../domain/units.ts";

/** Field names whose values never reach a log, at any depth that our own lines have. */
const SECRET_FIELDS = ["credential", "api_key", "key", "password", "authorization", "old_password", "new_password"];

const STDOUT = 1;
export const STDERR = 2;

/** JSON lines to standard output, from where the journal takes them with their priority; a command whose output is an answer gives STDERR. */
export function createLogger(level: "debug" | "info" | "warn" | "error", fd: number = STDOUT): Logger {
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]);
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths, censor: "[secret]" },
  };
  const output = pino.destination(fd);
  if (!isJournal(fd, process.env)) return pino(options, output);
  return pino(options, { write: (line) => void output.write(withPriority(line)) });
}

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
