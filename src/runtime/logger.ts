import { fstatSync } from "node:fs";
import { pino } from "pino";
import type { LogLine } from "../api/operation.ts";
import { withControlsEscaped } from "../domain/control-characters.ts";
import type { Logger } from "../domain/machine.ts";
import type { EpochMs } from "../domain/units.ts";

/** Priorities of syslog, which the journal takes from the start of a line. */
const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** The line as the journal wants it: with its priority, by the level that our lines begin with. */
export function withPriority(line: string): string {
  const level = /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? "";
  return `<${PRIORITIES[level] ?? 6}>${line}`;
}

/** Whether that output is the journal itself, as systemd says by device and inode; a pipe or file of another's isn't. */
export function isJournal(fd: number, environment: Readonly<Record<string, string | undefined>>): boolean {
  const told = environment["JOURNAL_STREAM"];
  if (told === undefined) return false;
  const { dev, ino } = fstatSync(fd);
  return told === `${dev}:${ino}`;
}

/** Field names whose values never reach a log, at any depth that our own lines have. */
const SECRET_FIELDS = ["credential", "api_key", "key", "password", "authorization", "old_password", "new_password"];

const STDOUT = 1;
export const STDERR = 2;

/**
 * JSON lines to standard output, from where the journal takes them with their priority; a command whose output is an answer gives STDERR.
 * Control characters are escaped, also those that JSON allows, since people read these lines on terminals.
 */
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
  const shown = isJournal(fd, process.env) ? withPriority : (line: string) => line;
  return pino(options, { write: (line) => void output.write(shown(withControlsEscaped(line))) });
}

/** About a day of a healthy agent; some 60 kB. */
const MAX_LINES = 300;
const MAX_TEXT = 500;

/** A logger that keeps its newest lines for screens: their text alone, without fields. `lines()`: newest last. */
export function rememberingLog(
  log: Logger,
  wall: () => EpochMs,
): { readonly log: Logger; readonly lines: () => readonly LogLine[] } {
  const lines: LogLine[] = [];
  const both = (level: LogLine["level"]): Logger["info"] => {
    return (fields, text) => {
      lines.push({ at: wall(), level, text: text.slice(0, MAX_TEXT) });
      if (lines.length > MAX_LINES) lines.shift();
      log[level](fields, text);
    };
  };
  const debug: Logger["debug"] = (fields, text) => log.debug(fields, text);
  return { log: { debug, info: both("info"), warn: both("warn"), error: both("error") }, lines: () => lines };
}
