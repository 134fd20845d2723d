import { isDeepStrictEqual } from "node:util";
import type { Config } from "./port.ts";
import type { UsableConfig } from "./usable.ts";

/** What a changed configuration means for an agent that runs. */

/**
 * What has to begin anew where a setting is another. part: what the entry is of, a booth with its link, an output or a notice. agent: the whole
 * agent, within its process. service: the process, since its folders, ports or threads hang on it.
 */
const BEGINS_ANEW: Readonly<Record<keyof Config, "part" | "agent" | "service">> = {
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
  page: "service",
  clock_file: "service",
};

/** Entries by their names. */
export interface EntryChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export interface Differences {
  /** Changed: its entry, or what its profile's file says. */
  readonly booths: EntryChanges;
  readonly outputs: EntryChanges;
  readonly notices: EntryChanges;
  /** Settings for which the whole agent begins anew, e.g. "service.url". */
  readonly agent: readonly string[];
  /** Settings that wait for a restart of the service. */
  readonly service: readonly string[];
}

/** What a changed file has brought. */
export interface Reloaded extends Omit<Differences, "service"> {
  /** Settings of it that wait for a restart of the service. */
  readonly needs_restart: readonly string[];
}

/** Pure. */
export function differencesOf(before: UsableConfig, after: UsableConfig): Differences {
  const keys = Object.keys(BEGINS_ANEW) as (keyof Config)[];
  const settings = (anew: "agent" | "service"): readonly string[] =>
    keys
      .filter((key) => BEGINS_ANEW[key] === anew)
      .flatMap((key) => pathsThatDiffer(before.config[key], after.config[key], key));
  const boothsOf = ({ booths }: UsableConfig) => new Map(booths.map((booth) => [booth.config.id, booth]));
  const named = (list: "outputs" | "notices", { config }: UsableConfig) =>
    new Map(config[list].map((entry) => [entry.name, entry]));
  return {
    booths: entryChanges(boothsOf(before), boothsOf(after)),
    outputs: entryChanges(named("outputs", before), named("outputs", after)),
    notices: entryChanges(named("notices", before), named("notices", after)),
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
