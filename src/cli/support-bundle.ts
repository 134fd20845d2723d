import { withControlsEscaped } from "../domain/control-characters.ts";
import { writeFileSync } from "node:fs";
import { arch, cpus, freemem, release, totalmem, uptime } from "node:os";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { inspectConfig, type UsableConfig } from "../config/usable.ts";
import type { AgentStatus } from "../domain/status.ts";
import { type Agent, agentOf, configPath } from "../tools/agent-client.ts";
import * as bundle from "../tools/bundle.ts";
import { CommandError, EXIT, type Call, type Run } from "../tools/command.ts";
import { examinationText, examine, type DoctorParts } from "./doctor.ts";
import { linesText } from "../tools/texts.ts";
import { textOption } from "../tools/options.ts";
import { print } from "../tools/print.ts";

/** The files of a support bundle, as its README.txt lists them. */
const CONTENTS = {
  "doctor.txt": "every check, and what to do",
  "status.json": "links, booths, log, provisioning of the running agent; no names of customers",
  "backlog.json": "records that wait for the service",
  "counts.json": "polls, commits and how late polls were, since the agent's start",
  "readings.json": "the latest reading of each tag",
  "log.json": "the agent's newest lines",
  "journal.json": "the agent's lines in the system's journal",
  "config.json": "the configuration with its defaults; files with secrets by their names alone",
  "box.json": "versions, memory, uptime",
} as const;

/** Runs `booth-gateway support-bundle`: writes the data for remote support into one file, without secrets. */
export function supportBundleCommand(parts: DoctorParts): Run {
  return async (call) => {
    const now = new Date();
    const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const out = resolve(textOption(call.values, "out") ?? `booth-gateway-support-${stamp}.tar.gz`);
    const files = await contentsOf(call, parts);
    const archive = gzipSync(bundle.tarOf(files, now.getTime() / 1_000));
    writeNew(out, archive);
    call.io.progress("");
    const contents = files.map(({ name, text }) => ({ name, bytes: Buffer.byteLength(text) }));
    print(call, { file: out, bytes: archive.length, contents }, () =>
      linesText([
        `${out}, ${Math.ceil(archive.length / 1_000)} kB, holds`,
        ...CONTENT_LINES.map((line) => `  ${line}`),
        SECRETS,
      ]),
    );
    return EXIT.ok;
  };
}

const CONTENT_LINES = Object.entries(CONTENTS).map(([name, what]) => `${name.padEnd(15)}${what}`);
const SECRETS = "No key, password, PIN or customer's name is in it; only what is on a list of allowed fields.";

async function contentsOf(call: Call, parts: DoctorParts): Promise<readonly bundle.ArchiveFile[]> {
  const usable = usableOf(call);
  const examination = await examine(call, parts);
  const agent = await agentOf(call).catch(() => null);
  const report = await asked<SupportReport>(agent, "/support.json");
  const scrubbed = bundle.bundleScrubber(usable?.marked ?? [], report?.status ?? null);
  // Escapes control characters, because people read the bundle on a terminal.
  const clean = (text: string): string => withControlsEscaped(scrubbed(text));
  const json = (name: keyof typeof CONTENTS, value: unknown, shape: bundle.Shape): bundle.ArchiveFile => ({
    name,
    text: clean(`${JSON.stringify(bundle.pick(value, shape) ?? null, null, 2)}\n`),
  });
  const anything: bundle.Shape = { "*": true };
  return [
    {
      name: "README.txt",
      text: linesText([`Support bundle of booth-gateway ${parts.version}`, "", ...CONTENT_LINES, "", SECRETS]),
    },
    { name: "doctor.txt", text: clean(examinationText(examination)) },
    json("status.json", report?.status, bundle.STATUS_SHAPE),
    json("backlog.json", await asked(agent, "/backlog"), anything),
    json("counts.json", report?.counts, bundle.COUNTS_SHAPE),
    json("readings.json", report?.readings, bundle.READINGS_SHAPE),
    json("log.json", report?.log, bundle.LOG_SHAPE),
    json("journal.json", await bundle.journalLines(), bundle.JOURNAL_SHAPE),
    json("config.json", usable?.config, bundle.CONFIG_SHAPE),
    json("box.json", boxOf(parts.version), anything),
  ];
}

type SupportReport = { readonly status: AgentStatus } & Readonly<Record<"counts" | "readings" | "log", unknown>>;

/** Asks the agent. Returns null if the agent does not answer, because the bundle's other files don't need the agent. */
async function asked<T>(agent: Agent | null, path: string): Promise<T | null> {
  try {
    return agent === null ? null : await agent.get<T>(path);
  } catch (error) {
    if (error instanceof CommandError) return null;
    throw error;
  }
}

/** Returns the configuration; null if it can't be read, for the reason that doctor.txt gives. */
function usableOf({ values }: Call): UsableConfig | null {
  try {
    return inspectConfig(configPath(values));
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

function writeNew(path: string, content: Buffer): void {
  try {
    writeFileSync(path, content, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || syscall !== "open") throw error;
    const why = code === "EEXIST" ? "there is such a file already; name another one with --out" : String(code);
    throw new CommandError(`${path} can't be written: ${why}`, EXIT.usage, error);
  }
}
