import { isDeepStrictEqual } from "node:util";
import type { Config } from "./port.ts";
import type { UsableConfig } from "./usable.ts";

/**
 * The part of a running agent that restarts when a setting changes. part: the booth with its link, the output or the notice. agent: the
 * whole agent within its process. service: the process, because its folders, ports or threads depend on the setting.
 */
const RESTARTS: Readonly<Record<keyof Config, "part" | "agent" | "service">> = {
  booths: "part",
  outputs: "part",
  notices: "part",
  service: "agent",
  commit_interval_ms: "agent",
  heartbeat_interval_ms: "agent",
  data_dir: "service",
  runtime_dir: "service",
  profile_dirs: "service",
  log_level: "service",
  store: "service",
  retention: "service",
  page: "service",
  metrics: "service",
  clock_file: "service",
};

/** The names of changed entries. */
export interface EntryChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface Differences {
  /** The booths whose entry or profile changed. */
  readonly booths: EntryChanges;
  readonly outputs: EntryChanges;
  readonly notices: EntryChanges;
  /** Changed settings that restart the whole agent, such as "service.url". */
  readonly agent: readonly string[];
  /** Changed settings that take effect at the next restart of the service. */
  readonly service: readonly string[];
}

/** The outcome of a reload. */
export interface Reloaded extends Omit<Differences, "service"> {
  /** Changed settings that take effect at the next restart of the service. */
  readonly needs_restart: readonly string[];
}

/** Compares the configuration in force with a changed one. Pure. */
export function differencesOf(before: UsableConfig, after: UsableConfig): Differences {
  const keys = Object.keys(RESTARTS) as (keyof Config)[];
  const settings = (restarting: "agent" | "service"): readonly string[] =>
    keys
      .filter((key) => RESTARTS[key] === restarting)
      .flatMap((key) => pathsThatDiffer(before.config[key], after.config[key], key));
  const changes = (entriesOf: (usable: UsableConfig) => readonly (readonly [name: string, entry: unknown])[]) =>
    entryChanges(new Map(entriesOf(before)), new Map(entriesOf(after)));
  return {
    booths: changes(({ booths }) => booths.map((booth) => [booth.config.id, booth])),
    outputs: changes(({ config }) => config.outputs.map((output) => [output.name, output])),
    notices: changes(({ config }) => config.notices.map((notice) => [notice.name, notice])),
    agent: settings("agent"),
    service: settings("service"),
  };
}

function entryChanges(before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): EntryChanges {
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    changed: [...after.keys()].filter(
      (name) => before.has(name) && !isDeepStrictEqual(before.get(name), after.get(name)),
    ),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

function pathsThatDiffer(before: unknown, after: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isGroup(before) || !isGroup(after)) return [path];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => pathsThatDiffer(before[key], after[key], `${path}.${key}`));
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
