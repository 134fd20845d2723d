import { render, rendered } from "../domain/messages/render.ts";
import { isMessage, mapWords, type Text } from "../domain/message.ts";
import { fstatSync } from "node:fs";
import { pino } from "pino";
import type { LogLine } from "../api/operation.ts";
import { withControlsEscaped } from "../domain/control-characters.ts";
import type { Logger } from "../domain/machine.ts";
import type { EpochMs } from "../domain/units.ts";

/** Syslog priorities by level. The journal reads a priority from the start of a line. */
const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** Adds the journal's priority to a line. The line starts with its level. */
export function withPriority(line: string): string {
  const level = /^\{"level":"([a-z]+)"/.exec(line)?.[1] ?? "";
  return `<${PRIORITIES[level] ?? 6}>${line}`;
}

/**
 * Returns whether an output is the journal. systemd sets JOURNAL_STREAM to the journal's device and inode, and no pipe or other file has
 * the same ones.
 */
export function isJournal(fd: number, environment: Readonly<Record<string, string | undefined>>): boolean {
  const journal = environment["JOURNAL_STREAM"];
  if (journal === undefined) return false;
  const { dev, ino } = fstatSync(fd);
  return journal === `${dev}:${ino}`;
}

/** Names of fields whose values are never logged, at the top level or one level below. */
const SECRET_FIELDS = ["credential", "api_key", "key", "password", "authorization", "old_password", "new_password"];

const STDOUT = 1;
export const STDERR = 2;

/**
 * Creates a logger that writes JSON lines to standard output, with the journal's priority if the output is the journal. Commands that print
 * an answer log to STDERR. Control characters are escaped, even those that JSON allows, because people read the lines in terminals.
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
  const log = pino(options, { write: (line) => void output.write(shown(withControlsEscaped(line))) });
  const at = (name: keyof Logger): Logger["info"] => {
    return (fields, text) => {
      if (log.isLevelEnabled(name)) log[name](logFields(fields, text), render(text));
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Returns the fields of a log line: the given fields, rendered, and the code and values of each message. */
function logFields(fields: Readonly<Record<string, unknown>>, text: Text): object {
  const own = Object.values(fields).some((value) => typeof value === "object") ? withMessages(fields) : fields;
  return isMessage(text) ? { ...own, code: text.code, args: rendered(text.args) } : own;
}

/** Renders the messages in fields. An error is left unchanged, because pino writes its stack. */
function withMessages(fields: Readonly<Record<string, unknown>>): object {
  const { err, ...others } = fields;
  const shown = rendered(others, { said: true }) as object;
  return err === undefined ? shown : { ...shown, err };
}

/** Maximum number of kept lines: about a day of a healthy agent, some 60 kB. */
const MAX_LINES = 300;
const MAX_TEXT = 500;

/** Wraps a logger, and keeps the texts of the newest lines for the page. `lines()` returns them, newest last. */
export function rememberingLog(
  log: Logger,
  wall: () => EpochMs,
): { readonly log: Logger; readonly lines: () => readonly LogLine[] } {
  const lines: LogLine[] = [];
  const both = (level: LogLine["level"]): Logger["info"] => {
    return (fields, text) => {
      lines.push({ at: wall(), level, text: mapWords(text, (words) => words.slice(0, MAX_TEXT)) });
      if (lines.length > MAX_LINES) lines.shift();
      log[level](fields, text);
    };
  };
  const debug: Logger["debug"] = (fields, text) => log.debug(fields, text);
  return { log: { debug, info: both("info"), warn: both("warn"), error: both("error") }, lines: () => lines };
}
