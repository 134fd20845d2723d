import { message } from "../domain/message.ts";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DEFAULT_DATA_DIR } from "../domain/plc-address.ts";
import type { Profile } from "../domain/profile.ts";
import { OUTPUT_KINDS, type OutputKind } from "../domain/status.ts";
import { ConfigError } from "./config-error.ts";
import { configFrom } from "./config.ts";
import { writeDurably } from "./durable-file.ts";
import { byEntry, entriesIn, entryOf, type List, withoutEntries } from "./entries.ts";
import { parseWith, problemsOf } from "./explain.ts";
import { fileProblems, type MarkedSetting } from "./file-checks.ts";
import { checkGateway } from "./gateway-checks.ts";
import { gatewaySchema } from "./gateway-schema.ts";
import { markedKeys } from "./marks.ts";
import { unknownGroups } from "./parameters.ts";
import type { BoothConfig, Config } from "./port.ts";
import { findProfile, profileFile, unknownProfileHint } from "./profile.ts";
import { openLayers, SET_UP_FILE, type SetUp } from "./set-up.ts";
import {
  AT_KEY,
  type DataPath,
  type Fault,
  NO_CONFIG_HINT,
  problemsFrom,
  readSource,
  valueAt,
  whole,
  within,
  type YamlSource,
} from "./yaml-source.ts";

/** The file name for the copy of the last configuration file without faults. */
const LAST_GOOD = "last-good.json";

/** A booth that can run, with its profile. */
export interface ReadyBooth {
  readonly config: BoothConfig;
  readonly profile: Profile;
}

/** A booth that can't run because of its entry or its profile's file. */
export interface RefusedBooth {
  /** The booth's id, or `booths[2]` if the entry has no usable id. */
  readonly id: string;
  readonly serial: string | null;
  readonly error: ConfigError;
}

/** An output or a notice that is disabled because of its entry. */
export interface RefusedEntry {
  /** The output's kind; null if the entry names no kind, or several. */
  readonly kind: OutputKind | null;
  /** The entry's name, or `outputs[2]` if the entry has no usable name. */
  readonly name: string;
  readonly error: ConfigError;
}

/**
 * The usable part of a configuration, and its faults.
 *
 * `inspectText` makes it from a text, and nothing changes it afterwards. A fault of a booth, its profile, an output or a notice disables
 * that entry alone. `config` contains only the valid entries; the lists of refused entries contain the others, in the file's order. A fault
 * that a check finds in another section is `fatal`: the whole file isn't used (`soundIn` throws the fault). For wrong syntax, or a wrong
 * shape of another section, `inspectText` throws instead. Files that the configuration names (certificates, keys, passwords) aren't read
 * here; `verdictOn` checks them.
 */
export interface UsableConfig {
  /** The path of the configuration file. */
  readonly file: string;
  readonly config: Config;
  /** The booths of `config` with their profiles. */
  readonly booths: readonly ReadyBooth[];
  readonly refused: readonly RefusedBooth[];
  readonly refused_outputs: readonly RefusedEntry[];
  readonly refused_notices: readonly RefusedEntry[];
  readonly fatal: ConfigError | null;
  /** The settings of `config` that name a file or are a secret. */
  readonly marked: readonly MarkedSetting[];
}

/**
 * Returns every fault of a configuration: shape, checks, profiles and the files that it names; null if there is no fault. The commands
 * `check`, `config set` and `doctor` and a reload all use this verdict. A start reports the same problems.
 */
export function verdictOn(usable: UsableConfig): ConfigError | null {
  const { file, fatal, refused, refused_outputs, refused_notices } = usable;
  const entries = [...refused, ...refused_outputs, ...refused_notices].map(({ error }) => error);
  const errors = fatal === null ? entries : [fatal, ...entries];
  const problems = errors.flatMap((error) => error.problems.map((one) => ({ ...one, file: one.file ?? error.file })));
  const all = [...problems, ...fileProblems(usable.marked)];
  return all.length === 0 ? null : new ConfigError(file, all);
}

/**
 * Reads a configuration file and its profiles. Throws ConfigError for wrong syntax, or for a wrong shape outside booths, outputs and
 * notices.
 */
export function inspectConfig(path: string): UsableConfig {
  return inspectText(readSource(path, NO_CONFIG_HINT), path);
}

/** Inspects a text like the content of the file at `path`, optionally with other values of the set-up's file. */
export function inspectText(text: string, path: string, set_up?: SetUp): UsableConfig {
  const { source, refused: set_up_refused } = openLayers(text, path, set_up);
  const shape = problemsOf(gatewaySchema, source);
  const misshapen = byEntry(shape);
  if (misshapen.has("")) throw new ConfigError(path, shape);
  const { kept, source: sound } = withoutEntries(source, misshapen);
  const input = parseWith(gatewaySchema, sound);
  const checked = byEntry(checkGateway(input, sound));
  const isSound = (list: List, position: number): boolean => !checked.has(`${list}[${kept[list][position]}]`);
  const config = configFrom(
    {
      ...input,
      booths: input.booths.filter((_, position) => isSound("booths", position)),
      outputs: input.outputs.filter((_, position) => isSound("outputs", position)),
      notices: input.notices.filter((_, position) => isSound("notices", position)),
    },
    path,
  );
  const errors = new Map(
    [...misshapen, ...checked].map(([entry, problems]) => [entry, new ConfigError(path, problems)]),
  );
  const indices = kept.booths.filter((_, position) => isSound("booths", position));
  const booths: ReadyBooth[] = [];
  for (const [position, { config: booth, profile }] of withProfiles(config, indices, source).entries()) {
    if (profile instanceof ConfigError) errors.set(`booths[${indices[position]}]`, profile);
    else booths.push({ config: booth, profile });
  }
  const refusedIn = <T>(list: List, described: (entry: unknown, place: string) => T) =>
    entriesIn(source, list).flatMap((entry, index) => {
      const place = `${list}[${index}]`;
      const error = errors.get(place);
      return error === undefined ? [] : [{ ...described(entry, place), error }];
    });
  return {
    config: { ...config, booths: booths.map((booth) => booth.config) },
    booths,
    refused: [
      ...refusedIn("booths", nameOfBooth),
      // Reports an unreadable set-up in the status, but runs the operator's booths.
      ...(set_up_refused === null ? [] : [{ id: SET_UP_FILE, serial: null, error: set_up_refused }]),
    ],
    refused_outputs: refusedIn("outputs", nameOfEntry),
    refused_notices: refusedIn("notices", nameOfEntry),
    fatal: errors.get("") ?? null,
    file: path,
    marked: markedIn(input, sound).filter(({ place }) => entryOf(place) === "" || !checked.has(entryOf(place))),
  };
}

/** Returns the settings of a configuration that are marked in the schema. */
function markedIn(data: unknown, source: YamlSource): readonly MarkedSetting[] {
  const folder = dirname(resolve(source.file));
  return markedKeys(gatewaySchema).flatMap(({ keys, holds }) =>
    valuesAt(data, keys, []).map(({ path, value }) => ({
      path,
      holds,
      value: holds === "address" ? value : resolve(folder, value),
      place: source.problemAt(path, ""),
    })),
  );
}

function valuesAt(
  data: unknown,
  [key, ...deeper]: readonly string[],
  path: DataPath,
): readonly { readonly path: DataPath; readonly value: string }[] {
  if (key === undefined) return typeof data === "string" ? [{ path, value: data }] : [];
  if (Array.isArray(data)) return key === "*" ? data.flatMap((one, at) => valuesAt(one, deeper, [...path, at])) : [];
  if (!isObject(data)) return [];
  const steps = key === "*" ? Object.keys(data) : [key];
  return steps.flatMap((step) => (Object.hasOwn(data, step) ? valuesAt(data[step], deeper, [...path, step]) : []));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Reads and inspects a configuration file. Throws ConfigError for a fault outside single entries. */
export function loadUsable(path: string): UsableConfig {
  return soundIn(readSource(path, NO_CONFIG_HINT), path);
}

/**
 * Returns each booth with its profile, or with the reason why no profile fits. Reads each profile once, because most booths of a gateway
 * have the same profile and 64 readings would delay a start by seconds. `indices` are the booths' indices in the file.
 */
function withProfiles({ booths, profile_dirs: dirs }: Config, indices: readonly number[], source: YamlSource) {
  const names = new Set(booths.map(({ profile }) => profile));
  const profiles = new Map([...names].map((name) => [name, foundProfile(name, dirs)]));
  return booths.map((config, position) => {
    const profile = profiles.get(config.profile) ?? null;
    const faults = profileFaults(config, profile, dirs);
    const problems = problemsFrom(source, within(["booths", indices[position] ?? position], faults));
    return {
      config,
      profile: profile === null || problems.length > 0 ? new ConfigError(source.file, problems) : profile,
    };
  });
}

/** Returns a profile, or the error of its file; null if no folder has the profile. */
function foundProfile(name: string, dirs: readonly string[]): Profile | ConfigError | null {
  if (profileFile(name, dirs) === null) return null;
  try {
    return findProfile(name, dirs);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** Returns the faults of a booth that come from its profile. */
function profileFaults(
  booth: BoothConfig,
  profile: Profile | ConfigError | null,
  dirs: readonly string[],
): readonly Fault[] {
  if (profile instanceof ConfigError) return [];
  if (profile === null) {
    const hint = unknownProfileHint(booth.profile, dirs);
    return [["profile", message("config.no_profile", { profile: booth.profile }), { hint }]];
  }
  const { name, protocol, groups } = profile;
  const link = booth.modbus === undefined ? "opcua" : "modbus";
  const faults = unknownGroups(profile, booth).map((group): Fault => {
    const hint = message("config.has_groups", { groups: Object.keys(groups).join(", ") });
    return [["poll", group], message("config.no_poll_group", { profile: name, group }), { ...AT_KEY, hint }];
  });
  if (protocol !== link) {
    const hint = message("config.give_link", { protocol, link });
    faults.push([link, message("config.other_link", { profile: name, protocol, link }), { ...AT_KEY, hint }]);
  }
  return faults;
}

/** Returns the id and serial number of a refused booth. Without a usable id, the id is the booth's place in the file. */
function nameOfBooth(booth: unknown, place: string): { readonly id: string; readonly serial: string | null } {
  const given = (key: "id" | "serial"): string | null => {
    const value = valueAt(booth, [key]);
    // Accepts only harmless characters, because the unchecked text goes to logs and terminals.
    return typeof value === "string" && /^[A-Za-z0-9-]{1,64}$/.test(value.trim()) ? value.trim() : null;
  };
  return { id: given("id") ?? place, serial: given("serial")?.toUpperCase() ?? null };
}

/** Returns the name and kind of a refused output or notice. Without a usable name, the name is its place in the file. */
function nameOfEntry(entry: unknown, place: string): Pick<RefusedEntry, "name" | "kind"> {
  const name = valueAt(entry, ["name"]);
  const kinds = OUTPUT_KINDS.filter((key) => isObject(entry) && key in entry);
  return {
    name: typeof name === "string" && /^[a-z0-9-]{1,32}$/.test(name) ? name : place,
    kind: kinds.length === 1 ? (kinds[0] ?? null) : null,
  };
}

/** The configuration that the agent runs with. */
export interface LoadedConfig {
  readonly usable: UsableConfig;
  /** The reason why the agent runs with the last valid file instead of the current file; null if the current file is in use. */
  readonly refused: ConfigError | null;
  /** The text of the file in use, without the set-up's file. */
  readonly text: string;
}

/**
 * Returns the configuration that the agent runs with: the file, or else the copy of the last valid file. Uses the copy if the file is
 * unreadable, invalid or cut off, or if every booth in it is refused. Saves a copy of each file without a refused booth. Without a copy,
 * uses a file whose booths are all refused, and throws the ConfigError of any other unusable file.
 */
export function loadUsableOrLastGood(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): LoadedConfig {
  let text = "";
  let current: UsableConfig | null = null;
  let refused: ConfigError;
  const lastGood = (): Pick<LoadedConfig, "usable" | "text"> | null =>
    lastGoodIn(path, foldersOf(path, text, environment["STATE_DIRECTORY"]));
  try {
    text = readSource(path, NO_CONFIG_HINT);
    current = soundIn(text, path);
    const [first] = current.refused;
    if (isCutOff(current, text, () => lastGood()?.usable ?? null)) throw whole(path, CUT, { hint: CUT_HINT });
    if (first === undefined) keepCopy(current.config.data_dir, { file: resolve(path), text });
    if (first === undefined || current.booths.length > 0) return { usable: current, refused: null, text };
    refused = first.error;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    refused = error;
  }
  const good = lastGood();
  if (good !== null) return { ...good, refused };
  // Uses a file in which every booth is refused, because no copy has booths that could run instead.
  if (current !== null) return { usable: current, refused: null, text };
  throw refused;
}

const CUT = message("config.cut");
const CUT_HINT = message("config.cut_hint", { file: LAST_GOOD });

/**
 * Returns whether the file was probably cut off: booths or the service are missing, although the last valid file had them. A box that is
 * not set up yet has neither booths nor a service.
 */
function isCutOff(
  { config, refused }: UsableConfig,
  text: string,
  lastGood: () => LoadedConfig["usable"] | null,
): boolean {
  const lacksBooths = config.booths.length + refused.length === 0 && !/^booths:[ \t]*\[\s*\]/m.test(text);
  const lacksService = config.service.url === undefined;
  if (!lacksBooths && !lacksService) return false;
  const good = lastGood();
  return good !== null && (lacksBooths || good.config.service.url !== undefined);
}

/** Inspects a text. Throws ConfigError for a fault outside single entries. */
export function soundIn(text: string, path: string): UsableConfig {
  const usable = inspectText(text, path);
  if (usable.fatal !== null) throw usable.fatal;
  return usable;
}

function keepCopy(folder: string, copy: { readonly file: string; readonly text: string }): void {
  const path = join(folder, LAST_GOOD);
  const content = JSON.stringify(copy);
  try {
    // Skips writing an unchanged copy, which is usual. This saves a write to the flash, and the time to sync it.
    if (!existsSync(path) || readFileSync(path, "utf8") !== content) writeDurably(path, content);
  } catch (error) {
    // Ignores an error of the disk: only this copy is lost, and the store reports the disk.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

/** Returns the folders that may contain the copy, because a broken file may no longer name its data folder. */
function foldersOf(path: string, text: string, state_directory: string | undefined): readonly string[] {
  const named = /^data_dir:[ \t]*["']?([^"'#\r\n]+)/m.exec(text)?.[1]?.trim();
  const given = named === undefined ? undefined : resolve(dirname(path), named);
  return [given, state_directory, DEFAULT_DATA_DIR].filter((folder) => folder !== undefined);
}

function lastGoodIn(path: string, folders: readonly string[]): Pick<LoadedConfig, "usable" | "text"> | null {
  for (const folder of folders) {
    try {
      const copy = JSON.parse(readFileSync(join(folder, LAST_GOOD), "utf8")) as { file?: unknown; text?: unknown };
      if (copy.file !== resolve(path) || typeof copy.text !== "string") continue;
      const usable = soundIn(copy.text, path);
      if (usable.booths.length > 0) return { usable, text: copy.text };
    } catch {
      // Tries the next folder if the copy is missing or damaged. Without any copy, the file's own fault is reported.
    }
  }
  return null;
}
