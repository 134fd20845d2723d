import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import type { MarkedSetting } from "../config/file-checks.ts";
import type { AgentStatus } from "../domain/status.ts";
import { createScrubber, LEFT_OUT } from "../scrubber.ts";

/**
 * The parts of a value that a support bundle may contain, as an allow-list. `true` allows a text, number, boolean or null. A record allows
 * an object's fields by name, with "*" for any name. The elements of an array all have the array's shape. Everything else is left out, so a
 * new field of a source stays out of the bundle until this list names it.
 */
export type Shape = true | { readonly [name: string]: Shape };

/** Returns the shape of an object with the fields that `names` lists, separated by blanks. `parts`: fields with a shape of their own. */
function fields(names: string, parts: Readonly<Record<string, Shape>> = {}): Shape {
  return { ...Object.fromEntries(names.split(" ").map((name) => [name, true as const])), ...parts };
}

const LINK = "kind since reason advice attempt next_try_at";

export const STATUS_SHAPE = fields("agent_version gateway_id at started_at boot loss_window_ms", {
  clock: fields("synced offset_ms"),
  service: fields(`${LINK} url broker_url`),
  certificates: fields("link server expires state advice"),
  disabled: fields("booth serial since file line reason advice"),
  booths: fields("booth serial stream time", {
    // Leaves out account and facility, because they are customers' names and don't help.
    provisioning: fields("state since generation delivery refused_revision reason advice", {
      entered_at: fields("*"),
      choices: fields("name"),
    }),
    reports: {
      refused: fields("at reason"),
      read_back: fields("at", { differences: fields("field reported shown") }),
    },
    plc: fields(`${LINK} address shows_serial notes`),
    now: fields(
      "mode since raw cycles_today cycles_total run_open open_incidents firmware_version plc_program plc_program_revision in_gap",
      {
        filters: { "*": fields("minutes limit_minutes percent overuse_since assumed") },
        unfit_units: fields("tag reason"),
      },
    ),
    log: fields("taken newest_seq acked_seq pending last_commit_at commit_ms trouble missing", {
      refused: fields("count", { newest: fields("seq reason") }),
      forked: fields("reason advice"),
      storage: fields("used_bytes max_bytes hours_to_full quarantined", { health: fields("low damaged_files") }),
    }),
  }),
});

export const COUNTS_SHAPE = fields("booth polls_answered polls_failed late_sum_ms commits open_incidents", {
  requests: fields("asked missed"),
  late: fields("within_ms polls"),
});

export const READINGS_SHAPE: Shape = { "*": fields("tag unit group value quality reason age_ms") };

/** The allowed fields of the newest lines of the agent's log. */
export const LOG_SHAPE = fields("at level text");

/** The allowed fields of a journal line: those of every line, and those that give a reason. */
export const JOURNAL_SHAPE = fields("time level event booth msg reason advice");

/** The allowed settings of the configuration. Files with secrets appear by name only. */
export const CONFIG_SHAPE = fields(
  "data_dir runtime_dir profile_dirs log_level commit_interval_ms heartbeat_interval_ms clock_file",
  {
    store: fields("max_bytes max_age_days"),
    page: fields("port lan_port pin_file"),
    service: fields(
      "url ca_file api_key_file api_key_credential authorization client_certificate_file client_key_file mqtt_url proxy_url backlog_records_per_s",
    ),
    booths: fields("id serial profile bay_count burner_size_btu_h motor_size_hp min_stage_ms tz", {
      poll: { "*": fields("poll_interval_ms") },
      mode_sets: fields("*"),
      filters: { "*": { limits: fields("*") } },
      working_hours: fields("day enabled start stop"),
      modbus: fields("host port framing unit_id answer_timeout_ms transaction_id_offset answer_unit_id", {
        serial: fields("path baud_rate data_bits parity stop_bits"),
      }),
      opcua: fields(
        "endpoint security_policy allow_insecure mode password_file user_certificate_file user_key_file server_certificate_fingerprint server_certificate_file",
      ),
    }),
  },
);

/** Returns the allowed part of a value. Pure. */
export function pick(value: unknown, shape: Shape): unknown {
  if (Array.isArray(value)) return value.map((one) => pick(one, shape));
  if (typeof value !== "object" || value === null) return shape === true ? value : undefined;
  if (shape === true) return undefined;
  const fields = Object.entries(value).flatMap(([name, part]) => {
    const allowed = Object.hasOwn(shape, name) ? shape[name] : shape["*"];
    const picked = allowed === undefined ? undefined : pick(part, allowed);
    return picked === undefined ? [] : [[name, picked] as const];
  });
  return Object.fromEntries(fields);
}

const PEM = /-----BEGIN [^-]+-----[^]*?-----END [^-]+-----/g;
/**
 * The minimum number of characters in a line that counts as part of a private key. Full lines have 64; the lines around the key are
 * shorter.
 */
const LEAST_LINE = 16;

/**
 * Returns a function that removes known secrets, customers' names and everything that looks like PEM from a text, however they are quoted.
 * It is a second barrier after the allow-lists.
 */
export function bundleScrubber(marked: readonly MarkedSetting[], status: AgentStatus | null): (text: string) => string {
  const scrubber = createScrubber();
  for (const { holds, value } of marked) {
    if (holds === "address") scrubber.learnAddress(value);
    else if (holds === "key" || holds === "own_key") linesOf(value).forEach((line) => scrubber.learn(line));
    else if (holds !== "authorities" && holds !== "certificate")
      contentOf(value).forEach((secret) => scrubber.learn(secret));
  }
  for (const { provisioning } of status?.booths ?? []) {
    for (const name of [provisioning.account, provisioning.facility]) if (name !== null) scrubber.learn(name);
  }
  return (text) => scrubber.scrub(text.replaceAll(PEM, LEFT_OUT));
}

/** Returns a file's text. Skips an unreadable file, because its content can't have reached the bundle either. */
function contentOf(file: string): readonly string[] {
  try {
    return [readFileSync(file, "utf8").trim()];
  } catch {
    return [];
  }
}

function linesOf(file: string): readonly string[] {
  return contentOf(file).flatMap((text) => text.split("\n").filter((line) => line.length >= LEAST_LINE));
}

const LINES = 2_000;
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16_000_000;

/** Returns the agent's newest lines in the journal; empty without a journal or without the right to read it. */
export async function journalLines(): Promise<readonly unknown[]> {
  if (!existsSync("/run/systemd/system")) return [];
  const argv = ["-u", "booth-gateway.service", "-n", LINES.toString(), "-o", "cat", "--no-pager"];
  const limits = { timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES };
  const { stdout } = await promisify(execFile)("journalctl", argv, limits).catch(() => ({ stdout: "" }));
  return stdout.split("\n").flatMap(journalLine);
}

/** Returns the allowed part of a line that the agent wrote, and nothing for lines of other programs. Pure. */
export function journalLine(line: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" && parsed !== null ? [pick(parsed, JOURNAL_SHAPE)] : [];
  } catch {
    // Leaves out systemd's lines about starts and stops: they are not JSON and could quote anything.
    return [];
  }
}

/** A file of an archive. */
export interface ArchiveFile {
  /** The file's name: ASCII, at most 100 characters. */
  readonly name: string;
  readonly text: string;
}

const BLOCK = 512;

/**
 * Returns an archive in the POSIX ustar format (IEEE Std 1003.1-1988): regular files of mode 0600 with the same time (epoch seconds). Pure.
 */
export function tarOf(files: readonly ArchiveFile[], time: number): Buffer {
  const parts = files.flatMap(({ name, text }) => {
    const content = Buffer.from(text, "utf8");
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [headerOf(name, content.length, time), content, padding];
  });
  // Ends the archive with two blocks of zeros.
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function headerOf(name: string, size: number, time: number): Buffer {
  if (!/^[\x21-\x7e]{1,100}$/.test(name)) throw new Error(`${name} is not a valid file name in an archive`);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
  const owner = octal(0, 8);
  // Computes the checksum: the sum of the header's bytes, where its own eight bytes count as blanks.
  const checksum = " ".repeat(8);
  const numbers = octal(0o600, 8) + owner + owner + octal(size, 12) + octal(Math.floor(time), 12) + checksum;
  const start = `${name.padEnd(100, "\0")}${numbers}0`;
  const header = Buffer.from(`${start.padEnd(257, "\0")}ustar\u000000`.padEnd(BLOCK, "\0"), "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}
