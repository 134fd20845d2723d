import { say } from "../domain/sentences.ts";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DEFAULT_DATA_DIR } from "../domain/plc-address.ts";
import type { Profile } from "../domain/profile.ts";
import { ConfigError } from "./config-error.ts";
import { configFrom } from "./config.ts";
import { byEntry, entriesIn, isIn, type List, without } from "./entries.ts";
import { parseWith, problemsOf } from "./explain.ts";
import { fileProblems, type MarkedSetting } from "./file-checks.ts";
import { checkGateway } from "./gateway-checks.ts";
import { gatewaySchema } from "./gateway-schema.ts";
import { markedKeys } from "./marks.ts";
import { unknownGroups } from "./parameters.ts";
import type { BoothConfig, Config } from "./port.ts";
import { findProfile, profileFile, unknownProfileHint } from "./profile.ts";
import { openLayers, SET_UP_FILE, type SetUp } from "./set-up.ts";
import { type DataPath, NO_CONFIG_HINT, readSource, whole, type YamlSource } from "./yaml-source.ts";

/** The last configuration file that was good. */
const NAME = "last-good.json";

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

/** An output or a notice that is left out for what is wrong in its entry. */
export interface RefusedEntry {
  /** Which of an output's kinds its entry names; null: none, or several. */
  readonly kind: "mqtt" | "sparkplug" | null;
  /** `outputs[2]` where it has no usable one. */
  readonly name: string;
  readonly error: ConfigError;
}

export interface UsableConfig {
  /** Where it was read from. */
  readonly file: string;
  /** Its booths are the ready ones. */
  readonly config: Config;
  readonly booths: readonly ReadyBooth[];
  /** In the file's order. */
  readonly refused: readonly RefusedBooth[];
  /** In the file's order. */
  readonly refused_outputs: readonly RefusedEntry[];
  /** In the file's order. */
  readonly refused_notices: readonly RefusedEntry[];
  /** What is wrong beside the booths and makes the file unusable; null: nothing. */
  readonly fatal: ConfigError | null;
  /** Settings in use that name a file or are a secret. */
  readonly marked: readonly MarkedSetting[];
}

/**
 * Everything that is wrong with a configuration, in every section: shape, checks, profiles and the files that it names. `check`,
 * `config set`, `reload` and `doctor` judge by this alone, and a start reports the same problems; null: nothing is wrong.
 */
export function verdictOn(usable: UsableConfig): ConfigError | null {
  const { file, fatal, refused, refused_outputs, refused_notices } = usable;
  const entries = [...refused, ...refused_outputs, ...refused_notices].map(({ error }) => error);
  const errors = [...(fatal === null ? [] : [fatal]), ...entries];
  const problems = errors.flatMap((error) => error.problems.map((one) => ({ ...one, file: one.file ?? error.file })));
  const all = [...problems, ...fileProblems(usable.marked)];
  return all.length === 0 ? null : new ConfigError(file, all);
}

/**
 * Reads the configuration and the profiles it names, each booth by itself: what is wrong in one, or in its profile,
 * refuses that one alone. Throws ConfigError where the file can't be understood beside its booths.
 */
export function inspectConfig(path: string): UsableConfig {
  return inspectText(readSource(path, NO_CONFIG_HINT), path);
}

/** The same for a text that stands, or would stand, at `path`, and for other values set up below it than those that are. */
export function inspectText(text: string, path: string, set_up?: SetUp): UsableConfig {
  const { source, refused: set_up_refused } = openLayers(text, path, set_up);
  const shape = problemsOf(gatewaySchema, source);
  const misshapen = byEntry(shape);
  if (misshapen.others.length > 0) throw new ConfigError(path, shape);
  const sound = without(source, misshapen);
  const input = parseWith(gatewaySchema, sound.source);
  const checked = byEntry(checkGateway(input, sound.source));
  const kept = <T>(list: List, items: readonly T[]): readonly (readonly [index: number, item: T])[] =>
    items
      .map((item, position) => [sound.indices[list][position] ?? position, item] as const)
      .filter(([index]) => !checked[list].has(index));
  const of_booths = kept("booths", input.booths);
  const outputs = kept("outputs", input.outputs).map(([, output]) => output);
  const notices = kept("notices", input.notices).map(([, notice]) => notice);
  const config = configFrom({ ...input, booths: of_booths.map(([, booth]) => booth), outputs, notices }, path);
  const errorsOf = (list: List): Map<number, ConfigError> =>
    new Map(
      [...misshapen[list], ...checked[list]].map(([index, problems]) => [index, new ConfigError(path, problems)]),
    );
  const errors = errorsOf("booths");
  const refusedIn = (list: "outputs" | "notices"): RefusedEntry[] =>
    inOrder(errorsOf(list)).map(([index, error]) => ({
      name: nameOf(source, list, index),
      kind: kindOf(source, list, index),
      error,
    }));
  // Most booths of a gateway have the same profile: reading it for each would keep a start with 64 of them busy for seconds.
  const names = new Set(config.booths.map(({ profile }) => profile));
  const profiles = new Map([...names].map((name) => [name, foundProfile(name, config.profile_dirs)]));
  const booths: ReadyBooth[] = [];
  for (const [position, booth] of config.booths.entries()) {
    const index = of_booths[position]?.[0] ?? position;
    const place = { source, index, dirs: config.profile_dirs };
    const profile = profileFor(booth, profiles.get(booth.profile) ?? null, place);
    if (profile instanceof ConfigError) errors.set(index, profile);
    else booths.push({ config: booth, profile });
  }
  return {
    config: { ...config, booths: booths.map((booth) => booth.config) },
    booths,
    refused: [
      ...inOrder(errors).map(([index, error]) => ({ ...nameOfBooth(source, index), error })),
      // What was set up can't be read: the operator's booths run without it, and everybody is told.
      ...(set_up_refused === null ? [] : [{ id: SET_UP_FILE, serial: null, error: set_up_refused }]),
    ],
    refused_outputs: refusedIn("outputs"),
    refused_notices: refusedIn("notices"),
    fatal: checked.others.length === 0 ? null : new ConfigError(path, checked.others),
    file: path,
    marked: markedIn(input, sound.source).filter(({ place }) => !isIn(checked, place)),
  };
}

/** Returns the marked settings that a configuration has. */
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

function inOrder(errors: ReadonlyMap<number, ConfigError>): readonly (readonly [number, ConfigError])[] {
  return [...errors].toSorted(([a], [b]) => a - b);
}

/** For whoever can't go on with a file that is wrong beside its booths. Throws ConfigError. */
export function loadUsable(path: string): UsableConfig {
  return soundIn(readSource(path, NO_CONFIG_HINT), path);
}

/** What its file makes; null: there is none. */
type Found = Profile | ConfigError | null;

function foundProfile(name: string, dirs: readonly string[]): Found {
  if (profileFile(name, dirs) === null) return null;
  try {
    return findProfile(name, dirs);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** The booth's profile; or why it has none, or none that fits. */
function profileFor(
  booth: BoothConfig,
  profile: Found,
  { source, index, dirs }: { readonly source: YamlSource; readonly index: number; readonly dirs: readonly string[] },
): Profile | ConfigError {
  const at = ["booths", index];
  if (profile === null) {
    const hint = unknownProfileHint(booth.profile, dirs);
    const message = say("config.no_profile", { profile: booth.profile });
    return new ConfigError(source.file, [source.problemAt([...at, "profile"], message, { hint })]);
  }
  if (profile instanceof ConfigError) return profile;
  const link = booth.modbus === undefined ? "opcua" : "modbus";
  const problems = unknownGroups(profile, booth).map((group) =>
    source.problemAt([...at, "poll", group], say("config.no_poll_group", { profile: profile.name, group }), {
      at: "key",
      hint: say("config.has_groups", { groups: Object.keys(profile.groups).join(", ") }),
    }),
  );
  if (profile.protocol !== link) {
    const message = say("config.other_link", { profile: profile.name, protocol: profile.protocol, link });
    const hint = say("config.give_link", { protocol: profile.protocol, link });
    problems.push(source.problemAt([...at, link], message, { at: "key", hint }));
  }
  return problems.length === 0 ? profile : new ConfigError(source.file, problems);
}

/** What a booth calls itself, as far as it can be read; its place where it has no usable id. */
function nameOfBooth(source: YamlSource, index: number): { readonly id: string; readonly serial: string | null } {
  const booth = entriesIn(source, "booths")[index];
  const given = (key: "id" | "serial"): string | null => {
    const value: unknown = typeof booth === "object" && booth !== null ? Reflect.get(booth, key) : undefined;
    // It goes to logs and terminals, and nothing has looked at it yet.
    return typeof value === "string" && /^[A-Za-z0-9-]{1,64}$/.test(value.trim()) ? value.trim() : null;
  };
  return { id: given("id") ?? `booths[${index}]`, serial: given("serial")?.toUpperCase() ?? null };
}

/** What an output was meant to be; null: its entry names no kind, or several. */
function kindOf(source: YamlSource, list: "outputs" | "notices", index: number): RefusedEntry["kind"] {
  const entry = entriesIn(source, list)[index];
  if (typeof entry !== "object" || entry === null) return null;
  const kinds = (["mqtt", "sparkplug"] as const).filter((kind) => kind in entry);
  return kinds.length === 1 ? (kinds[0] ?? null) : null;
}

/** What an output or a notice calls itself; its place where it has no usable name. */
function nameOf(source: YamlSource, list: "outputs" | "notices", index: number): string {
  const entry = entriesIn(source, list)[index];
  const name: unknown = typeof entry === "object" && entry !== null ? Reflect.get(entry, "name") : undefined;
  return typeof name === "string" && /^[a-z0-9-]{1,32}$/.test(name) ? name : `${list}[${index}]`;
}

export interface Lasting {
  readonly usable: UsableConfig;
  /** Why the file itself isn't in use but the last one that was good; null: it is. */
  readonly refused: ConfigError | null;
  /** The operator's, of the file that is in use. */
  readonly text: string;
}

/**
 * The configuration that the agent runs with: the file's, or, where that is broken, half-written or unreadable, the last one that
 * was good. Throws the file's ConfigError where there never was any.
 */
export function loadLasting(path: string, environment: Readonly<Record<string, string | undefined>>): Lasting {
  let text = "";
  let own: UsableConfig | null = null;
  let refused: ConfigError;
  try {
    text = readSource(path, NO_CONFIG_HINT);
    own = soundIn(text, path);
    const [first] = own.refused;
    if (isCutOff(own, text, () => lastGood(path, foldersOf(path, { text, environment })))) {
      throw whole(path, CUT, { hint: CUT_HINT });
    }
    // A file that costs a booth is in use, and isn't what the next broken one is replaced by.
    if (first === undefined) keep(own.config.data_dir, { file: resolve(path), text });
    if (first === undefined || own.booths.length > 0) return { usable: own, refused: null, text };
    refused = first.error;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    refused = error;
  }
  const good = lastGood(path, foldersOf(path, { text, environment }));
  if (good !== null) return { ...good, refused };
  // Each booth of the file is refused: better the last good file than none of them, but there isn't any.
  if (own !== null) return { usable: own, refused: null, text };
  throw refused;
}

const CUT = say("config.cut");
const CUT_HINT = `write "booths: []" to set the box up anew, and delete ${NAME} for another service`;

/** A box to be set up has neither booths nor service; where it had them before, only the file's beginning was written. */
function isCutOff({ config, refused }: UsableConfig, text: string, goodOne: () => Good | null): boolean {
  const lacksBooths = config.booths.length + refused.length === 0 && !/^booths:[ \t]*\[\s*\]/m.test(text);
  const lacksService = config.service.url === undefined;
  if (!lacksBooths && !lacksService) return false;
  const good = goodOne();
  return good !== null && (lacksBooths || good.usable.config.service.url !== undefined);
}

/** Throws the ConfigError of what is wrong beside booths and outputs. */
export function soundIn(text: string, path: string): UsableConfig {
  const usable = inspectText(text, path);
  if (usable.fatal !== null) throw usable.fatal;
  return usable;
}

/** Written beside and renamed: at a power cut the one before is whole. A disk that takes nothing costs this copy alone. */
function keep(folder: string, copy: { readonly file: string; readonly text: string }): void {
  const path = join(folder, NAME);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = openSync(`${path}.new`, "w", 0o600);
    try {
      writeSync(file, JSON.stringify(copy));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(`${path}.new`, path);
  } catch (error) {
    // The store itself says more of such a disk, and to more people.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

/** Where the copy may lie, when the file can't say any more where the data is. */
function foldersOf(
  path: string,
  { text, environment }: { readonly text: string; readonly environment: Readonly<Record<string, string | undefined>> },
): readonly string[] {
  const named = /^data_dir:[ \t]*["']?([^"'#\r\n]+)/m.exec(text)?.[1]?.trim();
  const folders = [named === undefined ? undefined : resolve(dirname(path), named), environment["STATE_DIRECTORY"]];
  return [...folders.flatMap((folder) => (folder === undefined ? [] : [folder])), DEFAULT_DATA_DIR];
}

type Good = Pick<Lasting, "usable" | "text">;

function lastGood(path: string, folders: readonly string[]): Good | null {
  for (const folder of folders) {
    try {
      const copy = JSON.parse(readFileSync(join(folder, NAME), "utf8")) as { file?: unknown; text?: unknown };
      if (copy.file !== resolve(path) || typeof copy.text !== "string") continue;
      const usable = soundIn(copy.text, path);
      if (usable.booths.length > 0) return { usable, text: copy.text };
    } catch {
      // No copy there, or one that is spoilt: the next place, and in the end the file's own fault, is what counts.
    }
  }
  return null;
}
