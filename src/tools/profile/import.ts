import { say } from "../../domain/sentences.ts";
import { readFileSync } from "node:fs";
import { MODES_LISTED, type ProfileMode } from "../../domain/booth.ts";
import type { ModbusQuirks, ModbusTable } from "../../domain/profile.ts";
import { MOST_TAGS } from "../../config/profile-schema.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import { CommandError, EXIT, type Call, type Run } from "../command.ts";
import {
  type Draft,
  type Entered,
  entryOf,
  openDraft,
  pairsIn,
  protocolOf,
  quirksOf,
  tagEntries,
  type TagEntry,
} from "./file.ts";
import { type Live, liveAt } from "./live.ts";
import { MOST_COLUMNS, MOST_ROWS } from "../rules/csv.ts";
import { likelyModes, meaningsOf, type Named, unitSaid } from "../rules/list-meaning.ts";
import { notationOf, placeOf, type ReadRow, registersOf, tableColumn, tableOf, wordOf } from "../rules/list-places.ts";
import { doubtfulScales, type NumberStyle, numberStyleOf, scalingOf } from "../rules/list-values.ts";
import {
  charactersIn,
  type ListRow,
  MAKERS,
  type RegisterList,
  registerList,
  typeNamed,
} from "../rules/register-list.ts";
import { freeName, tagNameOf } from "../rules/tag-names.ts";
import { counterIn, type UsualTag, usualIn, usualTags } from "./usual-tags.ts";
import { choose, optionOf, placesText, settledReading, settledWords } from "./import-asks.ts";
import { type Change, enter } from "./enter.ts";

/** A row that became a tag. */
interface ListTag extends Named {
  readonly row: ListRow;
  /** false: the name says nothing, because the profile has a tag of that name, or because the list's unit isn't known. */
  readonly isMeaningOpen: boolean;
}

interface Left {
  readonly line: number;
  readonly why: string;
}

/** Values at places of the draft's PLC, while the command asks which places are meant. */
export type LiveOf = (call: Call, draft: Draft) => Live;

/** `profile import FILE`: a register list as an engineering tool exports it. */
export function importCommand(liveOf: LiveOf): Run {
  return async (call) => {
    const file = call.operands[1];
    if (file === undefined) throw new CommandError("name the list: profile import FILE.csv", EXIT.usage);
    const draft = openDraft(call.values);
    const list = listIn(file);
    const rows = list.rows.filter(({ cells }) => cells.name !== undefined);
    if (rows.length > MOST_TAGS)
      throw new CommandError(say("workshop.too_many_names", { file, count: rows.length, most: MOST_TAGS }));
    const read = protocolOf(draft) === "modbus" ? registerTags : nodeTags;
    const { tags: found, left, told } = await read({ call, draft, list: { ...list, rows }, live: liveOf(call, draft) });
    if (found.length === 0)
      throw new CommandError(say("workshop.no_row", { file, why: leftText(left)[0] ?? say("workshop.no_names") }));
    const measured = await withUnits(call, found);
    const { tags: taken, left: same } = await withNames(call, measured, draft);
    const open = list.maker === "booth-gateway" ? [] : taken.filter(({ isMeaningOpen }) => isMeaningOpen);
    const { meanings, mode } = await meantBy(call, { taken, open, known: tagEntries(draft.text) });
    const tags = taken.map((one) => tagFrom(one, { usual: one === mode ? modeTag() : meanings.get(one), file, list }));
    const leftOut = [...left, ...same].toSorted((one, other) => one.line - other.line);
    const change = changeFrom(tags, { list, left: leftOut, mode, file });
    return enter(call, draft, {
      ...change,
      told: [...change.told, ...told],
      answer: { maker: list.maker, left: leftOut },
    });
  };
}

/** The command with the PLC that it names itself. */
export function importCommandAt(tools: PlcTools): Run {
  return importCommand(({ values, io }, draft) => liveAt({ tools, values, io }, draft));
}

/** An export of a whole program is far smaller; a box has little memory. */
const MOST_LIST_BYTES = 5_000_000;

function listIn(file: string): RegisterList {
  const list = registerList(textIn(file));
  if (list === null) {
    const heads =
      "a name (Name, Tag Name, Nickname, Variable Name ...) and an address (Address, Modbus Address, Offset ...)";
    throw new CommandError(`${file}: no line has the heads of a register list, ${heads}`, EXIT.usage);
  }
  if (!("excess" in list)) return list;
  const { line } = list;
  const text = {
    rows: say("workshop.too_many_rows", { file, most: MOST_ROWS }),
    columns: say("workshop.too_many_columns", { file, line, most: MOST_COLUMNS }),
    quote: say("workshop.open_quote", { file, line }),
  };
  throw new CommandError(text[list.excess], EXIT.usage);
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

/** UTF-16 begins with its mark, or shows itself by zeros; bytes that are no UTF-8 are Windows-1252, of which any bytes are a text. */
export function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || second === 0) return new TextDecoder("utf-16le").decode(bytes);
  if ((first === 0xfe && second === 0xff) || first === 0) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

interface Importing {
  readonly call: Call;
  readonly draft: Draft;
  readonly list: RegisterList;
  readonly live: Live;
}

interface ImportedRows {
  readonly tags: readonly ListTag[];
  readonly left: readonly Left[];
  /** Said before anybody agrees. */
  readonly told: readonly string[];
}

function nodeTags({ list }: Importing): Promise<ImportedRows> {
  const read = list.rows.map((row): ListTag | Left => {
    const known = namedRow(row);
    if ("why" in known) return known;
    const { name, type } = known;
    const { node } = row.cells;
    if (node === undefined) return { line: row.line, why: say("workshop.wants_node", { tag: name }) };
    const own = ownKeys(row, { hasComma: false, scale: "multiply" });
    if ("why" in own) return own;
    return { row, name, type, isMeaningOpen: true, keys: { ...nodeKeys(node), type, ...own.keys } };
  });
  return Promise.resolve({ ...parted(read), told: [] });
}

function nodeKeys(node: string): object {
  return node.startsWith("[") ? { path: JSON.parse(node) as unknown } : { node };
}

function parted(read: readonly (ListTag | Left)[]): Pick<ImportedRows, "tags" | "left"> {
  return { tags: read.filter((one) => "keys" in one), left: read.filter((one) => "why" in one) };
}

/** A row with its tag's name and its type, or why it has none. */
function namedRow({ cells, line }: ListRow): { readonly name: string; readonly type: string } | Left {
  const name = tagNameOf(cells.name ?? "");
  const type = typeNamed(cells);
  if (name === "") return { line, why: say("workshop.no_name", { text: cells.name ?? "" }) };
  if (type === null)
    return { line, why: say("workshop.unknown_type", { tag: name, type: cells.type ?? cells.system_id ?? "" }) };
  return { name, type };
}

/** Reads each row alone, then settles with the person what the list leaves open, then places every row. */
async function registerTags({ call, draft, list, live }: Importing): Promise<ImportedRows> {
  const quirks = quirksOf(draft);
  const style = await settledStyle(call, list);
  const { rows, left } = await readRows(call, list);
  const keysAt = (row: ReadRow, address: string): TagEntry => {
    const [table, bit] = address.split(".");
    const own = ownKeys(row.row, style);
    const scaling = "keys" in own ? { scale: own.keys["scale"], offset: own.keys["offset"] } : {};
    const keys = { ...placeKeys(table ?? "", bit), type: row.type, ...widthKeys(row.row, row.type), ...scaling };
    return entryOf({ name: "row", group: "fast", ...keys, ...ordersOf(row.row, { type: row.type, quirks, list }) });
  };
  const asking = { call, quirks, live, keysAt };
  const reading = await settledReading(rows, asking);
  const placed = rows.map((read): ListTag | Left => {
    const { row, type } = read;
    const name = tagNameOf(row.cells.name ?? "");
    const place = placeOf(read, reading);
    if ("message" in place)
      return { line: row.line, why: `${name}: ${place.message}${place.hint === undefined ? "" : ` (${place.hint})`}` };
    if (isBitTable(place.table) && type !== "bool")
      return { line: row.line, why: say("workshop.wrong_table", { tag: name, type, table: place.table }) };
    const own = ownKeys(row, style);
    if ("why" in own) return own;
    const keys = {
      ...placeKeys(`${place.table}:${place.address}`, place.bit),
      type,
      ...widthKeys(row, type),
      ...ordersOf(row, { type, quirks, list }),
      ...own.keys,
    };
    return { row, name, type, isMeaningOpen: true, keys };
  });
  const { tags, left: refused } = parted(placed);
  const told = tags.length === 0 ? [] : [await placesText(rows, reading, asking)];
  return { tags, left: [...left, ...refused], told };
}

function isBitTable(table: ModbusTable): boolean {
  return table === "coil" || table === "discrete";
}

/** Each row with its notation. Words of a table column that aren't known are asked for. */
async function readRows(
  call: Call,
  list: RegisterList,
): Promise<{ readonly rows: readonly ReadRow[]; readonly left: readonly Left[] }> {
  const known = list.rows.map((row) => ({ row, ...namedRow(row) }));
  const left = known.filter((one) => "why" in one).map(({ line, why }) => ({ line, why }));
  const typed = known.filter((one) => "type" in one);
  const column = tableColumn(list.columns);
  const none: ReadonlyMap<string, ModbusTable> = new Map();
  const unclear = new Set(
    typed.flatMap(({ row, type }) => {
      const table = tableOf(row, list, { type, words: none });
      return table === null || typeof table === "string" ? [] : [wordOf(table.unclear)];
    }),
  );
  const head = column === null ? "" : (list.heads[column] ?? column);
  const words = unclear.size === 0 ? none : await settledWords(call, { head, words: [...unclear] });
  const crossed = list.rows.some(({ cells }) => /^[134]x\d/i.test(cells.modbus ?? cells.address ?? ""));
  const rows: ReadRow[] = [];
  for (const { row, type, name } of typed) {
    const table = tableOf(row, list, { type, words });
    const why = contradiction(row, type);
    if (table !== null && typeof table === "object")
      left.push({ line: row.line, why: say("workshop.unclear_table", { tag: name, word: table.unclear }) });
    else if (why !== null) left.push({ line: row.line, why: `${name}: ${why}` });
    else rows.push({ row, type, notation: notationOf(row, list, { type, table, crossed }) });
  }
  return { rows, left };
}

/** A column that counts registers, bytes or bits of a value says something else than its type. */
function contradiction({ cells }: ListRow, type: string): string | null {
  const registers = registersOf(type);
  const size = Number(cells.length);
  if (registers === null || type === "bool" || cells.length === undefined || !/^\d+$/.test(cells.length)) return null;
  return [registers, 2 * registers, 16 * registers].includes(size)
    ? null
    : say("workshop.other_length", { type, length: cells.length });
}

/** A whole scale such as 10 is a factor in some lists and a divisor in others. */
async function settledStyle(call: Call, list: RegisterList): Promise<NumberStyle> {
  const style = numberStyleOf(list);
  const given = optionOf(call, "scale", ["multiply", "divide"]);
  if (style.scale !== null) return style;
  const [first] = doubtfulScales(list.rows, style);
  const scale = first?.cells.scale ?? "";
  const said =
    given ??
    (await choose(call, {
      options: "--scale multiply or divide",
      question: say("workshop.ask_scale", { scale, name: first?.cells.name ?? "", column: list.heads.scale ?? "" }),
      choices: [
        { value: "multiply", text: `x ${scale}` },
        { value: "divide", text: `/ ${scale}` },
      ],
    }));
  return { ...style, scale: said === "divide" ? "divide" : "multiply" };
}

function placeKeys(address: string, bit: number | string | undefined): object {
  return { address, ...(bit === undefined ? {} : { bit: Number(bit) }) };
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

/** As a column says it, else as the list's tool does; only if the profile's own order is another one. */
function ordersOf(
  { cells }: ListRow,
  { type, quirks, list }: { readonly type: string; readonly quirks: ModbusQuirks; readonly list: RegisterList },
): object {
  const maker: { readonly word_order?: string; readonly string_order?: string } = MAKERS[list.maker];
  if (type === "string") {
    const order = orderIn(cells.string_order) ?? kepwareOrder(cells.address) ?? maker.string_order;
    return order === undefined || order === quirks.string_order ? {} : { string_order: order };
  }
  const bytes = orderIn(cells.byte_order);
  const word = WIDE.test(type) ? (orderIn(cells.word_order) ?? maker.word_order) : undefined;
  return {
    ...(word === undefined ? {} : { word_order: word }),
    ...(bytes === undefined || bytes === (quirks.byte_order ?? "high_first") ? {} : { byte_order: bytes }),
  };
}

/** 400220.20H: twenty characters, the high byte first. */
function kepwareOrder(address: string | undefined): string | undefined {
  const [, order] = /^\d{5,6}\.\d{1,3}([HL])$/i.exec(address ?? "") ?? [];
  return order === undefined ? undefined : order.toUpperCase() === "L" ? "low_first" : "high_first";
}

const LOW_FIRST = /low|little|cdab|dcba|swap|lsw|true|yes/i;

function orderIn(text: string | undefined): string | undefined {
  return text === undefined ? undefined : LOW_FIRST.test(text) ? "low_first" : "high_first";
}

/** What the list's other columns say. */
function ownKeys(
  { cells, line }: ListRow,
  style: NumberStyle,
): { readonly keys: Readonly<Record<string, unknown>> } | Left {
  const scaling = scalingOf({ cells, line }, style);
  if (typeof scaling === "string")
    return { line, why: say("workshop.no_number", { tag: tagNameOf(cells.name ?? ""), text: scaling }) };
  const { scale, offset } = scaling;
  const keys = {
    label: cells.label?.slice(0, 100),
    ...(scale === 1 ? {} : { scale }),
    ...(offset === 0 ? {} : { offset }),
    unit: cells.unit,
    role: cells.role,
    filter: cells.filter,
    bay: /^\d$/.test(cells.bay ?? "") ? Number(cells.bay) : undefined,
    group: cells.group,
    ...(cells.more === undefined ? {} : pairsIn(cells.more)),
  };
  return { keys: Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)) };
}

/** Each unit as a profile writes it. Unknown ones are asked about: without a unit, or not at all. */
async function withUnits(call: Call, tags: readonly ListTag[]): Promise<readonly ListTag[]> {
  const unknown = new Set<string>();
  const measured = tags.map((tag): ListTag => {
    const { unit, ...keys } = tag.keys;
    if (typeof unit !== "string") return tag;
    const known = tag.type === "bool" || tag.type === "string" ? "none" : unitSaid(unit);
    if (known === undefined) {
      unknown.add(unit);
      return { ...tag, keys, isMeaningOpen: false };
    }
    return { ...tag, keys: known === "none" ? keys : { ...keys, unit: known.unit } };
  });
  if (unknown.size === 0 || optionOf(call, "unknown-units", ["drop"]) === "drop") return measured;
  const units = [...unknown].slice(0, MOST_SHOWN).join(", ");
  const reply = await choose(call, {
    options: "--unknown-units drop",
    question: say("workshop.ask_units", { units }),
    choices: [
      { value: "drop", text: say("workshop.drop_units") },
      { value: "stop", text: say("workshop.stop_units") },
    ],
  });
  if (reply === "drop") return measured;
  throw new CommandError(say("workshop.not_written"));
}

/** Names that are listed in a question. */
const MOST_SHOWN = 10;

/** Gives each tag a name. For names that the profile has already the person says what becomes of them. */
async function withNames(
  call: Call,
  found: readonly ListTag[],
  draft: Draft,
): Promise<Pick<ImportedRows, "tags" | "left">> {
  const known = new Set(tagEntries(draft.text).map(({ name }) => name));
  const same = [...new Set(found.map(({ name }) => name).filter((name) => known.has(name)))];
  const shown = same.slice(0, MOST_SHOWN).join(", ");
  const given = optionOf(call, "same-names", ["replace", "keep", "skip"]);
  const said =
    same.length === 0
      ? "keep"
      : (given ??
        (await choose(call, {
          options: "--same-names replace, keep or skip",
          question: say("workshop.ask_same", { count: same.length, names: shown }),
          choices: [
            { value: "replace", text: say("workshop.same_replace") },
            { value: "keep", text: say("workshop.same_keep") },
            { value: "skip", text: say("workshop.same_skip") },
          ],
        })));
  const names = new Set(known);
  const replaced = new Set<string>();
  const read = found.map((tag): ListTag | Left => {
    const isKnown = known.has(tag.name);
    if (isKnown && said === "skip") return { line: tag.row.line, why: say("workshop.same_left", { tag: tag.name }) };
    if (isKnown && said === "replace" && !replaced.has(tag.name)) {
      replaced.add(tag.name);
      return tag;
    }
    const name = freeName(tag.name, (one) => names.has(one));
    names.add(name);
    const keys = isKnown ? withoutRole(tag.keys) : tag.keys;
    return { ...tag, name, keys, isMeaningOpen: tag.isMeaningOpen && name === tag.name };
  });
  return parted(read);
}

function withoutRole(keys: ListTag["keys"]): ListTag["keys"] {
  return Object.fromEntries(Object.entries(keys).filter(([key]) => !["role", "filter", "mode"].includes(key)));
}

/** What the tags mean: the usual tag of each, and which of them tells the booth's mode. */
interface Meant<T> {
  readonly meanings: ReadonlyMap<T, UsualTag>;
  /** null: none does, or nobody says so. */
  readonly mode: T | null;
}

/**
 * Finds what tags mean by their units and names. What a name alone proposes is asked about, in one question as a rule; without
 * a reply such a tag gets no role. `open`: the tags whose names may mean something. `known`: the profile's own tags.
 */
export async function meantBy<T extends Named & { readonly row?: ListRow }>(
  call: Call,
  {
    taken,
    open,
    known,
  }: { readonly taken: readonly T[]; readonly open: readonly T[]; readonly known: readonly TagEntry[] },
): Promise<Meant<T>> {
  const { certain, proposed } = meaningsOf(open, usualTags());
  const own =
    taken.find(({ keys }) => keys["role"] === "mode") ??
    taken.find((one) => certain.get(one)?.name === "mode") ??
    onlyOne(taken.filter(({ row, type }) => type.includes("int") && row !== undefined && codesIn(row, "").length > 0));
  const hasMode = own !== undefined || known.some(({ role }) => role === "mode");
  const likely = hasMode ? [] : likelyModes(open);
  const [first, ...others] = likely;
  if (proposed.size === 0 || others.length > 0) {
    const mode = own ?? (await agreedMode(call, likely));
    return { meanings: await agreedMeanings(call, { certain, proposed, mode: undefined }), mode };
  }
  const meanings = await agreedMeanings(call, { certain, proposed, mode: first });
  const isAgreed = meanings.size > certain.size;
  return { meanings, mode: own ?? (isAgreed ? first : undefined) ?? null };
}

async function agreedMode<T extends Named>(call: Call, likely: readonly T[]): Promise<T | null> {
  for (const one of likely) {
    if (await agreedByName(call, say("workshop.does_mode", { tag: one.name }))) return one;
  }
  return null;
}

/** Adds the proposed ones to the certain ones after a yes to all. */
async function agreedMeanings<T extends Named>(
  call: Call,
  {
    certain,
    proposed,
    mode,
  }: {
    readonly certain: ReadonlyMap<T, UsualTag>;
    readonly proposed: ReadonlyMap<T, UsualTag>;
    readonly mode: T | undefined;
  },
): Promise<ReadonlyMap<T, UsualTag>> {
  if (proposed.size === 0) return certain;
  const texts = [...proposed]
    .slice(0, MOST_SHOWN)
    .map(([{ name }, usual]) => `${name}: ${usual.name}, ${String(usualIn(usual, name, undefined).meaning["unit"])}`);
  const all = [...(mode === undefined ? [] : [`${mode.name}: mode`]), ...texts];
  const said = await agreedByName(call, say("workshop.ask_by_name", { tags: all.join("; ") }));
  return said ? new Map([...certain, ...proposed]) : certain;
}

/** --by-name yes, or a yes on the terminal. Nobody there: no. */
async function agreedByName(call: Call, question: string): Promise<boolean> {
  const given = optionOf(call, "by-name", ["yes", "no"]);
  if (given !== undefined) return given === "yes";
  if (call.values["yes"] === true) return false;
  const said = await call.io.ask(`${question} [y/N] `, "agree");
  return /^y/i.test(said?.trim() ?? "");
}

function modeTag(): UsualTag | undefined {
  return usualTags().get("mode");
}

function onlyOne<T>(all: readonly T[]): T | undefined {
  return all.length === 1 ? all[0] : undefined;
}

function tagFrom(
  { row, name, keys, type }: ListTag,
  { usual, file, list }: { readonly usual: UsualTag | undefined; readonly file: string; readonly list: RegisterList },
): Entered<TagEntry> {
  const from = `${file.split("/").at(-1) ?? file}:${row.line}, ${list.maker}`;
  const isPlain = type === "bool" || type === "string";
  const unit = typeof keys["unit"] === "string" ? keys["unit"] : undefined;
  const known = usual === undefined ? undefined : usualIn(usual, name, unit);
  const isTotal = known?.counter !== undefined && !isPlain && keys["counter"] === undefined;
  const counter = isTotal ? { counter: counterIn(known.counter, type, Number(keys["scale"] ?? 1)) } : {};
  const group = { group: isPlain ? "fast" : "slow" };
  // A usual tag's label names its unit.
  const label = usual === undefined || usual.name === name ? {} : { label: row.cells.name };
  const entry = entryOf({ name, ...group, ...known?.meaning, ...label, ...counter, ...keys });
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
  const modes = mode === null ? [] : codesIn(mode.row, `${file.split("/").at(-1) ?? file}:${mode.row.line}`);
  return { tags, modes, told: [columns, ...unknown, ...doubt, ...leftText(left)] };
}

/** "0=off;3=spray" in the mode's row. */
function codesIn({ cells }: ListRow, from: string) {
  const pairs = [...(cells.values ?? "").matchAll(/(-?\d+)\s*=\s*(\w+)/g)];
  return pairs.flatMap(([, code = "", text = ""]) => {
    const mode = MODES_LISTED.find((one): one is ProfileMode => one === text && one !== "no_data");
    return mode === undefined ? [] : [{ entry: { code, mode }, from }];
  });
}

const MOST_LEFT = 20;

function leftText(left: readonly Left[]): readonly string[] {
  const more = left.length > MOST_LEFT ? [say("workshop.and_more", { count: left.length - MOST_LEFT })] : [];
  return [...left.slice(0, MOST_LEFT).map(({ line, why }) => say("workshop.left_out", { line, why })), ...more];
}
