import { say } from "../domain/sentences.ts";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { DEFAULT_DATA_DIR } from "../domain/plc-address.ts";
import { ConfigError } from "./config-error.ts";
import { parseWith, refuseIfAny } from "./explain.ts";
import { serviceUrlFault } from "./urls.ts";
import { boothId, MAX_BOOTHS } from "./gateway-schema.ts";
import { type DataPath, openYaml, pathText, readSource, type YamlSource } from "./yaml-source.ts";

/**
 * What was set up on the spot, by page or terminal: a file of its own in the data folder, which lies below the operator's. What
 * that one says counts, key by key; the link of a booth, `modbus` or `opcua`, is one key.
 */

export const SET_UP_FILE = "setup.json";
/** Profiles made on the spot. */
const MADE_PROFILES = "profiles";
/** A person's answers of one set-up, not yet in force. */
const MAX_DRAFT = 16_384;

/** As the operator's file has it; the checks of that one look at it once both are one. */
const entrySchema = z.looseObject({ id: boothId });

const setUpSchema = z.strictObject({
  service: z.strictObject({ url: z.string().max(2000) }).exactOptional(),
  booths: z.array(entrySchema).max(MAX_BOOTHS).default([]),
  /** An entry is in force on trial; `before`: what it replaced, null: nothing. */
  trial: z.strictObject({ booth: boothId, before: entrySchema.nullable() }).nullable().default(null),
  /** The last entry that didn't prove itself, and why. */
  taken_back: z.strictObject({ booth: boothId, reason: z.string(), at: z.number() }).nullable().default(null),
  draft: z
    .record(z.string(), z.unknown())
    .default({})
    .refine((draft) => JSON.stringify(draft).length <= MAX_DRAFT, say("config.draft_long")),
});

export type SetUp = z.output<typeof setUpSchema>;
export type BoothEntry = z.output<typeof entrySchema>;

export const NOTHING_SET_UP: SetUp = { booths: [], trial: null, taken_back: null, draft: {} };

/** The file's content. Throws ConfigError where it can't be used; none there is nothing set up. */
export function readSetUp(data_dir: string): SetUp {
  return openSetUp(data_dir)?.values ?? NOTHING_SET_UP;
}

function openSetUp(data_dir: string): { readonly source: YamlSource; readonly values: SetUp } | null {
  const file = join(data_dir, SET_UP_FILE);
  if (!existsSync(file)) return null;
  // JSON is YAML, and that reader knows where each piece stands.
  const source = openYaml(readSource(file), file);
  const values = parseWith(setUpSchema, source);
  const fault = values.service === undefined ? null : serviceUrlFault(values.service.url);
  refuseIfAny(fault === null ? [] : [source.problemAt(["service", "url"], fault)], source);
  return { source, values };
}

/** Whole or not at all, durable when it returns. Rejects nothing: throws where the disk takes it not. */
export function writeSetUp(data_dir: string, values: SetUp): void {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 });
  const path = join(data_dir, SET_UP_FILE);
  const fresh = `${path}.new`;
  const file = openSync(fresh, "w", 0o600);
  try {
    writeSync(file, `${JSON.stringify(setUpSchema.parse(values), null, 2)}\n`);
    fsyncSync(file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
  const folder = openSync(data_dir, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Pure. The booth's entry is this one from now on; null: it has none any more. */
export function withEntry(values: SetUp, booth: string, entry: BoothEntry | null): SetUp {
  const index = values.booths.findIndex(({ id }) => id === booth);
  const booths = values.booths.toSpliced(
    index === -1 ? values.booths.length : index,
    index === -1 ? 0 : 1,
    ...(entry === null ? [] : [entry]),
  );
  return { ...values, booths };
}

/** A configuration file with what was set up on the spot below it. */
export interface Layers {
  readonly source: YamlSource;
  /** Why the set-up's own file isn't in use; null: it is, or there is none. */
  readonly refused: ConfigError | null;
}

/** `values`: instead of what the file holds, to see what would become of them. Throws ConfigError for the operator's text. */
export function openLayers(text: string, path: string, values?: SetUp): Layers {
  const source = openYaml(text, path);
  const data_dir = dataDirIn(source);
  try {
    const below = values === undefined ? (openSetUp(data_dir)?.source ?? null) : asSource(values, data_dir);
    return { source: below === null ? source : laidOver(source, below), refused: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { source, refused: error };
  }
}

function asSource(values: SetUp, data_dir: string): YamlSource {
  return openYaml(JSON.stringify(values, null, 2), join(data_dir, SET_UP_FILE));
}

function dataDirIn({ data, file }: YamlSource): string {
  const given = record(data)?.["data_dir"];
  return resolve(dirname(resolve(file)), typeof given === "string" ? given : DEFAULT_DATA_DIR);
}

/** Whether the operator's own text says something there; booths by their id. Throws ConfigError. */
export function operatorSays(text: string, file: string, [first, second, ...rest]: readonly string[]): boolean {
  const { data } = openYaml(text, file);
  const path: DataPath = [first, second].filter((step) => step !== undefined);
  if (first !== "booths") return has(data, [...path, ...rest]);
  const booths = record(data)?.["booths"];
  const own = Array.isArray(booths) ? (booths as unknown[]).find((booth) => record(booth)?.["id"] === second) : null;
  return has(own, rest);
}

/** Folders of profiles, the operator's first and the shipped ones after these. */
export function madeProfiles(data_dir: string): string {
  return join(data_dir, MADE_PROFILES);
}

/** Where a booth of both stands in each; null: in that one not at all. */
interface Place {
  readonly top: number | null;
  readonly below: number | null;
}

/** Pure. Each value, and each problem with it, has the file and line that it comes from. */
export function laidOver(top: YamlSource, below: YamlSource): YamlSource {
  const own = record(top.data);
  const under = record(below.data);
  // What isn't a mapping is refused as it stands.
  if (own === null || under === null) return top;
  const places = placesOf(own["booths"], under["booths"]);
  const data = {
    ...own,
    ...(under["service"] === undefined ? {} : { service: both(own["service"], under["service"]) }),
    ...(places === null ? {} : { booths: places.map((place) => boothAt(place, own["booths"], under["booths"])) }),
  };
  const origin = (path: DataPath): readonly [YamlSource, DataPath] => {
    const inBelow = pathIn(path, places, "below");
    if (inBelow === null) return [top, path];
    const inTop = pathIn(path, places, "top");
    if (inTop === null) return [below, inBelow];
    return has(top.data, inTop) || !has(below.data, inBelow) ? [top, inTop] : [below, inBelow];
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

/** The operator's booths in their order, then those that were set up on the spot alone; null: theirs aren't a list. */
function placesOf(own: unknown, under: unknown): readonly Place[] | null {
  if ((own !== undefined && !Array.isArray(own)) || !Array.isArray(under)) return null;
  const [top, below] = [own ?? [], under].map((booths: unknown[]) => booths.map((booth) => record(booth)?.["id"]));
  const indexOf = (ids: readonly unknown[] = [], id: unknown): number | null => {
    const index = ids.indexOf(id);
    return index === -1 || id === undefined ? null : index;
  };
  return [
    ...(top ?? []).map((id, index) => ({ top: index, below: indexOf(below, id) })),
    ...(below ?? []).flatMap((id, index) => (indexOf(top, id) === null ? [{ top: null, below: index }] : [])),
  ];
}

function boothAt({ top, below }: Place, own: unknown, under: unknown): unknown {
  const upper = itemOf(own, top);
  const lower = itemOf(under, below);
  if (upper === undefined || lower === undefined) return upper ?? lower;
  const { modbus, opcua, ...rest } = record(lower) ?? {};
  const named = record(upper) ?? {};
  const hasLink = named["modbus"] !== undefined || named["opcua"] !== undefined;
  const link = Object.entries({ modbus, opcua }).filter(([, value]) => value !== undefined);
  return both(upper, { ...rest, ...(hasLink ? {} : Object.fromEntries(link)) });
}

function both(upper: unknown, lower: unknown): unknown {
  if (upper === undefined) return lower;
  const named = record(upper);
  return named === null ? upper : { ...record(lower), ...named };
}

/** The same place in one of the files; null: it isn't there for it. */
function pathIn(path: DataPath, places: readonly Place[] | null, file: keyof Place): DataPath | null {
  const [first, second, ...rest] = path;
  if (first !== "booths" || typeof second !== "number") return file === "top" || first === "service" ? path : null;
  const place = places?.[second];
  if (place === undefined) return file === "top" ? path : null;
  const index = place[file];
  return index === null ? null : [first, index, ...rest];
}

function has(data: unknown, path: DataPath): boolean {
  return path.reduce<unknown>((at, step) => (isThing(at) ? Reflect.get(at, step) : undefined), data) !== undefined;
}

function itemOf(list: unknown, index: number | null): unknown {
  return index === null || !Array.isArray(list) ? undefined : (list as unknown[])[index];
}

function isThing(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return isThing(value) && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : null;
}
