import { say } from "../../domain/sentences.ts";
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { release } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../../config/config-error.ts";
import type { Config } from "../../config/port.ts";
import { fileProblems } from "../../config/file-checks.ts";
import { inspectConfig, type UsableConfig } from "../../config/usable.ts";
import type { StoreCheck, StoreFiles, StoreProgress } from "../../store/port.ts";
import { sayings } from "../texts.ts";
import { bad, type Finding, ok, skipped, warn } from "./finding.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** A file that holds a secret, or decides what the agent does, with the rights that nobody else may have. */
interface Guarded {
  readonly what: string;
  readonly path: string;
  /** Bits that must not be set. */
  readonly forbidden: number;
  /** What puts it right. */
  readonly mode: string;
  /** Why it may be missing. */
  readonly mayLack?: string | undefined;
}

const MADE = say("doctor.made_later");
/** The agent deletes the file then. */
const BOUND = say("doctor.own_key");

const OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o002;

/** Modes of the files that matter; none of them is opened. */
export function examineFiles(configFile: string, config: Config): readonly Finding[] {
  const { api_key_file, api_key_credential } = config.service;
  const findings = guardedFiles(configFile, config).map(examine);
  if (api_key_file !== undefined) return findings;
  const given =
    api_key_credential === undefined ? say("doctor.no_key") : say("doctor.credential", { name: api_key_credential });
  return [...findings, skipped("first key", given)];
}

function guardedFiles(configFile: string, { data_dir, service, page, booths }: Config): readonly Guarded[] {
  const secret = (what: string, path: string | undefined, mayLack?: string): Guarded[] =>
    path === undefined ? [] : [{ what, path, forbidden: OTHERS, mode: "600", mayLack }];
  return [
    { what: "configuration's rights", path: configFile, forbidden: WRITABLE_BY_OTHERS, mode: "o-w" },
    { what: "data folder", path: data_dir, forbidden: 0o007, mode: "o-rwx", mayLack: MADE },
    ...["identity.db", "identity.copy.db"].flatMap((name) => secret(name, join(data_dir, name), MADE)),
    ...secret("first key", service.api_key_file, BOUND),
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
    if (found === "ENOENT" && mayLack !== undefined)
      return skipped(what, say("doctor.not_there", { path, why: mayLack }));
    if (found === "EACCES") return skipped(what, say("doctor.no_look", { path }));
    return bad(what, `${path}: ${found}`, say("doctor.put_file", { path }));
  }
  const octal = found.toString(8).padStart(3, "0");
  if ((found & forbidden) === 0) return ok(what, say("doctor.mode_is", { path, mode: octal }));
  return bad(what, say("doctor.open_to_others", { path, mode: octal }), `chmod ${mode} ${path}`);
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
  if (!existsSync(path)) return say("doctor.line_missing");
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return null;
  } catch {
    return say("doctor.line_no_right");
  }
}

/** What the configuration and its profiles are like; the configuration itself, as far as it can be used. */
export function examineConfig(path: string): { findings: readonly Finding[]; usable: UsableConfig | null } {
  try {
    const usable = inspectConfig(path);
    const { fatal, booths, refused, refused_outputs, refused_notices } = usable;
    const files = fileProblems(usable.marked);
    const count = booths.length + refused.length;
    const findings = [
      fatal === null
        ? ok("configuration", `${path}: ${count} ${count === 1 ? "booth" : "booths"}`)
        : broken("configuration", fatal),
      ...booths.map(({ config, profile }) =>
        ok(`profile of ${config.id}`, `${profile.name} ${profile.version}, ${profile.tags.length} tags`),
      ),
      ...refused.map(({ id, error }) => broken(`entry of ${id}`, error)),
      ...refused_outputs.map(({ name, error }) => broken(`output ${name}`, error)),
      ...refused_notices.map(({ name, error }) => broken(`notice ${name}`, error)),
      ...files.map((problem) => broken(`file of ${problem.path}`, new ConfigError(path, [problem]))),
    ];
    return { findings, usable };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: [broken("configuration", error)], usable: null };
  }
}

function broken(what: string, error: ConfigError): Finding {
  const todo = say("doctor.correct_file", { file: error.file });
  return bad(what, error.brief(), todo);
}

/** Looks through all of the store, beside a running agent too. */
export function examineStore(files: StoreFiles, dataDir: string, progress: StoreProgress): Finding {
  if (!existsSync(join(dataDir, "store.db"))) return skipped("store", say("doctor.no_store", { folder: dataDir }));
  try {
    return storeFinding(files.check(dataDir, progress));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (["EACCES", "SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(code)) {
      return skipped("store", say("doctor.no_store_right", { folder: dataDir }));
    }
    const said = errorMessage(error);
    return bad("store", said, say("doctor.salvage"));
  }
}

/** Pure. */
export function storeFinding({ file, bytes, sound, problems, streams }: StoreCheck): Finding {
  const damaged = streams.reduce(
    (sum, one) => sum + one.damaged_rows + one.damaged_facts + one.damaged_states + one.missing,
    0,
  );
  const said = `${file}, ${(bytes / 1_000_000).toFixed(1)} MB`;
  if (sound) return ok("store", `${said}: sound`);
  const why = sayings(problems[0] ?? "", damaged === 0 ? "" : `${damaged} damaged or missing`);
  const todo = say("doctor.mends");
  return bad("store", `${said}: ${why}`, todo);
}

/** Magic number of tmpfs, statfs(2). */
const TMPFS = 0x01021994;
/** Below it the agent can't even put aside what it must. */
const LEAST_FREE_BYTES = 20_000_000;
const MB = 1_000_000;

/** Room for the data, and whether the runtime folder wears the flash. */
export function examineDisk({ data_dir, runtime_dir, store, booths }: Config): readonly Finding[] {
  return [
    spaceFinding(data_dir, { ...diskOf(data_dir), wanted: store.max_bytes * Math.max(1, booths.length) }),
    ...(existsSync(runtime_dir) ? [runtimeFinding(runtime_dir, diskOf(runtime_dir).type)] : []),
  ];
}

function diskOf(path: string) {
  const { bavail, bsize, ffree, files, type } = statfsSync(existing(path));
  return { free: bavail * bsize, files: files === 0 ? null : ffree, type };
}

function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}

/** Pure. `wanted`: what the booths may take altogether, of which some is used already. */
export function spaceFinding(
  folder: string,
  { free, files, wanted }: { readonly free: number; readonly files: number | null; readonly wanted: number },
): Finding {
  const said = `${mb(free)} free at ${folder}; the booths may take ${mb(wanted)} altogether`;
  if (files === 0) return bad("disk", `no inode is left at ${folder}`, `delete files that nobody needs at ${folder}`);
  if (free < LEAST_FREE_BYTES) return bad("disk", said, `free space at ${folder}: without it readings are lost`);
  if (free < wanted / 2) return warn("disk", said, `free space at ${folder}, or lower store.max_bytes`);
  return ok("disk", said);
}

/** Pure. */
export function runtimeFinding(folder: string, type: number): Finding {
  if (type === TMPFS) return ok("runtime folder", `${folder}, in memory`);
  const todo = "set runtime_dir to a tmpfs such as /run/booth-gateway: each poll is written there, which wears flash";
  return warn("runtime folder", `${folder} lies on a disk`, todo);
}

function mb(bytes: number): string {
  return bytes < 10_000 * MB ? `${Math.round(bytes / MB)} MB` : `${Math.round(bytes / (1_000 * MB))} GB`;
}

const UNIT = "booth-gateway.service";
const SYSTEMD = "/run/systemd/system";
const TIMEOUT_MS = 5_000;
const PROPERTIES = ["LoadState", "ActiveState", "UnitFileState", "NRestarts", "WatchdogUSec", "Result"] as const;

/** What systemd says of the agent's unit. */
export async function examineUnit(): Promise<readonly Finding[]> {
  if (!existsSync(SYSTEMD)) return [skipped("systemd unit", say("doctor.no_systemd"))];
  const argv = ["show", UNIT, `--property=${PROPERTIES.join(",")}`];
  try {
    const { stdout } = await promisify(execFile)("systemctl", argv, { timeout: TIMEOUT_MS });
    return unitFindings(stdout);
  } catch (error) {
    const said = errorMessage(error);
    return [skipped("systemd unit", say("doctor.systemctl", { why: said }))];
  }
}

/** Pure: of lines NAME=VALUE as `systemctl show` prints them. */
export function unitFindings(shown: string): readonly Finding[] {
  const pairs = shown.split("\n").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  const now = Object.fromEntries(pairs) as Readonly<Partial<Record<(typeof PROPERTIES)[number], string>>>;
  if (now.LoadState !== "loaded") return [skipped("systemd unit", say("doctor.not_installed", { unit: UNIT }))];
  const { ActiveState = "unknown", NRestarts = "0", Result = "unknown", UnitFileState, WatchdogUSec } = now;
  const tell = `"journalctl -u ${UNIT} -n 50" tells why`;
  const findings: Finding[] = [];
  if (ActiveState === "active") findings.push(ok("systemd unit", say("doctor.unit_active", { unit: UNIT })));
  else {
    const said = say("doctor.unit_is", { unit: UNIT, state: ActiveState, result: Result });
    findings.push(bad("systemd unit", said, `systemctl start ${UNIT}; ${tell}`));
  }
  if (Number(NRestarts) > 0) {
    const said = say("doctor.restarts", { count: Number(NRestarts) });
    findings.push(warn("restarts", said, `find out why the agent restarts: ${tell}`));
  }
  if (UnitFileState === "disabled") {
    const todo = say("doctor.enable", { unit: UNIT });
    findings.push(warn("start at boot", say("doctor.unit_disabled"), todo));
  }
  if (WatchdogUSec === "0" || WatchdogUSec === "infinity") {
    findings.push(warn("watchdog", "off", say("doctor.watchdog", { unit: UNIT })));
  } else findings.push(ok("watchdog", WatchdogUSec ?? "on"));
  return findings;
}

/** Which versions are here; `running`: the agent's, null where it doesn't run. */
export function examineVersions(versions: { readonly installed: string; readonly running: string | null }): Finding {
  const said = `booth-gateway ${versions.installed}, Node ${process.versions.node}, Linux ${release()}`;
  if (versions.running === null || versions.running === versions.installed) return ok("versions", said);
  const todo = `systemctl restart ${UNIT}: it still runs version ${versions.running}`;
  return warn("versions", `${said}; the running agent is ${versions.running}`, todo);
}
