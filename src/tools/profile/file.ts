import { isMessage, message, type Text } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Document, isMap, isScalar, isSeq, parse, parseDocument, Scalar } from "yaml";
import { loadConfig } from "../../config/config.ts";
import { ConfigError, type Problem } from "../../config/config-error.ts";
import { problemsOf, refuseIfAny } from "../../config/explain.ts";
import { didYouMean } from "../../config/nearest.ts";
import { manualAddress } from "../../config/profile-address.ts";
import { parseProfile, profileNames, SHIPPED_PROFILES } from "../../config/profile.ts";
import { modbusProfileSchema } from "../../config/profile-schema.ts";
import { openYaml, readSource } from "../../config/yaml-source.ts";
import { MODES_LISTED, type ProfileMode } from "../../domain/booth.ts";
import type { ModbusQuirks, Profile } from "../../domain/profile.ts";
import { configPath } from "../agent-client.ts";
import { CommandError, EXIT, type Values } from "../command.ts";

/**
 * A draft: a profile that a user makes step by step, as a YAML file in the folder of the user's own profiles. Each `profile` command reads
 * the file, adds or replaces tags and modes, and writes the whole file. The comment after a line names the line's origin: a list and its
 * line, or an address with the value read there, and the day.
 *
 * A draft may lack tags, modes, or the tag for the mode. It can't be used for a booth until `problemsIn` is empty. A change is refused only
 * if one of the new tags is itself wrong. The file is replaced atomically, so after a power cut it is the old file or the new file.
 */
export interface Draft {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

type DraftText = Pick<Draft, "path" | "text">;

/** Keys and values as in the file of a profile. */
export type Keys = Readonly<Record<string, unknown>>;
export type TagEntry = Keys & { readonly name: string };

/** Returns the text of a tag's key; "" if the tag has no such key, or a value that is no text and no number. */
export function keyText(keys: Keys, key: string): string {
  const value = keys[key];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** A line of the file, and its origin, which becomes the comment after the line. */
export interface Entered<T> {
  readonly entry: T;
  readonly from: string;
}

export type EnteredMode = Entered<{ readonly code: string; readonly mode: ProfileMode }>;

/** The first lines of a draft that is made from a protocol instead of a shipped profile, with the protocol's defaults. */
const PLAIN_FAMILIES: Readonly<Record<string, string>> = {
  modbus: "protocol: modbus\nmodbus: { unit_id: 1 }\n",
  opcua: "protocol: opcua\nopcua: { max_nodes_per_read: 100 }\n",
};
const PLAIN_GROUPS = "groups:\n  fast: { poll_interval_ms: 1000 }\n  slow: { poll_interval_ms: 10000 }\n";

/** Returns the names that `profile new --from` accepts. */
export function familyNames(): readonly string[] {
  return [...Object.keys(PLAIN_FAMILIES), ...profileNames()];
}

/**
 * Returns the folder of the user's own profiles: the first folder that the configuration names, else `profiles` next to the configuration.
 */
export function ownFolder(values: Values): string {
  // Uses the folder that the page passes, the only one that the agent may write to.
  if (typeof values["folder"] === "string") return values["folder"];
  const path = configPath(values);
  const usual = join(dirname(resolve(path)), "profiles");
  if (!existsSync(path)) return usual;
  return loadConfig(path).profile_dirs.find((dir) => dir !== SHIPPED_PROFILES) ?? usual;
}

function draftNames(folder: string): readonly string[] {
  return existsSync(folder) ? profileNames([folder]) : [];
}

function draftAt(folder: string, name: string): Draft {
  const path = join(folder, `${name}.yaml`);
  return { name, path, text: readSource(path) };
}

/** Opens the draft that --profile names, else the only draft in the folder. Throws a CommandError if no such draft exists. */
export function openDraft(values: Values): Draft {
  const folder = ownFolder(values);
  const names = draftNames(folder);
  const known = message("workshop.there_are", { names: names.join(", ") });
  const named = values["profile"];
  const name = typeof named === "string" ? named : names.length === 1 ? names[0] : undefined;
  if (name === undefined) {
    const there = names.length === 0 ? message("workshop.none_begun") : known;
    throw new CommandError(message("workshop.which_profile", { folder, there }), EXIT.usage);
  }
  if (!names.includes(name)) {
    const hint = didYouMean(name, names) ?? (names.length === 0 ? message("workshop.none_yet") : known);
    throw new CommandError(message("workshop.no_such_profile", { profile: name, folder, hint }), EXIT.usage);
  }
  return draftAt(folder, name);
}

/** A draft as the page shows it: its tags, and the parts that it lacks. */
export interface MadeProfile {
  readonly name: string;
  readonly protocol: Profile["protocol"];
  readonly tags: number;
  readonly missing: readonly Text[];
  /** The tags; `at` is the address as manuals write it. */
  readonly entries: readonly (TagEntry & { readonly at: string })[];
  readonly modes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly can_undo: boolean;
}

/** Lists the drafts in a folder. */
export function madeProfilesIn(folder: string): readonly MadeProfile[] {
  return draftNames(folder).map((name) => {
    const draft = draftAt(folder, name);
    const { text } = draft;
    const entries = tagEntries(text).map((entry) => {
      const at = keyText(entry, "address");
      return { ...entry, at: at === "" ? keyText(entry, "node") : manualAddress(at) };
    });
    const missing = missingIn(problemsIn(draft));
    const can_undo = earlierTexts(draft).length > 0;
    return {
      name,
      protocol: protocolOf(draft),
      tags: entries.length,
      missing,
      entries,
      modes: modesOf(text),
      text,
      can_undo,
    };
  });
}

/** The maximum number of changes that can be undone. */
const MOST_UNDONE = 20;

/** The file next to a draft with the texts before its last changes, the newest last. */
function undoFile({ path }: Pick<Draft, "path">): string {
  return `${path}.undo`;
}

function earlierTexts(draft: Pick<Draft, "path">): readonly string[] {
  try {
    return JSON.parse(readFileSync(undoFile(draft), "utf8")) as readonly string[];
  } catch {
    return []; // the file does not exist, or a power cut left it incomplete
  }
}

function keepEarlier(draft: Pick<Draft, "path">, texts: readonly string[]): void {
  writeFileSync(undoFile(draft), JSON.stringify(texts.slice(-MOST_UNDONE)), { mode: 0o644 });
}

/** Brings back the draft's text before its last change. Throws a CommandError if no change is known. */
export function undoneDraft(draft: Draft): Draft {
  const texts = earlierTexts(draft);
  const text = texts.at(-1);
  if (text === undefined) throw new CommandError(message("workshop.nothing_to_undo"));
  replaceFile(draft, text);
  keepEarlier(draft, texts.slice(0, -1));
  return { ...draft, text };
}

/** Deletes a draft with its files. */
export function removeDraft(draft: Pick<Draft, "path">): void {
  for (const file of [draft.path, undoFile(draft), staysFile(draft)]) rmSync(file, { force: true });
}

/** The file next to a draft with the readings of an interrupted run that learns modes. */
export function staysFile({ path }: Pick<Draft, "path">): string {
  return `${path}.learning`;
}

/**
 * Replaces the draft's file atomically: after a power cut the file is the old or the new one. Throws a CommandError, and leaves the file as
 * it is, if the text can't be parsed.
 */
export function saveDraft({ path }: Pick<Draft, "path">, text: string): void {
  const [fault] = parsed(text).errors;
  if (fault !== undefined)
    throw new CommandError(message("workshop.not_yaml", { file: path, why: oneLine(fault.message) }));
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path)) keepEarlier({ path }, [...earlierTexts({ path }), readFileSync(path, "utf8")]);
  replaceFile({ path }, text);
}

function replaceFile({ path }: Pick<Draft, "path">, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o644 });
  renameSync(`${path}.new`, path);
}

/** Lists the faults and missing parts of the profile, in the file's order. */
export function problemsIn({ text, path }: DraftText): readonly Problem[] {
  try {
    parseProfile(text, path);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Reads a file that the user named. Throws a CommandError if it can't be read. */
export function namedFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CommandError(message("workshop.unreadable", { file, why: errorText(cause) }), EXIT.usage, cause);
  }
}

/** Describes what a draft lacks. */
export function missingIn(problems: readonly Problem[]): readonly Text[] {
  return problems.map(({ path, message: text }) =>
    path === "tags" && isMessage(text) && text.code === "config.too_small" ? message("workshop.a_tag") : text,
  );
}

/** Parses the draft as a device without modes. Its tags can therefore be read before any tag tells the mode. Throws a ConfigError. */
export function variablesOf({ text, path }: DraftText): Profile {
  const document = parsed(text);
  document.set("kind", "device");
  document.set("modes", document.createNode({}));
  const tags: unknown = document.get("tags");
  for (const tag of isSeq(tags) ? tags.items : []) {
    if (isMap(tag) && ["mode", "mode_bit"].includes(String(tag.get("role")))) {
      tag.delete("role");
      tag.delete("mode");
    }
  }
  return parseProfile(textOf(document), path);
}

/** Returns the draft's protocol; modbus if the draft names none. */
export function protocolOf({ text, path }: DraftText): Profile["protocol"] {
  return keysIn(openYaml(text, path).data)["protocol"] === "opcua" ? "opcua" : "modbus";
}

/** Returns the device's Modbus settings, which are known before any tag is. Throws a ConfigError if that part of the draft is wrong. */
export function quirksOf({ text, path }: DraftText): ModbusQuirks {
  const source = openYaml(text, path);
  const problems = problemsOf(modbusProfileSchema, source).filter((one) => /^(protocol|modbus)/.test(one.path));
  refuseIfAny(problems, source);
  return modbusProfileSchema.shape.modbus.parse(keysIn(source.data)["modbus"]);
}

function keysIn(data: unknown): Keys {
  return typeof data === "object" && data !== null ? Object.fromEntries(Object.entries(data)) : {};
}

/** Returns today's date in UTC, for the comments of a draft. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/**
 * Returns the text of a new draft: the word order, limits, groups and filters of the named profile, without tags, modes and holes. Throws a
 * CommandError for an unknown name.
 */
export function newDraft(name: string, family: string, unit?: string): string {
  const document = familyDocument(family);
  document.commentBefore = [
    ` ${name}: made with "booth-gateway profile", created on ${today()} from ${family}.`,
    ' The comment after each line names its source. "booth-gateway check FILE" lists errors and missing parts.',
  ].join("\n");
  for (const [key, value] of Object.entries({ name, version: "0.1.0", vendor: "", document: "" }))
    document.set(key, value);
  document.set("modes", document.createNode({}, { flow: true }));
  document.set("tags", document.createNode([], { flow: true }));
  // Drops the holes and tables of the shipped profile's machine: another machine of the family has other ones.
  for (const key of ["holes", "tables"]) if (document.hasIn(["modbus", key])) document.deleteIn(["modbus", key]);
  const pairs = isMap(document.contents) ? document.contents.items : [];
  for (const { key } of pairs) {
    if (isScalar(key) && key.value === "modbus") key.commentBefore ??= ` as ${family} has it`;
  }
  if (unit !== undefined) document.setIn(["modbus", "unit_id"], Number(unit));
  return textOf(document);
}

function familyDocument(family: string): Document {
  const plain = PLAIN_FAMILIES[family];
  if (plain !== undefined) return parsed(`name: x\nversion: x\n${plain}${PLAIN_GROUPS}`);
  const names = profileNames();
  const name = names.find((one) => one === family) ?? names.find((one) => one.startsWith(`${family}-`));
  if (name !== undefined) return parsed(readFileSync(join(SHIPPED_PROFILES, `${name}.yaml`), "utf8"));
  const hint = didYouMean(family, familyNames()) ?? message("workshop.there_are", { names: familyNames().join(", ") });
  throw new CommandError(message("workshop.no_family", { family, hint }), EXIT.usage);
}

/** Returns the further keys of a tag: from --with, or as JSON from the page. Throws a CommandError. */
export function givenKeys(values: Values): Keys {
  const { keys, with: pairs } = values;
  return typeof keys === "string" ? (JSON.parse(keys) as Keys) : pairsIn(typeof pairs === "string" ? pairs : "");
}

/** Parses --with: KEY=VALUE separated by commas, with values as in YAML. Throws a CommandError. */
export function pairsIn(text: string): Keys {
  const pairs = text
    .split(/,(?![^[{]*[\]}])/)
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [, key, value] = /^([a-z_]+)\s*=\s*(.+)$/.exec(pair) ?? [];
      if (key !== undefined && value !== undefined) return [key, parse(value) as unknown] as const;
      throw new CommandError(message("workshop.not_pair", { pair }), EXIT.usage);
    });
  return Object.fromEntries(pairs);
}

/** The first keys of a tag, in the order in which people read them. Other keys follow in the given order. */
const KEY_ORDER = "name label role mode filter bay address node path bit type length".split(" ");

/** Returns a tag with its keys in the file's order and without undefined keys. */
export function entryOf(keys: TagEntry): TagEntry {
  const place = (key: string): number => (KEY_ORDER.includes(key) ? KEY_ORDER.indexOf(key) : KEY_ORDER.length);
  const given = Object.entries(keys).filter(([, value]) => value !== undefined);
  return { name: keys.name, ...Object.fromEntries(given.toSorted(([a], [b]) => place(a) - place(b))) };
}

/** Returns the draft's text with these tags: each tag replaces the tag of its name, or is added at the end. */
export function withTags(text: string, tags: readonly Entered<TagEntry>[]): string {
  if (tags.length === 0) return text;
  const document = parsed(text);
  const before: unknown = document.get("tags");
  const list = isSeq(before) ? before : document.createNode([]);
  if (!isSeq(list)) return text;
  list.flow = false;
  const places = new Map<unknown, number>();
  for (const [index, one] of list.items.entries()) if (isMap(one)) places.set(one.get("name"), index);
  for (const { entry, from } of tags) {
    // Removes line breaks from a value, because each tag is on a single line.
    const pairs = Object.entries(entry).map(([key, value]) => [
      key,
      typeof value === "string" ? oneLine(value) : value,
    ]);
    const node = document.createNode(Object.fromEntries(pairs), { flow: true });
    node.comment = ` ${oneLine(from)}`;
    const index = places.get(entry.name) ?? list.items.length;
    list.items[index] = node;
    places.set(entry.name, index);
  }
  document.set("tags", list);
  return textOf(document);
}

/** Returns the draft's text without the tag of that name. */
export function withoutTag(text: string, name: string): string {
  const document = parsed(text);
  const tags: unknown = document.get("tags");
  if (isSeq(tags)) tags.items = tags.items.filter((one) => !isMap(one) || one.get("name") !== name);
  return textOf(document);
}

/** Returns the draft's text without its tags and modes. */
export function withoutTags(text: string): string {
  const document = parsed(text);
  document.set("tags", document.createNode([]));
  document.set("modes", document.createNode({}));
  return textOf(document);
}

/** Returns the draft's tags as they are in the file. */
export function tagEntries(text: string): readonly TagEntry[] {
  const tags: unknown = parsed(text).get("tags");
  return isSeq(tags) ? tags.items.filter((one) => isMap(one)).map((one) => one.toJSON() as TagEntry) : [];
}

/** Returns the modes that the draft maps so far, by code. */
export function modesOf(text: string): Readonly<Record<string, string>> {
  const modes: unknown = parsed(text).get("modes");
  return isMap(modes) ? (modes.toJSON() as Record<string, string>) : {};
}

/** Returns the draft's text with these mode codes added. */
export function withModes(text: string, modes: readonly EnteredMode[]): string {
  if (modes.length === 0) return text;
  const document = parsed(text);
  const before: unknown = document.get("modes");
  const known = isMap(before) ? before : document.createNode({});
  if (!isMap(known)) return text;
  known.flow = false;
  for (const { entry, from } of modes) {
    const key = new Scalar(entry.code);
    key.type = "QUOTE_DOUBLE";
    const value = new Scalar(entry.mode);
    value.comment = ` ${oneLine(from)}`;
    const index = known.items.findIndex((one) => isScalar(one.key) && String(one.key.value) === entry.code);
    known.items[index === -1 ? known.items.length : index] = document.createPair(key, value);
  }
  document.set("modes", known);
  return textOf(document);
}

/** Returns the mode of that name; undefined if a profile can't map such a mode. */
export function modeNamed(text: string): ProfileMode | undefined {
  return MODES_LISTED.find((one): one is ProfileMode => one === text && one !== "no_data");
}

/** Replaces line breaks, control characters and direction marks with blanks. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim();
}

function parsed(text: string): Document {
  return parseDocument(text, { uniqueKeys: false });
}

/** Writes the document as YAML. Each tag stays on one line, however long, followed by the comment that names its origin. */
function textOf(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
