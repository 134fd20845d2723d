import { unknownGroups } from "./parameters.ts";
import type { BoothConfig, Config } from "./port.ts";
import type { Profile } from "../domain/profile.ts";
import { ConfigError, type Problem } from "./config-error.ts";
import { configFrom } from "./config.ts";
import { parseWith, problemsOf } from "./explain.ts";
import { checkGateway } from "./gateway-checks.ts";
import { anyBoothsSchema, gatewaySchema } from "./gateway-schema.ts";
import { findProfile, profileFile, unknownProfileHint } from "./profile.ts";
import { type DataPath, NO_CONFIG_HINT, openYaml, readSource, type YamlSource } from "./yaml-source.ts";

/** A booth that can be run. */
export interface ReadyBooth {
  readonly config: BoothConfig;
  readonly profile: Profile;
}

/** A booth that can't: what is wrong in its entry, or in its profile's file. */
export interface RefusedBooth {
  /** `booths[2]` where it has no usable one. */
  readonly id: string;
  readonly serial: string | null;
  readonly error: ConfigError;
}

export interface UsableConfig {
  /** Its booths are the ready ones. */
  readonly config: Config;
  readonly booths: readonly ReadyBooth[];
  /** In the file's order. */
  readonly refused: readonly RefusedBooth[];
  /** What is wrong beside the booths and makes the file unusable; null: nothing. */
  readonly fatal: ConfigError | null;
}

/**
 * Reads the configuration and the profiles it names, each booth by itself: what is wrong in one, or in its profile,
 * refuses that one alone. Throws ConfigError where the file can't be understood beside its booths.
 */
export function inspectConfig(path: string): UsableConfig {
  return inspectText(readSource(path, NO_CONFIG_HINT), path);
}

/** The same for a text that stands, or would stand, at `path`. */
export function inspectText(text: string, path: string): UsableConfig {
  const source = openYaml(text, path);
  const shape = problemsOf(gatewaySchema, source);
  const misshapen = byBooth(shape);
  if (misshapen.others.length > 0) throw new ConfigError(path, shape);
  const sound = withoutBooths(source, new Set(misshapen.booths.keys()));
  const input = parseWith(anyBoothsSchema, sound.source);
  const checked = byBooth(checkGateway(input, sound.source));
  const isSound = (position: number): boolean => !checked.booths.has(sound.indices[position] ?? position);
  const indices = sound.indices.filter((_, position) => isSound(position));
  const config = configFrom({ ...input, booths: input.booths.filter((_, position) => isSound(position)) }, path);
  const errors = new Map(
    [...misshapen.booths, ...checked.booths].map(([index, problems]) => [index, new ConfigError(path, problems)]),
  );
  const profiles = eachOnce((name: string) => foundProfile(name, config.profile_dirs));
  const booths: ReadyBooth[] = [];
  for (const [position, booth] of config.booths.entries()) {
    const index = indices[position] ?? position;
    const profile = profileFor(booth, { source, index, dirs: config.profile_dirs, profiles });
    if (profile instanceof ConfigError) errors.set(index, profile);
    else booths.push({ config: booth, profile });
  }
  return {
    config: { ...config, booths: booths.map((booth) => booth.config) },
    booths,
    refused: [...errors]
      .toSorted(([a], [b]) => a - b)
      .map(([index, error]) => ({ ...nameOfBooth(source, index), error })),
    fatal: checked.others.length === 0 ? null : new ConfigError(path, checked.others),
  };
}

/** For whoever can't go on with a file that is wrong beside its booths. Throws ConfigError. */
export function loadUsable(path: string): UsableConfig {
  const usable = inspectConfig(path);
  if (usable.fatal !== null) throw usable.fatal;
  return usable;
}

interface Place {
  readonly source: YamlSource;
  /** The booth's in the file. */
  readonly index: number;
  readonly dirs: readonly string[];
  readonly profiles: (name: string) => Profile | ConfigError;
}

/** Most booths of a gateway have the same profile: reading it for each would keep a start with 64 of them busy for seconds. */
function eachOnce<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    const known = made.get(name) ?? make(name);
    made.set(name, known);
    return known;
  };
}

function foundProfile(name: string, dirs: readonly string[]): Profile | ConfigError {
  try {
    return findProfile(name, dirs);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** The booth's profile; or why it has none, or none that fits. */
function profileFor(booth: BoothConfig, { source, index, dirs, profiles }: Place): Profile | ConfigError {
  const at = ["booths", index];
  if (profileFile(booth.profile, dirs) === null) {
    const hint = unknownProfileHint(booth.profile, dirs);
    const message = `there is no profile "${booth.profile}"`;
    return new ConfigError(source.file, [source.problemAt([...at, "profile"], message, { hint })]);
  }
  const profile = profiles(booth.profile);
  if (profile instanceof ConfigError) return profile;
  const link = booth.modbus === undefined ? "opcua" : "modbus";
  const problems = unknownGroups(profile, booth).map((group) =>
    source.problemAt([...at, "poll", group], `the profile ${profile.name} has no poll group "${group}"`, {
      at: "key",
      hint: `it has ${Object.keys(profile.groups).join(", ")}`,
    }),
  );
  if (profile.protocol !== link) {
    const message = `the profile ${profile.name} is for ${profile.protocol}, the booth's link is ${link}`;
    const hint = `give the booth ${profile.protocol}: instead, or a profile for ${link}`;
    problems.push(source.problemAt([...at, link], message, { at: "key", hint }));
  }
  return problems.length === 0 ? profile : new ConfigError(source.file, problems);
}

/** Problems of a configuration file, told apart by the booth (its index in `booths`) that each lies in. */
export interface SortedProblems {
  readonly booths: ReadonlyMap<number, readonly Problem[]>;
  /** Those that lie in no booth. */
  readonly others: readonly Problem[];
}

export function byBooth(problems: readonly Problem[]): SortedProblems {
  const booths = Map.groupBy(
    problems.filter((problem) => indexOf(problem) !== null),
    (problem) => indexOf(problem) ?? 0,
  );
  return { booths, others: problems.filter((problem) => indexOf(problem) === null) };
}

function indexOf({ path }: Problem): number | null {
  const index = /^booths\[(\d+)\]/.exec(path)?.[1];
  return index === undefined ? null : Number(index);
}

/** A file without some of its booths; `indices` are those that the kept ones have in the file. */
export interface SoundPart {
  readonly source: YamlSource;
  readonly indices: readonly number[];
}

/** Problems of what is kept still point at their places in the whole file. */
export function withoutBooths(source: YamlSource, left: ReadonlySet<number>): SoundPart {
  const all = boothsIn(source).map((booth, index) => ({ booth, index }));
  const kept = all.filter(({ index }) => !left.has(index));
  const indices = kept.map(({ index }) => index);
  return {
    indices,
    source: {
      file: source.file,
      data: { ...(source.data as object), booths: kept.map(({ booth }) => booth) },
      problemAt: (path, message, options) => source.problemAt(inFile(path, indices), message, options),
      writtenAt: (path) => source.writtenAt(inFile(path, indices)),
    },
  };
}

function inFile([first, second, ...rest]: DataPath, indices: readonly number[]): DataPath {
  const index = first === "booths" && typeof second === "number" ? (indices[second] ?? second) : second;
  return [first, index, ...rest].filter((step) => step !== undefined);
}

/** What a booth calls itself, as far as it can be read; its place where it has no usable id. */
export function nameOfBooth(
  source: YamlSource,
  index: number,
): { readonly id: string; readonly serial: string | null } {
  const booth = boothsIn(source)[index];
  const given = (key: "id" | "serial"): string | null => {
    const value: unknown = typeof booth === "object" && booth !== null ? Reflect.get(booth, key) : undefined;
    // It goes to logs and terminals, and nothing has looked at it yet.
    return typeof value === "string" && /^[A-Za-z0-9-]{1,64}$/.test(value.trim()) ? value.trim() : null;
  };
  return { id: given("id") ?? `booths[${index}]`, serial: given("serial")?.toUpperCase() ?? null };
}

function boothsIn({ data }: YamlSource): readonly unknown[] {
  const booths = typeof data === "object" && data !== null && "booths" in data ? data.booths : undefined;
  return Array.isArray(booths) ? booths : [];
}
