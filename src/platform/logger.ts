import { pino } from "pino";
import { isJournal, withPriority } from "./journal.ts";
import type { Logger } from "../ports.ts";

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
