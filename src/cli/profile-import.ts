import { say } from "../domain/sentences.ts";
import { readFileSync } from "node:fs";
import { MODES_LISTED, type ProfileMode } from "../domain/booth.ts";
import type { ModbusQuirks } from "../domain/profile.ts";
import { MOST_TAGS } from "../config/profile-schema.ts";
import { CommandError, EXIT, type Call, type Run } from "../tools/command.ts";
import {
  type Entered,
  entryOf,
  openDraft,
  pairsIn,
  protocolOf,
  quirksOf,
  tagEntries,
  type TagEntry,
} from "../tools/profile-file.ts";
import {
  charactersIn,
  type Counting,
  type ListPlace,
  type ListRow,
  MAKERS,
  placeIn,
  type RegisterList,
  registerList,
  typeNamed,
} from "../tools/rules/register-list.ts";
import { freeName, tagNameOf, usualNameIn } from "../tools/rules/tag-names.ts";
import { counterIn, type UsualTag, usualTags } from "../tools/usual-tags.ts";
import { type Change, enter } from "./profile-enter.ts";

/** A row that became a tag. */
interface ListTag extends Named {
  readonly row: ListRow;
}

interface Left {
  readonly line: number;
  readonly why: string;
}

/** `profile import FILE`: a register list as an engineering tool exports it. */
export const importCommand: Run = async (call) => {
  const file = call.operands[1];
  if (file === undefined) throw new CommandError("name the list: profile import FILE.csv", EXIT.usage);
  const draft = openDraft(call.values);
  const list = listIn(file);
  const rows = list.rows.filter(({ cells }) => cells.name !== undefined);
  if (rows.length > MOST_TAGS)
    throw new CommandError(say("workshop.too_many_names", { file, count: rows.length, most: MOST_TAGS }));
  const protocol = protocolOf(draft);
  const taking = {
    counting: await countingOf(call, rows),
    quirks: protocol === "modbus" ? quirksOf(draft) : null,
    list,
  };
  const names = new Set(tagEntries(draft.text).map(({ name }) => name));
  const read = rows.map((row) => {
    const taken = listTagOf(row, taking);
    if ("why" in taken) return taken;
    const name = freeName(taken.name, (one) => names.has(one));
    names.add(name);
    return { ...taken, name };
  });
  const taken = read.filter((one) => "keys" in one);
  const left = read.filter((one) => "why" in one);
  if (taken.length === 0)
    throw new CommandError(say("workshop.no_row", { file, why: leftText(left)[0] ?? say("workshop.no_names") }));
  const meanings = meaningsOf(taken);
  const mode = await modeOf(call, taken, meanings);
  const tags = taken.map((one) => tagFrom(one, { usual: one === mode ? modeTag() : meanings.get(one), file, list }));
  return enter(call, draft, { ...changeFrom(tags, { list, left, mode, file }), answer: { maker: list.maker, left } });
};

/** An export of a whole program is far smaller; a box has little memory. */
const MOST_LIST_BYTES = 5_000_000;
const MOST_ROWS = 20_000;

function listIn(file: string): RegisterList {
  const list = registerList(textIn(file));
  if (list !== null && list.rows.length > MOST_ROWS)
    throw new CommandError(
      say("workshop.too_many_rows", { file, count: list.rows.length, most: MOST_ROWS }),
      EXIT.usage,
    );
  if (list !== null) return list;
  const heads =
    "a name (Name, Tag Name, Nickname, Variable Name ...) and an address (Address, Modbus Address, Offset ...)";
  throw new CommandError(`${file}: no line has the heads of a register list, ${heads}`, EXIT.usage);
}

function textIn(file: string): string {
  const bytes = bytesIn(file);
  if (bytes.length <= MOST_LIST_BYTES) return decoded(bytes);
  throw new CommandError(say("workshop.too_big", { file, size: MOST_LIST_BYTES / 1e6 }), EXIT.usage);
}

function bytesIn(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new CommandError(`${file} can't be read: ${(cause as Error).message}`, EXIT.usage, cause);
  }
}

/** Some tools export UTF-16, which begins with its mark; what isn't UTF-8 is Latin-1, of which any bytes are a text. */
export function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** Plain numbers without a table are counted from 0 where there is a 0; else somebody has to say. */
async function countingOf({ io, values }: Call, rows: readonly ListRow[]): Promise<Counting> {
  const places = rows.map((row) => ({ row, place: placeIn(row, typeNamed(row.cells) ?? "", { first: 1 }) }));
  const counted = places.filter((one) => "table" in one.place && one.place.doubt === "counting");
  const [first] = counted;
  if (first === undefined) return { first: 1 };
  if (counted.some(({ row }) => row.cells.address === "0" || row.cells.modbus === "0")) return { first: 0 };
  const address = first.row.cells.modbus ?? first.row.cells.address ?? "";
  const said =
    values["yes"] === true
      ? ""
      : await io.ask(`${say("workshop.counts_from_one", { address, place: Number(address) - 1 })} [Y/n] `);
  return { first: /^n/i.test(said?.trim() ?? "") ? 0 : 1 };
}

interface Taking {
  readonly counting: Counting;
  /** null: the profile is for OPC UA. */
  readonly quirks: ModbusQuirks | null;
  readonly list: RegisterList;
}

function listTagOf(row: ListRow, { counting, quirks, list }: Taking): ListTag | Left {
  const { cells, line } = row;
  const name = tagNameOf(cells.name ?? "");
  const type = typeNamed(cells);
  if (name === "") return { line, why: say("workshop.no_name", { text: cells.name ?? "" }) };
  if (type === null)
    return { line, why: say("workshop.unknown_type", { tag: name, type: cells.type ?? cells.system_id ?? "" }) };
  if (quirks === null) {
    if (cells.node === undefined) return { line, why: say("workshop.wants_node", { tag: name }) };
    return { row, name, type, keys: { ...nodeKeys(cells.node), type, ...ownKeys(row) } };
  }
  const place = placeIn(row, type, counting);
  if ("message" in place)
    return { line, why: `${name}: ${place.message}${place.hint === undefined ? "" : ` (${place.hint})`}` };
  const isBit = place.table === "coil" || place.table === "discrete";
  if (isBit && type !== "bool")
    return { line, why: say("workshop.wrong_table", { tag: name, type, table: place.table }) };
  return {
    row,
    name,
    type,
    keys: {
      ...placeKeys(row, place),
      type,
      ...widthKeys(row, type),
      ...ordersOf(row, { type, quirks, list }),
      ...ownKeys(row),
    },
  };
}

function nodeKeys(node: string): object {
  return node.startsWith("[") ? { path: JSON.parse(node) as unknown } : { node };
}

function placeKeys({ cells }: ListRow, { table, address, bit }: ListPlace): object {
  const own = cells.bit === undefined ? bit : Number(cells.bit);
  return {
    address: `${table}:${address}`,
    ...(own === undefined || table === "coil" || table === "discrete" ? {} : { bit: own }),
  };
}

const DEFAULT_CHARACTERS = 16;

function widthKeys({ cells }: ListRow, type: string): object {
  if (type !== "string") return {};
  return {
    length:
      cells.length === undefined ? Math.ceil((charactersIn(cells) ?? DEFAULT_CHARACTERS) / 2) : Number(cells.length),
  };
}

const WIDE = /32|64/;

/** As the list says it in a column, else as whoever's list it is does; only where the profile's own order is another one. */
function ordersOf(
  { cells }: ListRow,
  { type, quirks, list }: { readonly type: string; readonly quirks: ModbusQuirks; readonly list: RegisterList },
): object {
  const maker: { readonly word_order?: string; readonly string_order?: string } = MAKERS[list.maker];
  if (type === "string") {
    const order = orderIn(cells.string_order) ?? maker.string_order;
    return order === undefined || order === quirks.string_order ? {} : { string_order: order };
  }
  const bytes = orderIn(cells.byte_order);
  const word = WIDE.test(type) ? (orderIn(cells.word_order) ?? maker.word_order) : undefined;
  return {
    ...(word === undefined ? {} : { word_order: word }),
    ...(bytes === undefined || bytes === (quirks.byte_order ?? "high_first") ? {} : { byte_order: bytes }),
  };
}

const LOW_FIRST = /low|little|cdab|dcba|swap|lsw|true|yes/i;

function orderIn(text: string | undefined): string | undefined {
  return text === undefined ? undefined : LOW_FIRST.test(text) ? "low_first" : "high_first";
}

/** What the list's other columns say. */
function ownKeys({ cells }: ListRow): Readonly<Record<string, unknown>> {
  const number = (text: string | undefined): number | undefined =>
    text === undefined || Number.isNaN(Number(text)) ? undefined : Number(text);
  const more = cells.more === undefined ? {} : pairsIn(cells.more);
  const scale = number(cells.scale);
  const keys = {
    label: cells.label?.slice(0, 100),
    ...(scale === 1 ? {} : { scale }),
    offset: number(cells.offset),
    unit: cells.unit?.slice(0, 20),
    role: cells.role,
    filter: cells.filter,
    bay: number(cells.bay),
    group: cells.group,
    ...more,
  };
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined));
}

/** What is known of a tag before anybody knows what it means. */
interface Named {
  readonly name: string;
  readonly type: string;
  readonly keys: Readonly<Record<string, unknown>>;
}

/** The usual tag that each probably is: the one of that very name, else the first that sounds like it. Each is given once. */
export function meaningsOf<T extends Named>(taken: readonly T[]): ReadonlyMap<T, UsualTag> {
  const usual = usualTags();
  const given = new Set<string>();
  const meanings = new Map<T, UsualTag>();
  for (const nameOf of [(name: string) => name, (name: string) => usualNameIn(name) ?? ""]) {
    for (const one of taken) {
      const found = usual.get(nameOf(one.name));
      if (found === undefined || given.has(found.name) || meanings.has(one) || !isSameSort(found.type, one.type))
        continue;
      // What tells the mode is asked for by itself.
      if (found.name === "mode" && one.name !== "mode") continue;
      given.add(found.name);
      meanings.set(one, found);
    }
  }
  return meanings;
}

function isSameSort(a: string, b: string): boolean {
  const sort = (type: string): string => (type === "bool" || type === "string" ? type : "number");
  return sort(a) === sort(b);
}

function modeTag(): UsualTag | undefined {
  return usualTags().get("mode");
}

/** What tells the booth's mode; null: none does, or nobody says so. */
export async function modeOf<T extends Named>(
  { io, values }: Call,
  taken: readonly T[],
  meanings: ReadonlyMap<T, UsualTag>,
): Promise<T | null> {
  const own =
    taken.find(({ keys }) => keys["role"] === "mode") ?? taken.find((one) => meanings.get(one)?.name === "mode");
  if (own !== undefined) return own;
  const likely = taken.filter(({ name, type }) => usualNameIn(name) === "mode" && type.includes("int"));
  for (const one of likely) {
    const said =
      values["yes"] === true && likely.length === 1
        ? "y"
        : await io.ask(`${say("workshop.does_mode", { tag: one.name })} [y/N] `, "agree");
    if (/^y/i.test(said?.trim() ?? "")) return one;
  }
  return null;
}

function tagFrom(
  { row, name, keys, type }: ListTag,
  { usual, file, list }: { readonly usual: UsualTag | undefined; readonly file: string; readonly list: RegisterList },
): Entered<TagEntry> {
  const from = `${file.split("/").at(-1) ?? file}:${row.line}, ${list.maker}`;
  const isPlain = type === "bool" || type === "string";
  const { min, max, deadband, unit, ...meaning } = usual?.meaning ?? {};
  // Limits in another unit than the list's would be wrong ones.
  const isOtherUnit = keys["unit"] !== undefined && keys["unit"] !== unit;
  const limits = isPlain || isOtherUnit ? {} : { min, max, deadband, unit };
  const isTotal = usual?.counter !== undefined && !isPlain && keys["counter"] === undefined && !isOtherUnit;
  const counter = isTotal ? { counter: counterIn(usual.counter, type, Number(keys["scale"] ?? 1)) } : {};
  const group = { group: isPlain ? "fast" : "slow" };
  const entry = entryOf({ name, ...group, ...meaning, ...limits, ...counter, ...keys });
  const as = usual === undefined || usual.name === name ? "" : `; taken for ${usual.name}`;
  return { entry, from: `${from}${as}` };
}

function changeFrom(
  tags: readonly Entered<TagEntry>[],
  {
    list,
    left,
    mode,
    file,
  }: {
    readonly list: RegisterList;
    readonly left: readonly Left[];
    readonly mode: ListTag | null;
    readonly file: string;
  },
): Change {
  const columns = say("workshop.list", { file, maker: list.maker, columns: list.columns.join(", ") });
  const unknown = list.unknown.length === 0 ? [] : [say("workshop.not_used", { names: list.unknown.join(", ") })];
  const order = MAKERS[list.maker];
  const doubt = "word_order" in order || list.columns.includes("word_order") ? [] : [say("workshop.word_doubt")];
  const modes = mode === null ? [] : codesIn(mode, `${file.split("/").at(-1) ?? file}:${mode.row.line}`);
  return { tags, modes, told: [columns, ...unknown, ...doubt, ...leftText(left)] };
}

/** "0=off;3=spray" in the mode's row. */
function codesIn({ row }: ListTag, from: string) {
  const pairs = (row.cells.values ?? "").split(/[;|,]/).map((pair) => pair.split("=").map((part) => part.trim()));
  return pairs.flatMap(([code = "", text = ""]) => {
    const mode = MODES_LISTED.find((one): one is ProfileMode => one === text && one !== "no_data");
    return mode === undefined ? [] : [{ entry: { code, mode }, from }];
  });
}

const MOST_LEFT = 20;

function leftText(left: readonly Left[]): readonly string[] {
  const more = left.length > MOST_LEFT ? [say("workshop.and_more", { count: left.length - MOST_LEFT })] : [];
  return [...left.slice(0, MOST_LEFT).map(({ line, why }) => say("workshop.left_out", { line, why })), ...more];
}
