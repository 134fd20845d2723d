import { seededRandom } from "../../support/seeded-random.ts";

/**
 * Generates register lists as people and tools write them from a known truth. Shares nothing with the importer: the tables of
 * addresses, types and units are separate.
 */

type Table = "coil" | "discrete" | "input" | "holding";

/** The truth of a row. */
export interface Signal {
  readonly name: string;
  /** The tag's name in the profile. */
  readonly tag: string;
  readonly table: Table;
  /** From 0. */
  readonly address: number;
  readonly bit?: number;
  readonly type: string;
  /** As a profile writes it; null without a unit or with an unknown one. */
  readonly unit: string | null;
  readonly scale: number;
  readonly offset: number;
  /** The only role that it may be given. */
  readonly role?: string;
  readonly label: string;
  /** True if the row must be left out: it is in another block than the PLC serves, or unreadable. */
  readonly isElsewhere: boolean;
}

export interface GeneratedList {
  readonly kind: string;
  readonly bytes: Buffer;
  /** The list as text, for a failure's message. */
  readonly text: string;
  readonly signals: readonly Signal[];
  /** The answers of a person who knows the PLC. */
  readonly truth: Truth;
}

export interface Truth {
  readonly base: "0" | "1";
  readonly registers: Table;
  readonly bits: Table;
  readonly block: string;
  /** Words of the table column. */
  readonly words: Readonly<Record<string, Table>>;
  readonly hasUnknownUnit: boolean;
}

interface Draw {
  readonly next: () => number;
  readonly below: (end: number) => number;
  readonly pick: <T>(all: readonly T[]) => T;
  readonly chance: (share: number) => boolean;
}

function drawOf(seed: number): Draw {
  const random = seededRandom(seed);
  const next = (): number => random.next();
  const below = (end: number): number => Math.floor(next() * end);
  const pick = <T>(all: readonly T[]): T => {
    const one = all[below(all.length)];
    if (one === undefined) throw new Error("nothing to pick from");
    return one;
  };
  return { next, below, pick, chance: (share) => next() < share };
}

/** Names with the group of their unit and the only role that they may get. */
const NAMES: readonly (readonly [name: string, group: string, role?: string])[] = [
  ["Air temperature", "temperature", "air_temperature"],
  ["Gas temp", "temperature"],
  ["Gas valve position", "share"],
  ["Air temp setpoint", "temperature"],
  ["Metal temperature", "temperature", "metal_temperature"],
  ["Booth pressure", "pressure", "booth_pressure"],
  ["Booth pressure alarm limit", "pressure"],
  ["Fan speed", "share", "fan_speed"],
  ["Fan motor speed", "rotation"],
  ["Exhaust filter time", "time", "filter_minutes"],
  ["Run hours", "time", "hour_meter"],
  ["Door unlock delay", "time"],
  ["Energy", "energy", "kwh"],
  ["Cycle count", "count", "cycle_counter"],
  ["Recipe number", "count"],
  ["Line voltage", "voltage"],
  ["Flow setpoint", "none"],
  ["Outdoor temperature", "temperature"],
  ["Zulufttemperatur Kuehlung", "temperature"],
];
const BIT_NAMES: readonly (readonly [name: string, role?: string])[] = [
  ["Door open", "door_open"],
  ["Door shut"],
  ["Burner on", "burner_on"],
  ["Burner lockout"],
  ["Fan running"],
  ["Gas valve"],
  ["Exhaust filter alarm"],
];

/** Spellings that people use, each with the profile's: SPELLING=UNIT, separated by |. */
const UNIT_TEXTS: Readonly<Record<string, string>> = {
  temperature: "°C=C|degC=C|deg F=F|°F=F|Celsius=C",
  pressure: "Pa=Pa|inWC=inWC|in. w.c.=inWC|mbar=mbar",
  share: "%=%|percent=%",
  rotation: "rpm=rpm",
  time: "minutes=min|min=min|Min.=min|hours=h|hrs=h|Stunden=h|sec=s|s=s",
  energy: "kWh=kWh|MWh=MWh",
  count: "=",
  voltage: "V=V",
  none: "-=",
};
const UNITS: Readonly<Record<string, readonly (readonly [spelling: string, unit: string])[]>> = Object.fromEntries(
  Object.entries(UNIT_TEXTS).map(([group, text]) => [
    group,
    text.split("|").map((pair) => {
      const [spelling = "", unit = ""] = pair.split("=");
      return [spelling, unit] as const;
    }),
  ]),
);
const UNKNOWN_UNITS = ["furlong", "x10 min", "0.1 °C", "MBTU"];

const WIDTHS: Readonly<Record<string, number>> = { int16: 1, uint16: 1, int32: 2, uint32: 2, float32: 2 };
const TYPE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  int16: ["INT", "int16", "INT16", "Short"],
  uint16: ["WORD", "uint16", "UINT", "UINT16"],
  int32: ["DINT", "int32", "Long"],
  uint32: ["UDINT", "uint32", "DWord"],
  float32: ["REAL", "FLOAT32", "float"],
  bool: ["BOOL", "bit"],
};
const FIRST: Readonly<Record<Table, number>> = { coil: 0, discrete: 100_000, input: 300_000, holding: 400_000 };
const CODES: Readonly<Record<Table, readonly string[]>> = {
  coil: ["1", "01", "FC01"],
  discrete: ["2", "02", "FC02"],
  input: ["4", "04", "FC04"],
  holding: ["3", "03", "FC03", "FC=03,06,16"],
};
const TABLE_WORDS: Readonly<Record<Table, readonly string[]>> = {
  coil: ["coil", "Coils", "0x", "DO"],
  discrete: ["discrete", "Discrete Input", "1x", "DI"],
  input: ["Input Register", "3x", "IR", "FC04"],
  holding: ["holding", "HR", "4x", "Holding Register"],
};

/** A row by the list's columns. */
type Cells = Readonly<Record<string, string>>;

interface Written {
  readonly cells: Cells;
  readonly signal: Signal;
}

interface Style {
  readonly heads: Readonly<Record<string, string>>;
  /** The order of the tool's columns; null for any order. */
  readonly order: readonly string[] | null;
  readonly rows: readonly Written[];
  readonly truth: Partial<Truth>;
}

function signalOf(own: Pick<Signal, "name" | "table" | "address" | "type" | "unit">, role: string | undefined): Signal {
  const plain = { scale: 1, offset: 0, label: "", isElsewhere: false };
  const signal = { ...own, ...plain, tag: own.name.toLowerCase().replaceAll(" ", "_") };
  return role === undefined ? signal : { ...signal, role };
}

/** Signals one after the other in their tables, with gaps. */
function signalsOf(draw: Draw, tables: readonly Table[]): Signal[] {
  const next: Record<Table, number> = { coil: 0, discrete: 0, input: 0, holding: 0 };
  for (const table of tables) next[table] = draw.chance(0.5) ? 0 : 1 + draw.below(900);
  const signals: Signal[] = [];
  const used = new Set<string>();
  const count = 4 + draw.below(9);
  while (signals.length < count) {
    const table = draw.pick(tables);
    const isBit = table === "coil" || table === "discrete";
    const [base, group, role] = isBit ? bitNamed(draw) : draw.pick(NAMES);
    const name = used.has(base) ? `${base} ${signals.length + 2}` : base;
    if (used.has(name)) continue;
    used.add(name);
    const type = isBit ? "bool" : draw.pick(group === "count" ? ["uint16", "uint32"] : Object.keys(WIDTHS));
    const unit = draw.pick(UNITS[group] ?? [["", ""]])[1];
    const own = { name, table, address: next[table], type, unit: isBit || unit === "" ? null : unit };
    signals.push(signalOf(own, name === base ? role : undefined));
    next[table] += (WIDTHS[type] ?? 1) + (draw.chance(0.3) ? draw.below(20) : 0);
  }
  return signals;
}

function bitNamed(draw: Draw): readonly [name: string, group: string, role?: string] {
  const [name, role] = draw.pick(BIT_NAMES);
  return role === undefined ? [name, "none"] : [name, "none", role];
}

const TABLES: readonly (readonly Table[])[] = [
  ["holding"],
  ["holding", "coil"],
  ["holding", "input", "discrete"],
  ["input"],
  ["holding", "input", "coil", "discrete"],
];
const ADDRESS_HEADS = ["Address", "Modbus Address", "Register", "Register Address", "Start Address"];
const NAME_HEADS = ["Name", "Tag Name", "Tag", "Point", "Signal", "Variable"];

function plainHeads(draw: Draw): Record<string, string> {
  const type = draw.pick(["Type", "Data Type", "Format"]);
  return { name: draw.pick(NAME_HEADS), address: draw.pick(ADDRESS_HEADS), type };
}

function typed(draw: Draw, signal: Signal): Cells {
  return { name: signal.name, type: draw.pick(TYPE_TEXTS[signal.type] ?? [signal.type]) };
}

function withoutRole({ name, tag, table, address, type, unit, scale, offset, label, isElsewhere }: Signal): Signal {
  return { name, tag, table, address, type, unit, scale, offset, label, isElsewhere };
}

/** A list of these signals whose columns are name, type and address, in any order. */
function plainStyle(draw: Draw, signals: readonly Signal[], address: (signal: Signal) => string): Style {
  return {
    heads: plainHeads(draw),
    order: null,
    rows: signals.map((signal) => ({ cells: { ...typed(draw, signal), address: address(signal) }, signal })),
    truth: {},
  };
}

/** Numbers with their table's digit, from 1. */
function modicon(draw: Draw, digits: 5 | 6): Style {
  const tables = draw.pick(TABLES).filter((table) => digits === 6 || table !== "discrete");
  return plainStyle(draw, signalsOf(draw, tables), ({ table, address }) =>
    String(FIRST[table] / (digits === 6 ? 1 : 10) + address + 1).padStart(digits, "0"),
  );
}

const DIGITS: Readonly<Record<Table, string>> = { coil: "0", discrete: "1", input: "3", holding: "4" };

function crossed(draw: Draw): Style {
  // 4x is in the list at least once, so that 0x is not hexadecimal.
  const signals = signalsOf(draw, ["holding"]).concat(draw.chance(0.3) ? signalsOf(draw, ["discrete"]) : []);
  return plainStyle(draw, signals, ({ table, address }) => `${DIGITS[table]}x${String(address + 1).padStart(4, "0")}`);
}

/** Numbers within a table that a column names, decimal and hexadecimal in one list. */
function counted(draw: Draw, column: "function" | "table"): Style {
  const signals = signalsOf(draw, draw.pick(TABLES));
  const base = draw.chance(0.5) ? 0 : 1;
  const isMixed = draw.chance(0.4);
  const words: Record<string, Table> = {};
  const written = (number: number): string => {
    if (!isMixed || draw.chance(0.5)) return String(number);
    return draw.chance(0.5)
      ? `0x${number.toString(16).toUpperCase().padStart(4, "0")}`
      : `${number.toString(16).toUpperCase().padStart(4, "0")}h`;
  };
  // A few lists have digits in the table column. Only a person knows what they mean.
  const isOdd = column === "table" && draw.chance(0.1);
  const spelled = new Map<Table, string>();
  const wordOf = (table: Table): string => {
    if (isOdd) {
      words[DIGITS[table]] = table;
      return DIGITS[table];
    }
    if (column === "function") return draw.pick(CODES[table]);
    const known = spelled.get(table) ?? draw.pick(TABLE_WORDS[table]);
    spelled.set(table, known);
    return known;
  };
  const head =
    column === "function"
      ? draw.pick(["Function Code", "FC", "Function", "Modbus Function"])
      : draw.pick(["Register Type", "Table", "Area", "Object Type", "Bereich"]);
  const rows = signals.map((signal) => ({
    cells: { ...typed(draw, signal), address: written(signal.address + base), table: wordOf(signal.table) },
    signal,
  }));
  return {
    heads: { ...plainHeads(draw), table: isOdd && head === "Bereich" ? "Table" : head },
    order: null,
    rows,
    truth: { base: base === 0 ? "0" : "1", words },
  };
}

/** Only numbers. */
function bare(draw: Draw): Style {
  const table = draw.pick<Table>(["holding", "input"]);
  const signals = signalsOf(draw, [table]);
  const base = draw.chance(0.5) ? 0 : 1;
  const style = plainStyle(draw, signals, ({ address }) => String(address + base));
  return { ...style, truth: { base: base === 0 ? "0" : "1", registers: table } };
}

function explicit(draw: Draw): Style {
  return plainStyle(draw, signalsOf(draw, draw.pick(TABLES)), ({ table, address }) => `${table}:${address}`);
}

/** Memory of a CLICK: name, data type, profile's type, table, first address, highest number, registers of a value. */
const CLICK: readonly (readonly [string, string, string, Table, number, number, number])[] = [
  ["C", "BIT", "bool", "coil", 16_384, 2000, 1],
  ["T", "BIT", "bool", "discrete", 45_056, 500, 1],
  ["CT", "BIT", "bool", "discrete", 49_152, 250, 1],
  ["SC", "BIT", "bool", "discrete", 61_440, 1000, 1],
  ["DS", "INT", "int16", "holding", 0, 4500, 1],
  ["DD", "INT2", "int32", "holding", 16_384, 1000, 2],
  ["DH", "HEX", "uint16", "holding", 24_576, 500, 1],
  ["DF", "FLOAT", "float32", "holding", 28_672, 500, 2],
  ["TD", "INT", "int16", "holding", 45_056, 500, 1],
  ["CTD", "INT2", "int32", "holding", 49_152, 250, 2],
  ["SD", "INT", "int16", "input", 61_440, 1000, 1],
];

interface ClickSpot {
  readonly memory: string;
  readonly data: string;
  readonly type: string;
  readonly table: Table;
  readonly address: number;
}

function clickSpot(draw: Draw): ClickSpot {
  if (draw.chance(0.25)) {
    const isInput = draw.chance(0.5);
    const module = draw.below(9);
    const point = 1 + draw.below(16);
    const isSecond = module === 0 && draw.chance(0.5);
    const number = isSecond ? 20 + point : 100 * module + point;
    const address = (isInput ? 0 : 8192) + 32 * module + (isSecond ? 16 : 0) + point - 1;
    const memory = `${isInput ? "X" : "Y"}${number.toString().padStart(3, "0")}`;
    return { memory, data: "BIT", type: "bool", table: isInput ? "discrete" : "coil", address };
  }
  const [name, data, type, table, start, last, width] = draw.pick(CLICK);
  const number = 1 + draw.below(last);
  return { memory: `${name}${number}`, data, type, table, address: start + width * (number - 1) };
}

function click(draw: Draw, modbus: "none" | "984" | "hex"): Style {
  const rows: Written[] = [];
  const used = new Set<string>();
  const count = 4 + draw.below(9);
  while (rows.length < count) {
    const { memory, data, type, table, address } = clickSpot(draw);
    const [base, , role] =
      type === "bool" ? bitNamed(draw) : draw.pick(NAMES.filter(([, group]) => group === "count" || group === "none"));
    const name = used.has(base) ? `${base} ${rows.length + 2}` : base;
    used.add(base);
    const signal = signalOf({ name, table, address, type, unit: null }, name === base ? role : undefined);
    const number =
      modbus === "hex" ? `${address.toString(16).toUpperCase().padStart(4, "0")}h` : String(FIRST[table] + address + 1);
    const codes = { coil: "FC=01,05,15", discrete: "FC=02", input: "FC=04", holding: "FC=03,06,16" }[table];
    const own = modbus === "none" ? {} : { modbus: number, table: codes };
    rows.push({ cells: { name, address: memory, type: data, ...own }, signal });
  }
  const heads = {
    address: "Address",
    type: "Data Type",
    modbus: "Modbus Address",
    table: "Function Code",
    name: "Nickname",
    label: "Address Comment",
  };
  const order = ["address", "type", ...(modbus === "none" ? [] : ["modbus", "table"]), "name", "label"];
  return { heads, order, rows, truth: {} };
}

/** Bytes of data blocks. The PLC serves one of the blocks. */
function s7(draw: Draw): Style {
  const blocks = draw.chance(0.6) ? ["DB11", "DB42"] : ["DB7"];
  const block = draw.pick(blocks);
  const signals = signalsOf(draw, ["holding"]);
  const access = { 1: "DBW", 2: "DBD" } as const;
  const rows = signals.map((signal): Written => {
    const own = signals.indexOf(signal) === 0 ? block : draw.pick(blocks);
    const width = WIDTHS[signal.type] === 2 ? 2 : 1;
    const address = `${draw.chance(0.3) ? "%" : ""}${own}.${access[width]}${2 * signal.address}`;
    return { cells: { ...typed(draw, signal), address }, signal: { ...signal, isElsewhere: own !== block } };
  });
  return {
    heads: { ...plainHeads(draw), address: draw.pick(["Address", "Logical Address"]) },
    order: null,
    rows,
    truth: { block },
  };
}

function offsets(draw: Draw): Style {
  const rows = signalsOf(draw, ["holding"]).map((signal, i): Written => {
    if (i % 4 !== 3) return { cells: { ...typed(draw, signal), address: `${2 * signal.address}.0` }, signal };
    const bit = draw.below(16);
    const rest = withoutRole(signal);
    const name = `Bit ${i}`;
    const flag = { ...rest, name, tag: `bit_${i}`, type: "bool", unit: null, bit };
    const byte = 2 * signal.address + (bit >= 8 ? 0 : 1);
    return { cells: { name, type: "Bool", address: `${byte}.${bit % 8}` }, signal: flag };
  });
  return {
    heads: { name: "Name", type: "Data type", address: "Offset" },
    order: ["name", "type", "address"],
    rows,
    truth: {},
  };
}

function kepware(draw: Draw): Style {
  const rows = signalsOf(draw, ["holding", "input"]).map((signal): Written => {
    const address = String(FIRST[signal.table] + signal.address + 1);
    const type =
      { int16: "Short", uint16: "Word", int32: "Long", uint32: "DWord", float32: "Float" }[signal.type] ?? "Short";
    const isScaled = draw.chance(0.4);
    const cells = {
      name: signal.name,
      address,
      type,
      scale: isScaled ? "Linear" : "",
      raw_low: "",
      raw_high: "",
      low: "",
      high: "",
    };
    if (!isScaled) return { cells, signal };
    const scale = draw.pick([0.25, 0.1, 0.5]);
    const offset = draw.pick([0, 0, -50]);
    const line = { raw_low: "0", raw_high: "1000", low: String(offset), high: String(1000 * scale + offset) };
    return { cells: { ...cells, ...line }, signal: { ...signal, scale, offset } };
  });
  const heads = {
    name: "Tag Name",
    address: "Address",
    type: "Data Type",
    scale: "Scaling",
    raw_low: "Raw Low",
    raw_high: "Raw High",
    low: "Scaled Low",
    high: "Scaled High",
    unit: "Eng Units",
    label: "Description",
  };
  return { heads, order: Object.keys(heads), rows, truth: {} };
}

/** Shares of the kinds, in percent. */
const KINDS: readonly (readonly [kind: string, share: number, make: (draw: Draw) => Style])[] = [
  ["six digits", 24, (draw) => modicon(draw, 6)],
  ["five digits", 10, (draw) => modicon(draw, 5)],
  ["4x", 4, crossed],
  ["function codes", 15, (draw) => counted(draw, "function")],
  ["table column", 15, (draw) => counted(draw, "table")],
  ["numbers alone", 5, bare],
  ["table:number", 2, explicit],
  ["CLICK without Modbus", 5, (draw) => click(draw, "none")],
  ["CLICK with 984 numbers", 5, (draw) => click(draw, "984")],
  ["CLICK with hexadecimal numbers", 3, (draw) => click(draw, "hex")],
  ["S7 blocks", 4, s7],
  ["S7 offsets", 3, offsets],
  ["Kepware", 5, kepware],
];

const LABELS = ["", "plain", "Kühlung, außen; 5 °C", 'with "quotes"', "line 1\nline 2: 0x1", "tab\there", "# {x}: [y]"];
const SCALES = [1, 1, 1, 0.1, 0.01, 0.5];

/** Adds columns for unit, scale and label, and removes from the truth what only a missing column could say. */
function withMore(draw: Draw, style: Style): Style & { readonly hasUnknownUnit: boolean } {
  const isTool = style.order !== null;
  const hasUnit = isTool ? "unit" in style.heads : draw.chance(0.7);
  const hasScale = !isTool && draw.chance(0.35);
  const hasLabel = isTool ? "label" in style.heads : draw.chance(0.5);
  const hasComma = !isTool && draw.chance(0.3);
  let hasUnknownUnit = false;
  const isOdd = hasUnit && draw.chance(0.03);
  const rows = style.rows.map(({ cells, signal }): Written => {
    const more: Record<string, string> = {};
    let own: Signal = hasUnit ? signal : { ...signal, unit: null };
    if (hasUnit) {
      const spellings = Object.values(UNITS)
        .flat()
        .filter(([, unit]) => unit === signal.unit);
      more["unit"] = signal.unit === null ? draw.pick(["", "-", ""]) : draw.pick(spellings)[0];
      if (isOdd && signal.type !== "bool" && draw.chance(0.3)) {
        more["unit"] = draw.pick(UNKNOWN_UNITS);
        hasUnknownUnit = true;
        own = { ...withoutRole(own), unit: null };
      }
    }
    if (hasScale && signal.type !== "bool") {
      const scale = draw.pick(SCALES);
      more["scale"] = hasComma ? String(scale).replace(".", ",") : String(scale);
      own = { ...own, scale };
    }
    if (hasLabel) {
      const label = draw.pick(LABELS);
      more["label"] = label;
      own = { ...own, label: label.replaceAll(/\s+/g, " ") };
    }
    return { cells: { ...cells, ...more }, signal: own };
  });
  const heads = {
    ...style.heads,
    ...(hasUnit && !isTool ? { unit: draw.pick(["Unit", "Units", "Eng Units", "Engineering Unit", "UOM"]) } : {}),
    ...(hasScale ? { scale: draw.pick(["Scale", "Multiplier", "Factor"]) } : {}),
    ...(hasLabel && !isTool ? { label: draw.pick(["Description", "Comment", "Label"]) } : {}),
  };
  return { ...style, heads, rows, hasUnknownUnit };
}

function quoted(cell: string, separator: string, draw: Draw): string {
  const must = /["\n\r]/.test(cell) || cell.includes(separator);
  return must || draw.chance(0.1) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function shuffled<T>(draw: Draw, all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: draw.next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

const ENCODINGS: readonly ((text: string) => Buffer)[] = [
  (text) => Buffer.from(text),
  (text) => Buffer.from(`\uFEFF${text}`),
  (text) => Buffer.from(`\uFEFF${text}`, "utf16le"),
  (text) => Buffer.from(`\uFEFF${text}`, "utf16le").swap16(),
  // Windows-1252 for the characters of the labels.
  (text) => Buffer.from(text, "latin1"),
];

/** Generates the list of a seed. */
export function generatedList(seed: number): GeneratedList {
  const draw = drawOf(seed);
  let left = draw.next() * KINDS.reduce((sum, [, share]) => sum + share, 0);
  const [kind, , make] = KINDS.find(([, share]) => (left -= share) < 0) ?? draw.pick(KINDS);
  const style = withMore(draw, make(draw));
  const columns = style.order ?? shuffled(draw, Object.keys(style.heads));
  const hasComma = style.rows.some(({ cells }) => (cells["scale"] ?? "").includes(","));
  const separator = draw.pick(hasComma ? [";", "\t"] : [",", ";", "\t"]);
  const end = draw.pick(["\n", "\r\n"]);
  const line = (cells: readonly string[]): string => cells.map((cell) => quoted(cell, separator, draw)).join(separator);
  const before = draw.chance(0.1) ? ["Register map of the booth", ""] : [];
  const heads = line(columns.map((column) => style.heads[column] ?? ""));
  const rows = style.rows.map(({ cells }) => line(columns.map((column) => cells[column] ?? "")));
  const text = [...before, heads, ...rows, ""].join(end);
  const truth: Truth = {
    base: "1",
    registers: "holding",
    bits: "coil",
    block: "",
    words: {},
    ...style.truth,
    hasUnknownUnit: style.hasUnknownUnit,
  };
  const bytes = draw.pick(ENCODINGS)(text);
  return { kind, bytes, text, signals: style.rows.map(({ signal }) => signal), truth };
}
