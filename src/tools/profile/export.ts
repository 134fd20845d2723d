import { say } from "../../domain/sentences.ts";
import { writeFileSync } from "node:fs";
import { csvField } from "../../contract/reports.ts";
import { isBitTable, type ModbusTable, type Profile, type ProfileTag } from "../../domain/profile.ts";
import { CommandError, EXIT, type Run } from "../command.ts";
import { openDraft, profileOfDraft, tagEntries, type TagEntry } from "./file.ts";
import { textOption } from "../options.ts";
import { print } from "../print.ts";

/** Heads as `profile import` knows them. */
const HEADS = [
  "Name",
  "Modbus Address",
  "Function Code",
  "Data Type",
  "Registers",
  "Word Order",
  "Byte Order",
  "String Order",
  "Bit",
  "Scale",
  "Value Offset",
  "Unit",
  "Role",
  "Filter",
  "Bay",
  "Group",
  "Values",
  "Node",
  "Label",
  "More",
] as const;
type Head = (typeof HEADS)[number];

/** `profile export`: the profile as a list that people in an office read, and that `profile import` reads back. */
export const exportCommand: Run = (call) => {
  const { values } = call;
  const draft = openDraft(values);
  const out = textOption(values, "out");
  if (out === undefined) throw new CommandError("name the list with --out FILE.csv", EXIT.usage);
  const profile = profileOfDraft(draft);
  const entries = new Map(tagEntries(draft.text).map((entry) => [entry.name, entry]));
  const rows = profile.tags.map((tag) => rowOf(tag, { profile, entry: entries.get(tag.name) ?? { name: tag.name } }));
  const lines = [HEADS.join(","), ...rows.map((row) => HEADS.map((head) => csvField(row[head] ?? "")).join(","))];
  writeNew(out, `${lines.join("\r\n")}\r\n`);
  print(
    call,
    { file: out, tags: rows.length },
    () =>
      `${say("workshop.exported", { file: out, tags: rows.length, profile: profile.name, version: profile.version })}\n`,
  );
  return Promise.resolve(EXIT.ok);
};

const FUNCTIONS: Readonly<Record<ModbusTable, string>> = {
  coil: "FC=01",
  discrete: "FC=02",
  holding: "FC=03",
  input: "FC=04",
};
const FIRST: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 100_001, holding: 400_001, input: 300_001 };
/** They have columns of their own. */
const SHOWN = new Set([
  "name",
  "address",
  "type",
  "length",
  "word_order",
  "byte_order",
  "string_order",
  "bit",
  "scale",
  "offset",
  "unit",
  "role",
  "filter",
  "bay",
  "group",
  "node",
  "path",
  "label",
]);

function rowOf(
  tag: ProfileTag,
  { profile, entry }: { readonly profile: Profile; readonly entry: TagEntry },
): Readonly<Partial<Record<Head, string>>> {
  const { point } = tag;
  const text = (key: string): string => {
    const value = entry[key];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const more = Object.entries(entry).filter(([key]) => !SHOWN.has(key));
  const values =
    tag.role === "mode"
      ? Object.entries(profile.modes)
          .map(([code, mode]) => `${code}=${mode}`)
          .join("; ")
      : "";
  const place =
    "table" in point
      ? { "Modbus Address": String(FIRST[point.table] + point.address), "Function Code": FUNCTIONS[point.table] }
      : { Node: entry["path"] === undefined ? text("node") : JSON.stringify(entry["path"]) };
  // Whoever reads the list doesn't know the profile's own order.
  const orders = "table" in point && profile.protocol === "modbus" ? ordersOf(point, profile.quirks) : {};
  return {
    Name: tag.name,
    ...place,
    ...orders,
    "Data Type": point.type,
    Registers: text("length"),
    Bit: text("bit"),
    Scale: text("scale"),
    "Value Offset": text("offset"),
    Unit: tag.unit,
    Role: tag.role ?? tag.unfit_role ?? "",
    Filter: tag.filter ?? "",
    Bay: tag.bay === 0 ? "" : String(tag.bay),
    Group: tag.group,
    Values: values,
    Label: text("label"),
    More: more.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", "),
  };
}

type ModbusPoint = Extract<ProfileTag["point"], { readonly table: ModbusTable }>;

function ordersOf(
  point: ModbusPoint,
  quirks: Extract<Profile, { protocol: "modbus" }>["quirks"],
): Readonly<Partial<Record<Head, string>>> {
  if (point.type === "string") return { "String Order": point.string_order ?? quirks.string_order };
  if (isBitTable(point.table) || point.type === "bool") return {};
  const bytes = point.byte_order ?? quirks.byte_order ?? "high_first";
  const wide = /32|64/.test(point.type) ? { "Word Order": point.word_order ?? quirks.word_order } : {};
  return { ...wide, ...(bytes === "high_first" ? {} : { "Byte Order": bytes }) };
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o640 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const why = code === "EEXIST" ? "there is such a file already; name another one" : code;
    throw new CommandError(`${path} can't be written: ${why}`, EXIT.usage, error);
  }
}
