import { accessSync, constants, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/port.ts";
import { bad, ok, skipped, type Finding } from "./finding.ts";

/** A file that holds a secret, or decides what the agent does, with the rights that nobody else may have. */
interface Guarded {
  readonly what: string;
  readonly path: string;
  /** Bits that must not be set. */
  readonly forbidden: number;
  /** What puts it right. */
  readonly mode: string;
  /** Why it may be missing. */
  readonly mayLack?: string;
}

const MADE = "the agent makes it when it needs it";
/** The agent deletes the file then. */
const BOUND = "a gateway that is bound has a key of its own";

const OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o002;

/** Modes of the files that matter; none of them is opened. */
export function examineFiles(configFile: string, config: Config): readonly Finding[] {
  const { api_key_file, api_key_credential } = config.service;
  const findings = guardedFiles(configFile, config).map(examine);
  if (api_key_file !== undefined) return findings;
  const given =
    api_key_credential === undefined
      ? "none is configured: enough for a gateway that is bound already"
      : `the systemd credential ${api_key_credential}, which the agent alone sees`;
  return [...findings, skipped("first key", given)];
}

function guardedFiles(configFile: string, { data_dir, service, page, booths }: Config): readonly Guarded[] {
  const secret = (what: string, path: string | undefined): Guarded[] =>
    path === undefined ? [] : [{ what, path, forbidden: OTHERS, mode: "600" }];
  return [
    { what: "configuration's rights", path: configFile, forbidden: WRITABLE_BY_OTHERS, mode: "o-w" },
    { what: "data folder", path: data_dir, forbidden: 0o007, mode: "o-rwx", mayLack: MADE },
    ...["identity.db", "identity.copy.db"].map((name) => ({
      what: name,
      path: join(data_dir, name),
      forbidden: OTHERS,
      mode: "600",
      mayLack: MADE,
    })),
    ...secret("first key", service.api_key_file).map((file) => ({ ...file, mayLack: BOUND })),
    ...secret("client certificate's key", service.client_key_file),
    ...secret("PIN of the page", page.pin_file),
    ...booths.flatMap(({ id, opcua }) => [
      ...secret(`OPC UA password of ${id}`, opcua?.password_file),
      ...secret(`OPC UA key of ${id}`, opcua?.user_key_file),
    ]),
  ];
}

function examine({ what, path, forbidden, mode, mayLack }: Guarded): Finding {
  const found = modeOf(path);
  if (typeof found === "string") {
    if (found === "ENOENT" && mayLack !== undefined) return skipped(what, `${path} isn't there: ${mayLack}`);
    if (found === "EACCES") return skipped(what, `no right to look at ${path}: run it as root (sudo)`);
    return bad(what, `${path}: ${found}`, `put ${path} there, or correct its name in the configuration`);
  }
  const octal = found.toString(8).padStart(3, "0");
  if ((found & forbidden) === 0) return ok(what, `${path}, mode ${octal}`);
  return bad(what, `${path} has mode ${octal}: others may use it`, `chmod ${mode} ${path}`);
}

function modeOf(path: string): number | string {
  try {
    return statSync(path).mode & 0o777;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

/** Whether a serial line's device is there for this user to read and write; in a word what it is otherwise. */
export function serialTrouble(path: string): string | null {
  if (!existsSync(path)) return "it isn't there";
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch {
    return "no right to open it";
  }
}
