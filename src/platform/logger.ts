import { pino } from "pino";
import type { Logger } from "../ports.ts";

/** Field names whose values never reach a log, at any depth that our own lines have. */
const SECRET_FIELDS = ["credential", "api_key", "key", "password", "authorization", "old_password", "new_password"];

/** JSON lines to standard output, from where the journal takes them. */
export function createLogger(level: "debug" | "info" | "warn" | "error"): Logger {
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]);
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths, censor: "[secret]" },
  });
}
