import { setTimeout as delay } from "node:timers/promises";
import type { RebuildProgress } from "../domain/rebuild.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";
import { boothName, tableText } from "./report-options.ts";
import { barText, lasting } from "./text.ts";

/** How often progress is asked for. */
const LOOK_EVERY_MS = 500;

type Done = Extract<RebuildProgress, { kind: "done" }>;

/** `booth-gateway rebuild`: all facts anew from the log. */
export const rebuildCommand: Run = async ({ values, io }) => {
  const socket = await socketPath(values, io);
  const booth = await boothName(values, io);
  const body = { booth, current: values["current"] === true };
  // The agent answers its own shape.
  let progress = (await askAgent(socket, { method: "POST", path: "/rebuild", body })) as RebuildProgress;
  while (progress.kind === "running") {
    io.progress(`${barText(shareOf(progress))}  ${progressText(progress)}`);
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
    const path = `/rebuild?booth=${encodeURIComponent(booth)}`;
    progress = (await askAgent(socket, { method: "GET", path })) as RebuildProgress;
  }
  io.progress("");
  if (progress.kind === "failed") throw new CommandError(`nothing was changed: ${progress.reason}`);
  print({ values, io }, progress, doneText);
  return EXIT.ok;
};

function shareOf({ folded_seq, newest_seq }: Extract<RebuildProgress, { kind: "running" }>): number {
  return newest_seq === 0 ? 0 : folded_seq / newest_seq;
}

export function progressText(progress: Extract<RebuildProgress, { kind: "running" }>): string {
  const { folded_seq, newest_seq, left_ms } = progress;
  const left = left_ms === null ? "" : `, about ${lasting(left_ms)} left`;
  return `${folded_seq.toString()} of ${newest_seq.toString()} records${left}`;
}

export function doneText(done: Done): string {
  const { changes, from_versions, to_version, examples } = done;
  const versions = from_versions.length === 0 ? "none" : from_versions.join(", ");
  const head = `${done.records.toString()} records from ${done.from_seq.toString()} on folded in ${lasting(done.elapsed_ms)}; definitions version ${versions} -> ${to_version.toString()}`;
  const isSame = changes.every(({ added, replaced, withdrawn }) => added + replaced + withdrawn === 0);
  if (isSame) return `${head}\nnothing changed\n`;
  const rows = changes.map(({ kind, kept, added, replaced, withdrawn }) => [
    NAMES[kind] ?? kind,
    kept,
    added,
    replaced,
    withdrawn,
  ]);
  const table = tableText(["facts", "kept", "added", "replaced", "withdrawn"], rows);
  return `${head}\n${table}${examples.map((text) => `  ${text}\n`).join("")}`;
}

const NAMES: Readonly<Record<string, string>> = {
  m: "stages",
  c: "cycles",
  d: "hours",
  v: "revisions",
  i: "incidents",
  f: "filters",
};
