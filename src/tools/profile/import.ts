import { message, type Message, type Text } from "../../domain/message.ts";
import type { ProfileMode } from "../../domain/booth.ts";
import { isBitTable, type ModbusQuirks, type ModbusTable } from "../../domain/profile.ts";
import { MOST_TAGS } from "../../config/profile-schema.ts";
import { CommandError, EXIT, type Call, type Run } from "../command.ts";
import { chosenLines, listFrom, nameOf } from "../import/list.ts";
import { type Named, unitSaid } from "../rules/list-meaning.ts";
import {
  isCrossed,
  type ListPlace,
  notationOf,
  placeOf,
  type ReadRow,
  registersOf,
  tableColumn,
  tableOf,
  type TableWords,
  wordOf,
} from "../rules/list-places.ts";
import { doubtfulScales, type NumberStyle, numberStyleOf, scalingOf } from "../rules/list-values.ts";
import {
  charactersIn,
  type ListRow,
  MAKERS,
  type Orders,
  type RegisterList,
  typeNamed,
} from "../rules/register-list.ts";
import { freeName, tagNameOf } from "../rules/tag-names.ts";
import { enter } from "./enter.ts";
import {
  type Draft,
  entryOf,
  type Keys,
  modeNamed,
  openDraft,
  pairsIn,
  protocolOf,
  quirksOf,
  tagEntries,
  type TagEntry,
} from "./file.ts";
import {
  checkOptions,
  choose,
  faultText,
  type Live,
  meantBy,
  placesText,
  settledReading,
  settledWords,
  TYPES_ASKED,
} from "./import-asks.ts";
import { meantEntry, meaningText, usualTags } from "./usual-tags.ts";

/** A row of the list as a tag. */
interface ListTag extends Named {
  readonly row: ListRow;
  /** False if the name must not decide the tag's meaning: the profile has a tag of that name, or the list's unit is not known. */
  readonly canMeanByName: boolean;
}

/** A row that becomes no tag, and the reason. */
interface SkippedRow {
  readonly line: number;
  readonly why: Text;
}

interface ImportedRows {
  readonly tags: readonly ListTag[];
  readonly skipped: readonly SkippedRow[];
}

interface Importing {
  readonly call: Call;
  readonly draft: Draft;
  /** The list, with only the rows that are imported. */
  readonly list: RegisterList;
  /** All rows of the list that have a name. Any row may prove how the list counts. */
  readonly all: readonly ListRow[];
  readonly live: Live;
}

/**
 * Returns a function that reads values from the PLC of a draft (an unfinished profile). With it, a question can show the values that each
 * answer would read.
 */
export type LiveOf = (call: Call, draft: Draft) => Live;

/**
 * Makes the command `profile import FILE`: adds the rows of a register list, as an engineering tool exports it, to a profile.
 *
 * Never guesses an address or a unit. Asks about everything that the list leaves undecided, unless an option answers: where numbers begin,
 * which table or block, a whole scale, an unknown unit, a name that the profile already has. Without an answer the import ends with an
 * error and writes nothing. Skips a row that can't be read, and shows its line and the reason. Gives a role only if name and unit agree, or
 * if the user agrees.
 */
export function importCommand(liveOf: LiveOf): Run {
  return async (call) => {
    const file = call.operands[1];
    if (file === undefined) throw new CommandError(message("workshop.which_list"), EXIT.usage);
    checkOptions(call);
    const draft = openDraft(call.values);
    const protocol = protocolOf(draft);
    const live = liveOf(call, draft);
    const read = await listFrom(call, file, live);
    mustHaveColumns(read, { file: nameOf(file), protocol });
    const isChosen = chosenLines(call);
    const all = read.rows.filter(({ cells }) => cells.name !== undefined);
    const list = await withTypes(call, { ...read, rows: all.filter(({ line }) => isChosen(line)) });
    if (list.rows.length > MOST_TAGS)
      throw new CommandError(message("workshop.too_many_names", { file, count: list.rows.length, most: MOST_TAGS }));
    const importing = { call, draft, list, all, live };
    const found = protocol === "modbus" ? await registerTags(importing) : { ...nodeTags(list), places: [] };
    if (found.tags.length === 0)
      throw new CommandError(
        message("workshop.no_row", { file, why: skippedText(found.skipped)[0] ?? message("workshop.no_names") }),
      );
    const { tags, skipped: same } = await withNames(call, await withUnits(call, found.tags), draft);
    const open = list.maker === "booth-gateway" ? [] : tags.filter(({ canMeanByName }) => canMeanByName);
    const byCodes = tags.filter(({ row, type }) => type.includes("int") && codesIn(row).length > 0);
    const { meanings, mode } = await meantBy(call, { tags, open, byCodes, known: tagEntries(draft.text) });
    const sourceOf = ({ line }: ListRow): string => `${file.split("/").at(-1) ?? file}:${line}`;
    const left = [...found.skipped, ...same].toSorted((one, other) => one.line - other.line);
    return enter(call, draft, {
      tags: tags.map((one) => {
        const { name, type, row, keys } = one;
        const usual = one === mode ? usualTags().get("mode") : meanings.get(one);
        // Keeps the list's name as label if the usual tag (the tag of a shipped profile) has another name: that tag's label could name
        // another unit.
        const label = usual === undefined || usual.name === name ? {} : { label: row.cells.name };
        const from = `${sourceOf(row)}, ${list.maker}${meaningText(usual, name)}`;
        return { entry: meantEntry(usual, { name, type, ...label, ...keys }), from };
      }),
      modes: mode === null ? [] : codesIn(mode.row).map((entry) => ({ entry, from: sourceOf(mode.row) })),
      told: [...listTexts(file, list), ...skippedText(left), ...found.places],
      answer: { maker: list.maker, left },
    });
  };
}

/** Describes how the list was understood, before anything is written. */
function listTexts(file: string, { maker, columns, unknown }: RegisterList): readonly Message[] {
  const isOrderKnown = "word_order" in MAKERS[maker] || columns.includes("word_order");
  return [
    message("workshop.list", { file, maker, columns: columns.join(", ") }),
    ...(unknown.length === 0 ? [] : [message("workshop.not_used", { names: unknown.join(", ") })]),
    ...(isOrderKnown ? [] : [message("workshop.word_doubt")]),
  ];
}

const MOST_SKIPPED_SHOWN = 20;

function skippedText(skipped: readonly SkippedRow[]): readonly Message[] {
  const texts = skipped
    .slice(0, MOST_SKIPPED_SHOWN)
    .map(({ line, why }) => message("workshop.left_out", { line, why }));
  const more = skipped.length - texts.length;
  return more === 0 ? texts : [...texts, message("workshop.and_more", { count: more })];
}

/** The columns of which a list needs one, by the protocol of the profile. */
const ADDRESSES = { modbus: ["address", "address_hex", "modbus"], opcua: ["node"] } as const;

/** Throws a CommandError if the list has no names, or no addresses of the profile's protocol. Names the list's columns. */
function mustHaveColumns(
  { columns, all }: RegisterList,
  { file, protocol }: { readonly file: string; readonly protocol: keyof typeof ADDRESSES },
): void {
  const has = (of: keyof typeof ADDRESSES): boolean => ADDRESSES[of].some((one) => columns.includes(one));
  if (columns.includes("name") && has(protocol)) return;
  if (has(protocol === "modbus" ? "opcua" : "modbus"))
    throw new CommandError(
      message(`import.only_${protocol === "modbus" ? "nodes" : "registers"}`, { file }),
      EXIT.usage,
    );
  const heads = all
    .slice(0, MOST_SHOWN)
    .map(({ letter, head }) => (head === letter ? letter : `${letter} ${head}`))
    .join(", ");
  throw new CommandError(message("import.which_columns", { file, heads }), EXIT.usage);
}

/** Asks for the type of all rows if the list has no column of types. */
async function withTypes(call: Call, list: RegisterList): Promise<RegisterList> {
  if (list.columns.some((column) => column === "type" || column === "system_id")) return list;
  const type = await choose(call, {
    option: "type",
    question: message("import.ask_type"),
    choices: TYPES_ASKED.map((value) => ({ value, text: "" })),
  });
  return { ...list, rows: list.rows.map(({ line, cells }) => ({ line, cells: { type, ...cells } })) };
}

function parted(read: readonly (ListTag | SkippedRow)[]): ImportedRows {
  return { tags: read.filter((one) => "keys" in one), skipped: read.filter((one) => "why" in one) };
}

/** Returns the tags of an OPC UA profile: each row names its node. */
function nodeTags(list: RegisterList): ImportedRows {
  const read = list.rows.map((row): ListTag | SkippedRow => {
    const known = namedRow(row, nodeType);
    if ("why" in known) return known;
    const { node } = row.cells;
    if (node === undefined) return { line: row.line, why: message("workshop.wants_node", { tag: known.name }) };
    const own = cellKeys(row, { hasComma: false, scale: "multiply" });
    if ("why" in own) return own;
    const at = node.startsWith("[") ? { path: JSON.parse(node) as unknown } : { node };
    return { row, ...known, canMeanByName: true, keys: { ...at, ...own.keys } };
  });
  return parted(read);
}

/** Returns the type of a node; null for an unknown type. Nodes may also have 8 bits, which registers do not have. */
export function nodeType(cells: ListRow["cells"]): string | null {
  const [, unsigned, signed] = /^(byte|usint|uint8)$|^(sint|sbyte|int8)$/i.exec(cells.type ?? "") ?? [];
  return unsigned !== undefined ? "uint8" : signed !== undefined ? "int8" : typeNamed(cells);
}

/** Returns the name and type of a row's tag. */
function namedRow(
  { cells, line }: ListRow,
  typeOf = typeNamed,
): { readonly name: string; readonly type: string } | SkippedRow {
  const name = tagNameOf(cells.name ?? "");
  const type = typeOf(cells);
  if (name === "") return { line, why: message("workshop.no_name", { text: cells.name ?? "" }) };
  if (type === null)
    return { line, why: message("workshop.unknown_type", { tag: name, type: cells.type ?? cells.system_id ?? "" }) };
  return { name, type };
}

/**
 * Returns the tags of a Modbus profile. Reads each row by itself, asks what the list leaves undecided, then finds the address of each row.
 */
async function registerTags({ call, draft, list, all, live }: Importing) {
  const quirks = quirksOf(draft);
  const style = await settledStyle(call, { ...list, rows: all }, list.rows);
  const words = await settledWords(call, unclearWords(list));
  const isCrossedList = isCrossed({ rows: all });
  const { rows, skipped } = readRows(list, { words, isCrossedList });
  const keysAt = pointKeysOf(list, quirks);
  const entryAt = entryMaker(list, { quirks, style });
  const asking = {
    call,
    all: readRows({ ...list, rows: all }, { words, isCrossedList }).rows,
    tables: quirks.tables,
    live,
    entryAt,
  };
  const reading = await settledReading(rows, asking);
  const placed = rows.map((read): ListTag | SkippedRow => {
    const { row, type } = read;
    const { line } = row;
    const name = tagNameOf(row.cells.name ?? "");
    const place = placeOf(read, reading);
    if ("message" in place) return { line, why: message("text.at", { place: name, text: faultText(place) }) };
    if (isBitTable(place.table) && type !== "bool")
      return { line, why: message("workshop.wrong_table", { tag: name, type, table: place.table }) };
    const own = cellKeys(row, style);
    if ("why" in own) return own;
    return { row, name, type, canMeanByName: true, keys: { ...keysAt(read, place), ...own.keys } };
  });
  const found = parted(placed);
  const places = found.tags.length === 0 ? [] : [await placesText(rows, reading, asking)];
  return { tags: found.tags, skipped: [...skipped, ...found.skipped], places };
}

/** Returns a function that makes the keys of a tag from its place (table and address). */
function pointKeysOf({ maker }: RegisterList, quirks: ModbusQuirks) {
  return ({ row, type }: ReadRow, { table, address, bit }: ListPlace): Keys => ({
    address: `${table}:${address}`,
    bit,
    length: type === "string" ? lengthIn(row) : undefined,
    ...ordersOf(row, type, { ...MAKERS[maker], quirks }),
  });
}

/** Returns a function that makes a tag which reads a row's value at a place. */
export function entryMaker(
  list: RegisterList,
  { quirks, style }: { readonly quirks: ModbusQuirks; readonly style: NumberStyle },
): (read: ReadRow, place: ListPlace) => TagEntry {
  const keysAt = pointKeysOf(list, quirks);
  return (read, place) => {
    const scaling = scalingOf(read.row, style);
    const known = typeof scaling === "string" ? {} : scaling;
    return entryOf({ name: "row", group: "fast", type: read.type, ...keysAt(read, place), ...known });
  };
}

/** Reads each row's address as far as the row alone decides it. */
export function readRows(
  list: RegisterList,
  { words, isCrossedList }: { readonly words: TableWords; readonly isCrossedList: boolean },
) {
  const rows: ReadRow[] = [];
  const skipped: SkippedRow[] = [];
  for (const row of list.rows) {
    const { line } = row;
    const known = namedRow(row);
    if ("why" in known) {
      skipped.push(known);
      continue;
    }
    const { name, type } = known;
    const table = tableOf(row, list, { type, words });
    const why = contradiction(row, type);
    if (table !== null && typeof table === "object")
      skipped.push({ line, why: message("workshop.unclear_table", { tag: name, word: table.unclear }) });
    else if (why !== null) skipped.push({ line, why: message("text.at", { place: name, text: why }) });
    else rows.push({ row, type, notation: notationOf(row, list, { type, table, crossed: isCrossedList }) });
  }
  return { rows, skipped };
}

/** Returns the words of the table column that name no known table, with the column's head. */
function unclearWords(list: RegisterList): { readonly head: string; readonly words: readonly string[] } {
  const none: ReadonlyMap<string, ModbusTable> = new Map();
  const column = tableColumn(list.columns);
  const words = list.rows.flatMap((row) => {
    const known = namedRow(row);
    const table = "why" in known ? null : tableOf(row, list, { type: known.type, words: none });
    return table === null || typeof table === "string" ? [] : [wordOf(table.unclear)];
  });
  return { head: column === null ? "" : (list.heads[column] ?? column), words: [...new Set(words)] };
}

/** Returns an error if the row's length contradicts its type. The length may count registers, bytes or bits. */
function contradiction({ cells: { length } }: ListRow, type: string): Message | null {
  const registers = registersOf(type);
  if (registers === null || type === "bool" || length === undefined || !/^\d+$/.test(length)) return null;
  const fits = [registers, 2 * registers, 16 * registers].includes(Number(length));
  return fits ? null : message("workshop.other_length", { type, length });
}

/** Asks whether a whole scale such as 10 is a factor or a divisor, because lists differ. `chosen`: the rows that are imported. */
async function settledStyle(call: Call, list: RegisterList, chosen: readonly ListRow[]): Promise<NumberStyle> {
  const style = numberStyleOf(list);
  if (style.scale !== null) return style;
  const [first] = doubtfulScales(chosen, style);
  if (first === undefined) return { ...style, scale: "multiply" };
  const scale = first.cells.scale ?? "";
  const answer = await choose(call, {
    option: "scale",
    question: message("workshop.ask_scale", { scale, name: first.cells.name ?? "", column: list.heads.scale ?? "" }),
    choices: [
      { value: "multiply", text: `x ${scale}` },
      { value: "divide", text: `/ ${scale}` },
    ],
  });
  return { ...style, scale: answer === "divide" ? "divide" : "multiply" };
}

const DEFAULT_CHARACTERS = 16;

/** Returns the length of a text in registers. */
function lengthIn({ cells }: ListRow): number {
  return cells.length === undefined ? Math.ceil((charactersIn(cells) ?? DEFAULT_CHARACTERS) / 2) : Number(cells.length);
}

/**
 * Returns the word, byte and string order of a row: from the row's columns, else the usual order of the list's tool. Leaves out an order
 * that equals the profile's.
 */
function ordersOf({ cells }: ListRow, type: string, known: Orders & { readonly quirks: ModbusQuirks }): Keys {
  const { quirks } = known;
  if (type === "string") {
    const order = orderIn(cells.string_order) ?? kepwareOrder(cells.address) ?? known.string_order;
    return { string_order: order === quirks.string_order ? undefined : order };
  }
  const bytes = orderIn(cells.byte_order);
  return {
    word_order: /32|64/.test(type) ? (orderIn(cells.word_order) ?? known.word_order) : undefined,
    byte_order: bytes === (quirks.byte_order ?? "high_first") ? undefined : bytes,
  };
}

/**
 * Returns the string order that a Kepware address such as 400220.20H names: H means the high byte first. (20 is the number of characters.)
 */
function kepwareOrder(address = ""): string | undefined {
  const [, order] = /^\d{5,6}\.\d{1,3}([HL])$/i.exec(address) ?? [];
  return order === undefined ? undefined : order.toUpperCase() === "L" ? "low_first" : "high_first";
}

function orderIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  return /low|little|cdab|dcba|swap|lsw|true|yes/i.test(text) ? "low_first" : "high_first";
}

/** Returns the keys that the row's columns give, except those of its address. */
function cellKeys(row: ListRow, style: NumberStyle): { readonly keys: Keys } | SkippedRow {
  const { name = "", label, unit, role, filter, bay = "", group, more } = row.cells;
  const scaling = scalingOf(row, style);
  if (typeof scaling === "string")
    return { line: row.line, why: message("workshop.no_number", { tag: tagNameOf(name), text: scaling }) };
  const keys = {
    label: label?.slice(0, 100),
    scale: scaling.scale === 1 ? undefined : scaling.scale,
    offset: scaling.offset === 0 ? undefined : scaling.offset,
    unit,
    role,
    filter,
    bay: /^\d$/.test(bay) ? Number(bay) : undefined,
    group,
    ...(more === undefined ? {} : pairsIn(more)),
  };
  return { keys: Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)) };
}

/** Writes each unit as a profile does. For unknown units the user decides: import without a unit, or not at all. */
async function withUnits(call: Call, tags: readonly ListTag[]): Promise<readonly ListTag[]> {
  const unknown = new Set<string>();
  const measured = tags.map((tag): ListTag => {
    const { unit, ...keys } = tag.keys;
    if (typeof unit !== "string") return tag;
    const known = tag.type === "bool" || tag.type === "string" ? "none" : unitSaid(unit);
    if (known === undefined) {
      unknown.add(unit);
      return { ...tag, keys, canMeanByName: false };
    }
    return { ...tag, keys: known === "none" ? keys : { ...keys, unit: known.unit } };
  });
  if (unknown.size === 0) return measured;
  const answer = await choose(call, {
    option: "unknown-units",
    question: message("workshop.ask_units", { units: [...unknown].slice(0, MOST_SHOWN).join(", ") }),
    choices: [
      { value: "drop", text: message("workshop.drop_units") },
      { value: "stop", text: message("workshop.stop_units") },
    ],
  });
  if (answer === "drop") return measured;
  throw new CommandError(message("workshop.not_written"));
}

/** The maximum number of units, names or columns that a text lists. */
const MOST_SHOWN = 10;

/** Gives each tag a unique name. For names that the profile already has, the user decides: replace, keep both or skip. */
async function withNames(call: Call, found: readonly ListTag[], draft: Draft): Promise<ImportedRows> {
  const known = new Set(tagEntries(draft.text).map(({ name }) => name));
  const same = new Set(found.map(({ name }) => name).filter((name) => known.has(name)));
  const names = [...same].slice(0, MOST_SHOWN).join(", ");
  const answer =
    same.size === 0
      ? "keep"
      : await choose(call, {
          option: "same-names",
          question: message("workshop.ask_same", { count: same.size, names }),
          choices: [
            { value: "replace", text: message("workshop.same_replace") },
            { value: "keep", text: message("workshop.same_keep") },
            { value: "skip", text: message("workshop.same_skip") },
          ],
        });
  const used = new Set(known);
  const replaced = new Set<string>();
  const read = found.map((tag): ListTag | SkippedRow => {
    const isKnown = known.has(tag.name);
    if (isKnown && answer === "skip")
      return { line: tag.row.line, why: message("workshop.same_left", { tag: tag.name }) };
    if (isKnown && answer === "replace" && !replaced.has(tag.name)) {
      replaced.add(tag.name);
      return tag;
    }
    const name = freeName(tag.name, (one) => used.has(one));
    used.add(name);
    // Drops the role from a second tag of the same name, because it would count twice.
    const keys = Object.entries(tag.keys).filter(([key]) => !isKnown || !["role", "filter", "mode"].includes(key));
    return {
      ...tag,
      name,
      keys: Object.fromEntries(keys),
      canMeanByName: tag.canMeanByName && name === tag.name,
    };
  });
  return parted(read);
}

/** Returns the mode codes that a row lists, as in "0=off;3=spray". */
function codesIn({ cells }: ListRow): readonly { readonly code: string; readonly mode: ProfileMode }[] {
  const pairs = [...(cells.values ?? "").matchAll(/(-?\d+)\s*=\s*(\w+)/g)];
  return pairs.flatMap(([, code = "", text = ""]) => {
    const mode = modeNamed(text);
    return mode === undefined ? [] : [{ code, mode }];
  });
}
