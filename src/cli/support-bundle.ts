import { openSync, writeSync, closeSync } from "node:fs";
import { arch, cpus, freemem, release, totalmem, uptime } from "node:os";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { inspectConfig } from "../config/usable.ts";
import type { Config } from "../config/port.ts";
import type { AgentStatus } from "../domain/status.ts";
import { askAgent, configPath, socketPath } from "../tools/agent-client.ts";
import { journalLines } from "../tools/bundle/journal.ts";
import { pick, type Shape } from "../tools/bundle/pick.ts";
import { knownSecrets, scrubber } from "../tools/bundle/scrub.ts";
import * as shapes from "../tools/bundle/shapes.ts";
import { tarOf, type ArchiveFile } from "../tools/bundle/tar.ts";
import { CommandError, EXIT, type Call, type Run } from "./command.ts";
import { examine, type DoctorParts } from "./doctor.ts";
import { examinationText } from "../tools/doctor/text.ts";
import { print } from "./print.ts";

/** What a bundle holds, as its own first file says it. */
const CONTENTS = {
  "doctor.txt": "every check, and what to do",
  "status.json": "links, booths, log, provisioning of the running agent; no names of customers",
  "backlog.json": "what waits for the service",
  "counts.json": "polls, commits and how late polls were, since the agent's start",
  "readings.json": "what the PLC said last, tag by tag",
  "log.json": "the agent's newest lines",
  "journal.json": "the agent's lines in the system's journal",
  "config.json": "the configuration with its defaults; files with secrets by their names alone",
  "box.json": "versions, memory, uptime",
} as const;

/** `booth-gateway support-bundle`: what whoever helps from afar needs, in one file, without a secret. */
export function supportBundleCommand(parts: DoctorParts): Run {
  return async (call) => {
    const { values, io } = call;
    const now = new Date();
    const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const out = resolve(typeof values["out"] === "string" ? values["out"] : `booth-gateway-support-${stamp}.tar.gz`);
    const files = await contentsOf(call, parts);
    const archive = gzipSync(tarOf(files, now.getTime() / 1_000));
    writeNew(out, archive);
    io.progress("");
    const contents = files.map(({ name, text }) => ({ name, bytes: Buffer.byteLength(text) }));
    print({ values, io }, { file: out, bytes: archive.length, contents }, () => {
      const lines = files.slice(1).map(({ name }) => `  ${name.padEnd(15)}${CONTENTS[name as keyof typeof CONTENTS]}`);
      return `${[`${out}, ${Math.ceil(archive.length / 1_000).toString()} kB, holds`, ...lines, SECRETS].join("\n")}\n`;
    });
    return EXIT.ok;
  };
}

const SECRETS = "No key, password, PIN or customer's name is in it; only what is on a list of allowed fields.";

async function contentsOf(call: Call, parts: DoctorParts): Promise<readonly ArchiveFile[]> {
  const config = configOf(call);
  const examination = await examine(call, parts);
  const socket = await socketPath(call.values, call.io).catch(() => "");
  const report = (await asked(socket, "/support.json")) as SupportReport | null;
  const clean = scrubber(knownSecrets(config, report?.status ?? null));
  const json = (name: keyof typeof CONTENTS, value: unknown, shape: Shape): ArchiveFile => ({
    name,
    text: clean(`${JSON.stringify(pick(value, shape) ?? null, null, 2)}\n`),
  });
  const anything: Shape = { "*": true };
  return [
    { name: "README.txt", text: readme(parts.version) },
    { name: "doctor.txt", text: clean(examinationText(examination)) },
    json("status.json", report?.status, shapes.STATUS_SHAPE),
    json("backlog.json", await asked(socket, "/backlog"), anything),
    json("counts.json", report?.counts, shapes.COUNTS_SHAPE),
    json("readings.json", report?.readings, shapes.READINGS_SHAPE),
    json("log.json", report?.log, shapes.LOG_SHAPE),
    json("journal.json", await journalLines(), shapes.JOURNAL_SHAPE),
    json("config.json", config, shapes.CONFIG_SHAPE),
    json("box.json", boxOf(parts.version), anything),
  ];
}

interface SupportReport {
  readonly status: AgentStatus;
  readonly counts: unknown;
  readonly readings: unknown;
  readonly log: unknown;
}

/** null: the agent doesn't answer; what it isn't asked for is then told by the other files. */
async function asked(socket: string, path: string): Promise<unknown> {
  return askAgent(socket, { method: "GET", path }).catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
}

/** null: it can't be understood; doctor.txt says why. */
function configOf({ values }: Call): Config | null {
  try {
    return inspectConfig(configPath(values)).config;
  } catch {
    return null;
  }
}

function boxOf(version: string): Readonly<Record<string, string | number>> {
  return {
    version,
    node: process.versions.node,
    kernel: release(),
    arch: arch(),
    cpus: cpus().length,
    memory_bytes: totalmem(),
    memory_free_bytes: freemem(),
    uptime_s: Math.round(uptime()),
  };
}

function readme(version: string): string {
  const lines = Object.entries(CONTENTS).map(([name, what]) => `${name.padEnd(15)}${what}`);
  return [`Support bundle of booth-gateway ${version}`, "", ...lines, "", SECRETS, ""].join("\n");
}

function writeNew(path: string, content: Buffer): void {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "EACCES") throw error;
    const why = code === "EEXIST" ? "there is such a file already; name another one with --out" : code;
    throw new CommandError(`${path} can't be written: ${why}`, EXIT.usage, error);
  }
  try {
    writeSync(file, content);
  } finally {
    closeSync(file);
  }
}
