import { message } from "../../domain/message.ts";
import { writeFileSync } from "node:fs";
import { parseProfile } from "../../config/profile.ts";
import { csvField } from "../../contract/reports.ts";
import { isBitTable, type ModbusTable, type Profile, type ProfileTag } from "../../domain/profile.ts";
import { CommandError, EXIT, type Run } from "../command.ts";
import { textOption } from "../options.ts";
import { print } from "../print.ts";
import { textLines } from "../texts.ts";
import { type Keys, openDraft, tagEntries, type TagEntry } from "./file.ts";

/** The column heads of the list, as `profile import` recognizes them. */
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
type Row = Readonly<Partial<Record<(typeof HEADS)[number], string>>>;

/** `profile export`: writes the profile as a list that people can read in a spreadsheet and `profile import` can read back. */
export const exportCommand: Run = (call) => {
  const draft = openDraft(call.values);
  const file = textOption(call.values, "out");
  if (file === undefined) throw new CommandError(message("workshop.which_out"), EXIT.usage);
  const profile = parseProfile(draft.text, draft.path);
  const entries = new Map(tagEntries(draft.text).map((entry) => [entry.name, entry]));
  const rows = profile.tags.map((tag) => rowOf(tag, profile, entries.get(tag.name) ?? { name: tag.name }));
  const lines = [HEADS.join(","), ...rows.map((row) => HEADS.map((head) => csvField(row[head] ?? "")).join(","))];
  writeNew(file, `${lines.join("\r\n")}\r\n`);
  const tags = rows.length;
  const { name, version } = profile;
  print(call, { file, tags }, () => textLines([message("workshop.exported", { file, tags, profile: name, version })]));
  return Promise.resolve(EXIT.ok);
};

const FUNCTIONS: Readonly<Record<ModbusTable, string>> = {
  coil: "FC=01",
  discrete: "FC=02",
  holding: "FC=03",
  input: "FC=04",
};
const FIRST: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 100_001, holding: 400_001, input: 300_001 };
/** The keys that have their own columns. */
const SHOWN = new Set(
  "name address type length word_order byte_order string_order bit scale offset unit role filter bay group node path label".split(
    " ",
  ),
);

function rowOf(tag: ProfileTag, profile: Profile, entry: TagEntry): Row {
  const { point } = tag;
  const text = (key: keyof Keys): string => {
    const value = entry[key];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const more = Object.entries(entry).filter(([key]) => !SHOWN.has(key));
  const modes = tag.role === "mode" ? Object.entries(profile.modes) : [];
  const place =
    "table" in point
      ? { "Modbus Address": String(FIRST[point.table] + point.address), "Function Code": FUNCTIONS[point.table] }
      : { Node: entry["path"] === undefined ? text("node") : JSON.stringify(entry["path"]) };
  return {
    Name: tag.name,
    ...place,
    ...ordersOf(point, profile),
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
    Values: modes.map(([code, mode]) => `${code}=${mode}`).join("; "),
    Label: text("label"),
    More: more.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", "),
  };
}

/**
 * Returns the word and byte orders of a Modbus tag, even if they are the profile's defaults: a reader of the list doesn't know the profile.
 */
function ordersOf(point: ProfileTag["point"], profile: Profile): Row {
  if (!("table" in point) || profile.protocol !== "modbus") return {};
  const { quirks } = profile;
  if (point.type === "string") return { "String Order": point.string_order ?? quirks.string_order };
  if (isBitTable(point.table) || point.type === "bool") return {};
  const bytes = point.byte_order ?? quirks.byte_order ?? "high_first";
  return {
    "Word Order": /32|64/.test(point.type) ? (point.word_order ?? quirks.word_order) : "",
    "Byte Order": bytes === "high_first" ? "" : bytes,
  };
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o640 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const why = code === "EEXIST" ? message("workshop.is_a_file") : code;
    throw new CommandError(message("workshop.unwritable", { file: path, why }), EXIT.usage, error);
  }
}
