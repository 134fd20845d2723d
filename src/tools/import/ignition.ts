import { message } from "../../domain/message.ts";
import { CommandError, EXIT } from "../command.ts";
import { objectOf, objectsOf, type Point, pointsTable, type Reader, textOf } from "./source.ts";

/** The tables and types of the areas of Ignition's Modbus driver, such as HRF for a float in holding registers. */
const TABLES: Readonly<Record<string, string>> = { HR: "holding", IR: "input", C: "coil", DI: "discrete" };
const TYPES: Readonly<Record<string, string>> = {
  "": "int16",
  US: "uint16",
  I: "int32",
  UI: "uint32",
  I64: "int64",
  UI64: "uint64",
  F: "float32",
  D: "float64",
  BCD: "bcd16",
  BCD32: "bcd32",
  S: "string",
};
/** An address: the device, the unit id, the area with its type, the number, and a bit or a number of characters. */
const ADDRESS = /^(?:ns=\d+;s=)?\[[^\]]*\](?:\d+\.)?(HR|IR|C|DI)([A-Z]*_?(?:32|64)?)(\d+)(?:\.(\d+)|:(\d+))?$/;

interface Leaf {
  readonly path: readonly string[];
  readonly tag: Readonly<Record<string, unknown>>;
}

/** Reads the tags that Ignition exports as JSON. The driver's setting decides whether numbers begin at 0 or 1, so the user is asked. */
export const readIgnition: Reader = ({ text, name: file }) => {
  if (!text.includes('"tagType"') && !text.includes('"opcItemPath"')) return null;
  const root: unknown = JSON.parse(text);
  const leaves = (Array.isArray(root) ? objectsOf(root) : [objectOf(root)]).flatMap((tag) => leavesIn(tag, []));
  const counts = new Map<string, number>();
  for (const { path } of leaves) counts.set(path.at(-1) ?? "", (counts.get(path.at(-1) ?? "") ?? 0) + 1);
  const points = leaves.map((leaf) => pointOf(leaf, counts.get(leaf.path.at(-1) ?? "") === 1));
  const isUsable = ({ table, node }: Point): boolean => table !== undefined || node !== undefined;
  const other = leaves.find(({ tag }) => pathOf(tag) !== "");
  if (!points.some(isUsable)) {
    const example = other === undefined ? "" : pathOf(other.tag);
    throw new CommandError(message("import.ignition_other", { file, example }), EXIT.usage);
  }
  return { maker: "Ignition", tables: [pointsTable(points)] };
};

/** Returns the tags with an OPC address, with the names of their folders. Skips the definitions of user-defined types. */
function leavesIn(tag: Leaf["tag"], above: readonly string[]): readonly Leaf[] {
  if (tag["tagType"] === "UdtType") return [];
  const name = textOf(tag["name"]) ?? "";
  const path = name === "" ? above : [...above, name];
  const own = tag["opcItemPath"] === undefined ? [] : [{ path, tag }];
  return [...own, ...objectsOf(tag["tags"]).flatMap((one) => leavesIn(one, path))];
}

/** Returns the tag's address. A member of a user-defined type has an object, whose text may contain parameters such as {Device}. */
function pathOf({ opcItemPath }: Leaf["tag"]): string {
  return textOf(opcItemPath) ?? textOf(objectOf(opcItemPath)["binding"]) ?? "";
}

function pointOf({ path, tag }: Leaf, hasOwnName: boolean): Point {
  const at = pathOf(tag);
  const [, area = "", kind = "", number, bit, characters] = ADDRESS.exec(at) ?? [];
  const table = TABLES[area];
  const type = TYPES[kind.replace("_", "")] ?? kind;
  const mode = textOf(tag["scaleMode"]) ?? "Off";
  const low = mode === "Off" ? undefined : textOf(tag["rawLow"] ?? 0);
  return {
    name: hasOwnName ? path.at(-1) : path.join(" "),
    table,
    address: number ?? at,
    // The node of another server. A node with a number of a namespace is rejected later, because that number may change.
    node: /^nsu?=/.test(at) && table === undefined && !at.includes("[") ? at : undefined,
    type: bit !== undefined || area === "C" || area === "DI" ? "bool" : table === undefined ? ignitionType(tag) : type,
    bit,
    length: characters === undefined ? undefined : Math.ceil(Number(characters) / 2),
    scale: mode === "Off" ? undefined : mode,
    raw_low: low,
    raw_high: low === undefined ? undefined : textOf(tag["rawHigh"] ?? 10),
    scaled_low: low === undefined ? undefined : textOf(tag["scaledLow"] ?? 0),
    scaled_high: low === undefined ? undefined : textOf(tag["scaledHigh"] ?? 10),
    unit: textOf(tag["engUnit"]),
    label: textOf(tag["documentation"]),
  };
}

/** Returns the type of a tag that another OPC UA server provides: Int4 has 4 bytes. */
function ignitionType({ dataType }: Leaf["tag"]): string {
  const [, kind = "", bytes = "4"] = /^(Int|Float)(\d)$/.exec(textOf(dataType) ?? "Int4") ?? [];
  return kind === "" ? (textOf(dataType) ?? "") : `${kind.toLowerCase()}${Number(bytes) * 8}`;
}
