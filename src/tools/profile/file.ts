import { say } from "../../domain/sentences.ts";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Document, isMap, isScalar, isSeq, parse, parseDocument, Scalar } from "yaml";
import { loadConfig } from "../../config/config.ts";
import { ConfigError, type Problem } from "../../config/config-error.ts";
import { problemsOf, refuseIfAny } from "../../config/explain.ts";
import { didYouMean } from "../../config/nearest.ts";
import { parseProfile, profileNames, SHIPPED_PROFILES } from "../../config/profile.ts";
import { modbusProfileSchema } from "../../config/profile-schema.ts";
import { openYaml, readSource } from "../../config/yaml-source.ts";
import type { ProfileMode } from "../../domain/booth.ts";
import type { ModbusQuirks, Profile } from "../../domain/profile.ts";
import { configPath } from "../agent-client.ts";
import { CommandError, EXIT, type Values } from "../command.ts";

/** A profile in the making: one YAML file of one's own, whose comments say where each line came from. */
export interface Draft {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** Families that no shipped profile is for: the protocol's own defaults. */
const PLAIN_FAMILIES: Readonly<Record<string, string>> = {
  modbus: "protocol: modbus\nmodbus: { unit_id: 1 }\n",
  opcua: "protocol: opcua\nopcua: { max_nodes_per_read: 100 }\n",
};
const PLAIN_GROUPS = "groups:\n  fast: { poll_interval_ms: 1000 }\n  slow: { poll_interval_ms: 10000 }\n";

/** What `new --from` takes. */
export function familyNames(): readonly string[] {
  return [...Object.keys(PLAIN_FAMILIES), ...profileNames()];
}

/** The folder of one's own profiles: the first that the configuration names, else `profiles` beside it. */
export function ownFolder(values: Values): string {
  // The agent's page keeps what is made there in the agent's own folder: it may write to no other.
  if (typeof values["folder"] === "string") return values["folder"];
  const path = configPath(values);
  const usual = join(dirname(resolve(path)), "profiles");
  if (!existsSync(path)) return usual;
  return loadConfig(path).profile_dirs.find((dir) => dir !== SHIPPED_PROFILES) ?? usual;
}

/** The draft that is meant: the one named with --profile, else the only one in one's own folder. Throws a CommandError. */
export function openDraft(values: Values): Draft {
  const folder = ownFolder(values);
  const names = existsSync(folder) ? profileNames([folder]) : [];
  const named = values["profile"];
  const name = typeof named === "string" ? named : names.length === 1 ? names[0] : undefined;
  if (name === undefined) {
    const known =
      names.length === 0 ? say("workshop.none_begun") : say("workshop.there_are", { names: names.join(", ") });
    throw new CommandError(`name the profile with --profile; in ${folder} ${known}`, EXIT.usage);
  }
  if (!names.includes(name)) {
    const hint =
      didYouMean(name, names) ??
      (names.length === 0 ? say("workshop.none_yet") : say("workshop.there_are", { names: names.join(", ") }));
    throw new CommandError(say("workshop.no_such_profile", { profile: name, folder, hint }), EXIT.usage);
  }
  const path = join(folder, `${name}.yaml`);
  return { name, path, text: readSource(path) };
}

/**
 * Replaces the file at once: after a power cut the file is the old one or the new one. Throws a CommandError, and leaves the file
 * as it is, if the text can't be parsed.
 */
export function saveDraft({ path }: Pick<Draft, "path">, text: string): void {
  const [fault] = parsed(text).errors;
  if (fault !== undefined)
    throw new CommandError(say("workshop.not_yaml", { file: path, why: oneLine(fault.message) }));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text, { mode: 0o644 });
  renameSync(`${path}.new`, path);
}

/** The profile as it stands; what is wrong with it, in the file's order. */
export function inspectDraft({ text, path }: Pick<Draft, "text" | "path">): {
  readonly profile: Profile | null;
  readonly problems: readonly Problem[];
} {
  try {
    return { profile: parseProfile(text, path), problems: [] };
  } catch (error) {
    if (error instanceof ConfigError) return { profile: null, problems: error.problems };
    throw error;
  }
}

/** What a profile in the making lacks, in words. */
export function missingIn(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ path, message }) =>
    path === "tags" && message.startsWith("a list is too small") ? say("workshop.a_tag") : message,
  );
}

/** The draft's profile. Throws the ConfigError that `check` would show. */
export function profileOfDraft(draft: Draft): Profile {
  return parseProfile(draft.text, draft.path);
}

/** The draft as a device without modes: its tags can be read before anybody knows which of them tells the mode. Throws a ConfigError. */
export function variablesOf({ text, path }: Pick<Draft, "text" | "path">): Profile {
  const document = parsed(text);
  document.set("kind", "device");
  document.delete("modes");
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

/** Which protocol the draft is for; modbus where it doesn't say. */
export function protocolOf({ text, path }: Pick<Draft, "text" | "path">): Profile["protocol"] {
  const { data } = openYaml(text, path);
  return fieldOf(data, "protocol") === "opcua" ? "opcua" : "modbus";
}

/** How the device is talked to, which is known before any tag is. Throws the ConfigError of that part of the draft. */
export function quirksOf({ text, path }: Pick<Draft, "text" | "path">): ModbusQuirks {
  const source = openYaml(text, path);
  const problems = problemsOf(modbusProfileSchema, source).filter((one) => /^(protocol|modbus)/.test(one.path));
  refuseIfAny(problems, source);
  return modbusProfileSchema.shape.modbus.parse(fieldOf(source.data, "modbus"));
}

function fieldOf(data: unknown, name: string): unknown {
  return typeof data === "object" && data !== null ? (Reflect.get(data, name) as unknown) : undefined;
}

/** Keys and values of a tag as the file has them. */
export type TagEntry = Readonly<Record<string, unknown>> & { readonly name: string };

/** Where a line came from stands behind it. */
export interface Entered<T> {
  readonly entry: T;
  readonly from: string;
}

/** The draft's text with a new beginning: the family's manners, groups and filters, and no tag and no mode yet. Throws a CommandError. */
export function newDraft(name: string, family: string, day: string): string {
  const document = familyDocument(family);
  document.commentBefore = [
    ` ${name}: made with "booth-gateway profile", begun on ${day} from ${family}.`,
    ' Behind each line stands where it came from. "booth-gateway check FILE" tells what is wrong or missing.',
  ].join("\n");
  document.set("name", name);
  document.set("version", "0.1.0");
  document.set("vendor", "");
  document.set("document", "");
  document.set("modes", document.createNode({}, { flow: true }));
  document.set("tags", document.createNode([], { flow: true }));
  commentKey(document, "modbus", ` as ${family} has it`);
  return textOf(document);
}

/** The text with another unit id; as it is where none is given. */
export function withUnit(text: string, unit: string | undefined): string {
  if (unit === undefined) return text;
  const document = parsed(text);
  document.setIn(["modbus", "unit_id"], Number(unit));
  return textOf(document);
}

function familyDocument(family: string): Document {
  const plain = PLAIN_FAMILIES[family];
  if (plain !== undefined) return parsed(`name: x\nversion: x\n${plain}${PLAIN_GROUPS}`);
  const names = profileNames();
  const name = names.find((one) => one === family) ?? names.find((one) => one.startsWith(`${family}-`));
  if (name === undefined) {
    const hint = didYouMean(family, familyNames()) ?? `there are ${familyNames().join(", ")}`;
    throw new CommandError(`there is no family "${family}" (${hint})`, EXIT.usage);
  }
  const document = parsed(readFileSync(join(SHIPPED_PROFILES, `${name}.yaml`), "utf8"));
  return document;
}

/** What --with says: KEY=VALUE with commas between, values as YAML has them. Throws a CommandError. */
export function pairsIn(text: string): Readonly<Record<string, unknown>> {
  const pairs = text
    .split(/,(?![^[{]*[\]}])/)
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [, key, value] = /^([a-z_]+)\s*=\s*(.+)$/.exec(pair) ?? [];
      if (key !== undefined && value !== undefined) return [key, parse(value) as unknown] as const;
      throw new CommandError(say("workshop.not_pair", { pair }), EXIT.usage);
    });
  return Object.fromEntries(pairs);
}

/** Keys in the order in which people read a tag. */
const KEY_ORDER = [
  "name",
  "label",
  "role",
  "mode",
  "filter",
  "bay",
  "address",
  "node",
  "path",
  "bit",
  "type",
  "length",
];

/** A tag as the file has it, without what isn't given. */
export function entryOf(keys: TagEntry): TagEntry {
  const place = (key: string): number => (KEY_ORDER.includes(key) ? KEY_ORDER.indexOf(key) : KEY_ORDER.length);
  const given = Object.entries(keys).filter(([, value]) => value !== undefined);
  return { name: keys.name, ...Object.fromEntries(given.toSorted(([a], [b]) => place(a) - place(b))) };
}

/** The text with these tags: each replaces the one of its name, or is added at the end. */
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
    const node = document.createNode(onOneLine(entry), { flow: true });
    node.comment = ` ${oneLine(from)}`;
    const index = places.get(entry.name) ?? list.items.length;
    list.items[index] = node;
    places.set(entry.name, index);
  }
  document.set("tags", list);
  return textOf(document);
}

/** The text without its tags and modes. */
export function withoutTags(text: string): string {
  const document = parsed(text);
  document.set("tags", document.createNode([]));
  document.set("modes", document.createNode({}));
  return textOf(document);
}

/** A text with a line break would end the line that its tag stands on. */
function onOneLine(entry: TagEntry): TagEntry {
  const pairs = Object.entries(entry).map(([key, value]): [string, unknown] => [
    key,
    typeof value === "string" ? oneLine(value) : value,
  ]);
  return { name: entry.name, ...Object.fromEntries(pairs) };
}

/** The draft's tags as the file has them. */
export function tagEntries(text: string): readonly TagEntry[] {
  const tags: unknown = parsed(text).get("tags");
  return isSeq(tags) ? tags.items.filter((one) => isMap(one)).map((one) => one.toJSON() as TagEntry) : [];
}

/** The codes that the draft maps so far. */
export function modesOf(text: string): Readonly<Record<string, string>> {
  const modes: unknown = parsed(text).get("modes");
  return isMap(modes) ? (modes.toJSON() as Record<string, string>) : {};
}

/** The text with these codes mapped, beside those that it has. */
export function withModes(
  text: string,
  modes: readonly Entered<{ readonly code: string; readonly mode: ProfileMode }>[],
): string {
  if (modes.length === 0) return text;
  const document = parsed(text);
  const before: unknown = document.get("modes");
  const known = isMap(before) ? before : document.createNode({});
  if (isMap(known)) {
    known.flow = false;
    for (const { entry, from } of modes) {
      const key = new Scalar(entry.code);
      key.type = "QUOTE_DOUBLE";
      const value = new Scalar(entry.mode);
      value.comment = ` ${oneLine(from)}`;
      const pair = document.createPair(key, value);
      const index = known.items.findIndex((one) => isScalar(one.key) && String(one.key.value) === entry.code);
      if (index === -1) known.items.push(pair);
      else known.items[index] = pair;
    }
  }
  document.set("modes", known);
  return textOf(document);
}

function commentKey(document: Document, key: string, comment: string): void {
  if (!isMap(document.contents)) return;
  const pair = document.contents.items.find((one) => isScalar(one.key) && one.key.value === key);
  if (pair !== undefined && isScalar(pair.key)) pair.key.commentBefore ??= comment;
}

/** Line breaks, control characters and marks of direction become blanks. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim();
}

function parsed(text: string): Document {
  return parseDocument(text, { uniqueKeys: false });
}

/** Tags stay on one line each, however long, with where they came from behind them. */
function textOf(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
