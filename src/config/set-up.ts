import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import type { Message, MessageCode, Text } from "../domain/message.ts";
import { DEFAULT_DATA_DIR } from "../domain/plc-address.ts";
import { ConfigError } from "./config-error.ts";
import { MessageError } from "../domain/messages/message-error.ts";
import { writeDurably } from "./durable-file.ts";
import { parseWith, refuseIfAny } from "./explain.ts";
import { shapeFault, shapeText } from "./shape-faults.ts";
import { serviceUrlFault } from "./urls.ts";
import { boothId, MAX_BOOTHS } from "./gateway-schema.ts";
import { type DataPath, openYaml, pathText, readSource, valueAt, type YamlSource } from "./yaml-source.ts";

/**
 * The name of the set-up's file in the data folder. It has the settings entered on the page or the terminal. The operator's file overrides
 * it.
 */
export const SET_UP_FILE = "setup.json";
/** The folder of profiles that users made on this box. */
const MADE_PROFILES = "profiles";
/** The maximum number of characters in a draft: the answers of an unfinished set-up. */
const MAX_DRAFT = 16_384;

/** A booth as in the operator's file. The checks follow after both files are merged. */
const entrySchema = z.looseObject({ id: boothId });

/** A stored text. Its message code may come from another version of the agent, which the renderer accepts. */
const textSchema: z.ZodType<Text> = z.union([z.string(), z.lazy(() => messageSchema)]);
const messageSchema: z.ZodType<Message> = z.strictObject({
  code: z.custom<MessageCode>((code) => typeof code === "string"),
  args: z.record(z.string(), z.union([z.number(), textSchema, z.array(textSchema)])),
});

const setUpSchema = z.strictObject({
  service: z.strictObject({ url: z.string().max(2000) }).exactOptional(),
  booths: z.array(entrySchema).max(MAX_BOOTHS).default([]),
  /** The booth whose new entry is in force on trial. `before` is the entry that it replaced; null if there was none. */
  trial: z.strictObject({ booth: boothId, before: entrySchema.nullable() }).nullable().default(null),
  /** The last entry whose trial failed, and the reason. */
  taken_back: z.strictObject({ booth: boothId, reason: textSchema, at: z.number() }).nullable().default(null),
  draft: z
    .record(z.string(), z.unknown())
    .default({})
    .refine((draft) => JSON.stringify(draft).length <= MAX_DRAFT, shapeFault("config.draft_long")),
});

export type SetUp = z.output<typeof setUpSchema>;
export type BoothEntry = z.output<typeof entrySchema>;

export const NOTHING_SET_UP: SetUp = { booths: [], trial: null, taken_back: null, draft: {} };

/** Returns the content of the set-up's file, or an empty set-up if there is no file. Throws ConfigError if the file can't be used. */
export function readSetUp(data_dir: string): SetUp {
  return openSetUp(data_dir)?.values ?? NOTHING_SET_UP;
}

function openSetUp(data_dir: string): { readonly source: YamlSource; readonly values: SetUp } | null {
  const file = join(data_dir, SET_UP_FILE);
  if (!existsSync(file)) return null;
  // Reads the JSON as YAML, because the YAML reader knows the line of each value.
  const source = openYaml(readSource(file), file);
  const values = parseWith(setUpSchema, source);
  const fault = values.service === undefined ? null : serviceUrlFault(values.service.url);
  refuseIfAny(fault === null ? [] : [source.problemAt(["service", "url"], fault)], source);
  return { source, values };
}

/** Writes the file durably. Throws the error of the file system, or a MessageError if the draft is too long. */
export function writeSetUp(data_dir: string, values: SetUp): void {
  const { success, data, error } = setUpSchema.safeParse(values);
  if (!success) throw new MessageError(shapeText(error.issues[0]?.message ?? "") ?? error.message, error);
  writeDurably(join(data_dir, SET_UP_FILE), `${JSON.stringify(data, null, 2)}\n`);
}

/** Returns the set-up with a booth's entry replaced; null removes the entry. Pure. */
export function withEntry(values: SetUp, booth: string, entry: BoothEntry | null): SetUp {
  const index = values.booths.findIndex(({ id }) => id === booth);
  const booths = values.booths.toSpliced(
    index === -1 ? values.booths.length : index,
    index === -1 ? 0 : 1,
    ...(entry === null ? [] : [entry]),
  );
  return { ...values, booths };
}

/** A configuration file merged with the set-up's file. */
interface Layers {
  readonly source: YamlSource;
  /** The reason why the set-up's file isn't in use; null if the file is in use or doesn't exist. */
  readonly refused: ConfigError | null;
}

/**
 * Reads the operator's text and the set-up's file, and merges them. `values` replace the content of the set-up's file, to try them out.
 * Throws ConfigError for a fault of the operator's text.
 */
export function openLayers(text: string, path: string, values?: SetUp): Layers {
  const source = openYaml(text, path);
  const given = valueAt(source.data, ["data_dir"]);
  const data_dir = resolve(dirname(resolve(path)), typeof given === "string" ? given : DEFAULT_DATA_DIR);
  try {
    const below =
      values === undefined
        ? openSetUp(data_dir)?.source
        : openYaml(JSON.stringify(values, null, 2), join(data_dir, SET_UP_FILE));
    return { source: below === undefined ? source : merged(source, below), refused: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { source, refused: error };
  }
}

/** Returns whether the operator's own text sets the value at a path, in which a booth is named by its id. Throws ConfigError. */
export function operatorSays(text: string, file: string, path: readonly string[]): boolean {
  const { data } = openYaml(text, file);
  const [first, id, ...rest] = path;
  if (first !== "booths") return valueAt(data, path) !== undefined;
  const booth = boothsIn(data)?.find((one) => valueAt(one, ["id"]) === id);
  return valueAt(booth, rest) !== undefined;
}

/**
 * Returns the folder of profiles made on this box. In the search order, the operator's folders come before it and the shipped folder after
 * it.
 */
export function madeProfiles(data_dir: string): string {
  return join(data_dir, MADE_PROFILES);
}

/** A booth's index in the operator's file and in the set-up's file; -1 if the file doesn't have the booth. */
interface Place {
  readonly top: number;
  readonly below: number;
}

/**
 * Merges two files key by key: `top` overrides `below`. A booth's link, `modbus` or `opcua`, counts as a single key. The booths of `top`
 * keep their order; booths that only `below` has follow. Each value, and each problem with it, has the file and line that it comes from.
 * Pure.
 */
function merged(top: YamlSource, below: YamlSource): YamlSource {
  // Returns a file that isn't a mapping as it is, because the schema rejects it.
  if (!isMapping(top.data) || !isMapping(below.data)) return top;
  const { service } = below.data;
  const places = placesOf(top.data, below.data);
  const booths = places.map((place) => boothAt(place, boothsIn(top.data), boothsIn(below.data)));
  const data = {
    ...top.data,
    ...(service === undefined ? {} : { service: overridden(service, top.data["service"]) }),
    ...(places.length === 0 ? {} : { booths }),
  };
  const origin = ([first, second, ...rest]: DataPath): readonly [YamlSource, DataPath] => {
    const path = [first, second, ...rest].filter((step) => step !== undefined);
    const place = first === "booths" && typeof second === "number" ? places[second] : undefined;
    const inTop = place === undefined ? path : ["booths", place.top, ...rest];
    const inBelow = place === undefined ? path : ["booths", place.below, ...rest];
    const isBelow = valueAt(top.data, inTop) === undefined && valueAt(below.data, inBelow) !== undefined;
    return isBelow || place?.top === -1 ? [below, inBelow] : [top, inTop];
  };
  return {
    file: top.file,
    data,
    problemAt: (path, message, options) => {
      const [source, there] = origin(path);
      return { ...source.problemAt(there, message, options), path: pathText(path), file: source.file };
    },
    writtenAt: (path) => {
      const [source, there] = origin(path);
      return source.writtenAt(there);
    },
  };
}

/** Returns the indices of all booths in both files; [] if the operator's booths aren't a list, which the schema rejects. */
function placesOf(top: Mapping, below: Mapping): readonly Place[] {
  const upper = top["booths"] === undefined ? [] : boothsIn(top);
  const lower = boothsIn(below);
  if (upper === undefined || lower === undefined) return [];
  const idsOf = (booths: readonly unknown[]): readonly unknown[] =>
    booths.map((booth) => valueAt(booth, ["id"]) ?? booth);
  const lowerIds = idsOf(lower);
  const upperIds = idsOf(upper);
  const alone = lowerIds.flatMap((id, index) => (upperIds.includes(id) ? [] : [{ top: -1, below: index }]));
  return [...upperIds.map((id, index) => ({ top: index, below: lowerIds.indexOf(id) })), ...alone];
}

function boothAt({ top, below }: Place, uppers: readonly unknown[] = [], lowers: readonly unknown[] = []): unknown {
  const upper = uppers[top];
  const lower = lowers[below];
  if (!isMapping(lower)) return upper ?? lower;
  const hasLink = valueAt(upper, ["modbus"]) !== undefined || valueAt(upper, ["opcua"]) !== undefined;
  const { modbus: _, opcua: __, ...rest } = lower;
  return overridden(hasLink ? rest : lower, upper);
}

function overridden(lower: unknown, upper: unknown): unknown {
  if (upper === undefined) return lower;
  return isMapping(upper) && isMapping(lower) ? { ...lower, ...upper } : upper;
}

function boothsIn(data: unknown): readonly unknown[] | undefined {
  const booths = valueAt(data, ["booths"]);
  return Array.isArray(booths) ? booths : undefined;
}

type Mapping = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
