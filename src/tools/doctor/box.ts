import { message, type Text } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { release } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../../config/config-error.ts";
import { fileProblems } from "../../config/file-checks.ts";
import type { Config } from "../../config/port.ts";
import { inspectConfig, type UsableConfig } from "../../config/usable.ts";
import type { StoreCheck, StoreFiles, StoreProgress } from "../../store/port.ts";
import { bad, type Finding, joined, ok, present, skipped, warn } from "./finding.ts";

/** A file that other users must not read or change, because it holds a secret or decides what the agent does. */
interface Guarded {
  readonly what: string;
  readonly path: string;
  /** Permission bits that must not be set. */
  readonly forbidden: number;
  /** The mode that the suggested `chmod` sets. */
  readonly mode: string;
  /** The reason why the file may be missing. */
  readonly mayLack?: Text | undefined;
}

const OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o002;

/** Checks the permissions of important files without opening the files. */
export function examineFiles(configFile: string, config: Config): readonly Finding[] {
  const { api_key_file, api_key_credential: name } = config.service;
  const given = name === undefined ? message("doctor.no_key") : message("doctor.credential", { name });
  return present([
    ...guardedFiles(configFile, config).map(examine),
    api_key_file === undefined && skipped("first key", given),
  ]);
}

function guardedFiles(configFile: string, { data_dir, service, page, booths }: Config): readonly Guarded[] {
  const made = message("doctor.made_later");
  const secret = (what: string, path: string | undefined, mayLack?: Text): Guarded[] =>
    path === undefined ? [] : [{ what, path, forbidden: OTHERS, mode: "600", mayLack }];
  return [
    { what: "configuration's rights", path: configFile, forbidden: WRITABLE_BY_OTHERS, mode: "o-w" },
    { what: "data folder", path: data_dir, forbidden: 0o007, mode: "o-rwx", mayLack: made },
    ...["identity.db", "identity.copy.db"].flatMap((name) => secret(name, join(data_dir, name), made)),
    // Accepts that this file is missing, because the agent deletes it once it has a key of its own.
    ...secret("first key", service.api_key_file, message("doctor.own_key")),
    ...secret("client certificate's key", service.client_key_file),
    ...secret("PIN of the page", page.pin_file),
    ...booths.flatMap(({ id, opcua }) => [
      ...secret(`OPC UA password of ${id}`, opcua?.password_file),
      ...secret(`OPC UA key of ${id}`, opcua?.user_key_file),
    ]),
  ];
}

function examine({ what, path, forbidden, mode, mayLack }: Guarded): Finding {
  try {
    const found = statSync(path).mode & 0o777;
    const octal = found.toString(8).padStart(3, "0");
    if ((found & forbidden) === 0) return ok(what, message("doctor.mode_is", { path, mode: octal }));
    return bad(what, message("doctor.open_to_others", { path, mode: octal }), `chmod ${mode} ${path}`);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" && mayLack !== undefined)
      return skipped(what, message("doctor.not_there", { path, why: mayLack }));
    if (code === "EACCES") return skipped(what, message("doctor.no_look", { path }));
    return bad(what, `${path}: ${code}`, message("doctor.put_file", { path }));
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** Returns the reason why this user can't read and write a serial line's device; null if the user can. */
export function serialTrouble(path: string): Text | null {
  if (!existsSync(path)) return message("doctor.line_missing");
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch {
    return message("doctor.line_no_right");
  }
}

/** Checks the configuration and its profiles. `usable` is null if the configuration can't be read. */
export function examineConfig(path: string): { findings: readonly Finding[]; usable: UsableConfig | null } {
  try {
    const usable = inspectConfig(path);
    const { fatal, booths, refused, refused_outputs, refused_notices } = usable;
    const count = booths.length + refused.length;
    const findings = [
      fatal === null
        ? ok("configuration", `${path}: ${count} ${count === 1 ? "booth" : "booths"}`)
        : broken("configuration", fatal),
      ...booths.map(({ config, profile: { name, version, tags } }) =>
        ok(`profile of ${config.id}`, `${name} ${version}, ${tags.length} tags`),
      ),
      ...refused.map(({ id, error }) => broken(`entry of ${id}`, error)),
      ...refused_outputs.map(({ name, error }) => broken(`output ${name}`, error)),
      ...refused_notices.map(({ name, error }) => broken(`notice ${name}`, error)),
      ...fileProblems(usable.marked).map((one) => broken(`file of ${one.path}`, new ConfigError(path, [one]))),
    ];
    return { findings, usable };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: [broken("configuration", error)], usable: null };
  }
}

function broken(what: string, error: ConfigError): Finding {
  return bad(what, error.brief(), message("doctor.correct_file", { file: error.file }));
}

/** Checks the whole store, even while an agent is running. */
export function examineStore(files: StoreFiles, folder: string, progress: StoreProgress): Finding {
  if (!existsSync(join(folder, "store.db"))) return skipped("store", message("doctor.no_store", { folder }));
  try {
    return storeFinding(files.check(folder, progress));
  } catch (error) {
    return ["EACCES", "SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(codeOf(error))
      ? skipped("store", message("doctor.no_store_right", { folder }))
      : bad("store", errorText(error), message("doctor.salvage"));
  }
}

/** Turns the result of a store check into a finding. Pure. */
export function storeFinding({ file, bytes, sound, problems, streams }: StoreCheck): Finding {
  const place = `${file}, ${(bytes / MB).toFixed(1)} MB`;
  if (sound) return ok("store", `${place}: sound`);
  const counts = streams.flatMap((one) => [one.damaged_rows, one.damaged_facts, one.damaged_states, one.missing]);
  const damaged = counts.reduce((sum, count) => sum + count, 0);
  const why = joined(problems[0] ?? "", damaged === 0 ? "" : `${damaged} damaged or missing`);
  return bad("store", message("text.at", { place, text: why }), message("doctor.mends"));
}

/** The file system type of tmpfs (statfs(2)). */
const TMPFS = 0x01021994;
/** The minimum free space. With less space the agent can't even store the records that it must keep. */
const LEAST_FREE_BYTES = 20_000_000;
const MB = 1_000_000;

/** Checks the free space for the data, and whether the runtime folder is on flash, which the agent's writes would wear out. */
export function examineDisk({ data_dir, runtime_dir, store, booths }: Config): readonly Finding[] {
  const { bavail, bsize, ffree, files } = statfsSync(existing(data_dir));
  const wanted = store.max_bytes * Math.max(1, booths.length);
  return present([
    spaceFinding(data_dir, { free: bavail * bsize, files: files === 0 ? null : ffree, wanted }),
    existsSync(runtime_dir) && runtimeFinding(runtime_dir, statfsSync(runtime_dir).type),
  ]);
}

function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}

/**
 * Turns the free space into a finding. Pure. `files`: free inodes, null if the file system doesn't count inodes; `wanted`: the limit of all
 * booths' stores together, part of which is already used.
 */
export function spaceFinding(
  folder: string,
  { free, files, wanted }: { readonly free: number; readonly files: number | null; readonly wanted: number },
): Finding {
  const text = `${mb(free)} free at ${folder}; the booths may use ${mb(wanted)} in total`;
  if (files === 0) return bad("disk", `no free inode at ${folder}`, `delete unneeded files at ${folder}`);
  if (free < LEAST_FREE_BYTES) return bad("disk", text, `free space at ${folder}: without it the agent loses readings`);
  if (free < wanted / 2) return warn("disk", text, `free space at ${folder}, or lower store.max_bytes`);
  return ok("disk", text);
}

/** Turns the file system type of the runtime folder into a finding. Pure. */
export function runtimeFinding(folder: string, type: number): Finding {
  if (type === TMPFS) return ok("runtime folder", `${folder}, in memory`);
  const todo =
    "set runtime_dir to a tmpfs such as /run/booth-gateway: the agent writes each poll there, which wears out flash storage";
  return warn("runtime folder", `${folder} is on a disk`, todo);
}

function mb(bytes: number): string {
  return bytes < 10_000 * MB ? `${Math.round(bytes / MB)} MB` : `${Math.round(bytes / (1_000 * MB))} GB`;
}

const UNIT = "booth-gateway.service";
const SYSTEMD = "/run/systemd/system";
const TIMEOUT_MS = 5_000;
const PROPERTIES = ["LoadState", "ActiveState", "UnitFileState", "NRestarts", "WatchdogUSec", "Result"] as const;

/** Checks the state of the agent's systemd unit. */
export async function examineUnit(): Promise<readonly Finding[]> {
  if (!existsSync(SYSTEMD)) return [skipped("systemd unit", message("doctor.no_systemd"))];
  const argv = ["show", UNIT, `--property=${PROPERTIES.join(",")}`];
  try {
    const { stdout } = await promisify(execFile)("systemctl", argv, { timeout: TIMEOUT_MS });
    return unitFindings(stdout);
  } catch (error) {
    return [skipped("systemd unit", message("doctor.systemctl", { why: errorText(error) }))];
  }
}

/** Turns the unit's properties into findings. Pure. `shown`: lines NAME=VALUE as `systemctl show` prints them. */
export function unitFindings(shown: string): readonly Finding[] {
  const pairs = shown.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  const now = Object.fromEntries(pairs) as Readonly<Partial<Record<(typeof PROPERTIES)[number], string>>>;
  const { ActiveState: state = "unknown", NRestarts = "0", Result: result = "unknown", WatchdogUSec = "on" } = now;
  if (now.LoadState !== "loaded") return [skipped("systemd unit", message("doctor.not_installed", { unit: UNIT }))];
  const tell = `"journalctl -u ${UNIT} -n 50" shows why`;
  const count = Number(NRestarts);
  return present([
    state === "active"
      ? ok("systemd unit", message("doctor.unit_active", { unit: UNIT }))
      : bad(
          "systemd unit",
          message("doctor.unit_is", { unit: UNIT, state, result }),
          `systemctl start ${UNIT}; ${tell}`,
        ),
    count > 0 && warn("restarts", message("doctor.restarts", { count }), `find out why the agent restarts: ${tell}`),
    now.UnitFileState === "disabled" &&
      warn("start at boot", message("doctor.unit_disabled"), message("doctor.enable", { unit: UNIT })),
    ["0", "infinity"].includes(WatchdogUSec)
      ? warn("watchdog", "off", message("doctor.watchdog", { unit: UNIT }))
      : ok("watchdog", WatchdogUSec),
  ]);
}

/** Compares the installed version with the running agent's version, which is null if no agent is running. */
export function examineVersions(versions: { readonly installed: string; readonly running: string | null }): Finding {
  const { installed, running } = versions;
  const text = `booth-gateway ${installed}, Node ${process.versions.node}, Linux ${release()}`;
  if (running === null || running === installed) return ok("versions", text);
  const todo = `systemctl restart ${UNIT}: it still runs version ${running}`;
  return warn("versions", `${text}; the running agent is ${running}`, todo);
}
