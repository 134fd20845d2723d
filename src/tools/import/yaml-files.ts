import { isMap, isScalar, isSeq, type Pair, parse, parseDocument } from "yaml";
import { objectOf, objectsOf, type Point, pointsTable, type Reader, textOf } from "./source.ts";

/** This module reads the YAML files of Home Assistant and evcc, which poll Modbus devices too. Both count registers from 0. */

/** The kinds of entities of Home Assistant that read a value. True: a bit, unless the entity names a register. */
const ENTITIES = {
  sensors: false,
  climates: false,
  covers: false,
  binary_sensors: true,
  switches: true,
  lights: true,
  fans: true,
} as const;
const INPUT_TABLES: Readonly<Record<string, string>> = { discrete_input: "discrete", coil: "coil", input: "input" };

/** Reads Home Assistant's integration `modbus`: the whole configuration, or a file that it includes. */
export const readHomeAssistant: Reader = ({ text }) => {
  if (!/^modbus:|^[ \t-]*(sensors|binary_sensors|switches|climates|covers|lights|fans):[ \t]*\r?$/m.test(text))
    return null;
  const root: unknown = parse(text, { logLevel: "silent", uniqueKeys: false });
  const hubs = objectsOf(Array.isArray(root) ? root : (objectOf(root)["modbus"] ?? [root]));
  const kinds = Object.keys(ENTITIES) as (keyof typeof ENTITIES)[];
  const points = hubs.flatMap((hub) => kinds.flatMap((kind) => objectsOf(hub[kind]).map((one) => entity(one, kind))));
  return points.length === 0 ? null : { maker: "Home Assistant", tables: [pointsTable(points)] };
};

function entity(given: Readonly<Record<string, unknown>>, kind: keyof typeof ENTITIES): Point {
  // A switch without `verify` has the written value in the same place.
  const { input_type, write_type } = { ...given, ...objectOf(given["verify"]) };
  const said = textOf(input_type ?? write_type) ?? (ENTITIES[kind] && kind === "binary_sensors" ? "coil" : "holding");
  const table = INPUT_TABLES[said] ?? "holding";
  const isBit = ENTITIES[kind];
  const swap = textOf(given["swap"]) ?? "none";
  const type = textOf(given["data_type"]) ?? "int16";
  return {
    name: textOf(given["name"]),
    address: `${table}:${textOf(objectOf(given["verify"])["address"] ?? given["address"]) ?? ""}`,
    type: isBit ? "bool" : type,
    bit: isBit && (table === "holding" || table === "input") ? 0 : undefined,
    length: type === "string" ? textOf(given["count"]) : undefined,
    word_order: swap.startsWith("word") ? "low_first" : "high_first",
    byte_order: swap.endsWith("byte") ? "low_first" : "high_first",
    scale: textOf(given["scale"]),
    offset: textOf(given["offset"]),
    unit: textOf(given["unit_of_measurement"] ?? given["temperature_unit"]),
  };
}

/** The units of evcc's values, which its documentation fixes. */
const EVCC_UNITS: Readonly<Record<string, string>> = {
  power: "W",
  powers: "W",
  energy: "kWh",
  currents: "A",
  voltages: "V",
  soc: "%",
};
const EVCC_TABLES: Readonly<Record<string, string>> = { holding: "holding", input: "input", coil: "coil" };

/** Reads a device of evcc: a template, or an entry of its configuration. Skips the registers that evcc writes. */
export const readEvcc: Reader = ({ text }) => {
  if (!/^[ \t]*(- )?(source|plugin): (modbus|sunspec)\b/m.test(text)) return null;
  const template: unknown = parse(text.includes("render:") ? text : "", { logLevel: "silent" });
  // Drops the lines that control a template. A text in their place makes clear that a value comes from a parameter.
  const plain = (textOf(objectOf(template)["render"]) ?? text)
    .replace(/^[ \t]*\{\{.*\}\}[ \t]*$/gm, "")
    .replace(/\{\{[^{}]*\}\}/g, '"?"');
  const points: Point[] = [];
  const visit = (node: unknown, path: readonly string[]): void => {
    if (isSeq(node)) for (const [i, item] of node.items.entries()) visit(item, [...path, String(i + 1)]);
    if (!isMap(node)) return;
    const pairs = node.items;
    points.push(...registersOf(pairs, path));
    for (const { key, value } of pairs) visit(value, isScalar(key) ? [...path, String(key.value)] : path);
  };
  visit(parseDocument(plain, { uniqueKeys: false, logLevel: "silent" }).contents, []);
  return { maker: "evcc", tables: [pointsTable(points)] };
};

/** Returns the registers of a value's map. A template may list several addresses, of which its parameters select one. */
function registersOf(pairs: readonly Pair[], path: readonly string[]): readonly Point[] {
  const valuesIn = (items: readonly Pair[], name: string) =>
    items.flatMap(({ key, value }) => (isScalar(key) && key.value === name && isScalar(value) ? [value] : []));
  const name = path.filter((one) => !["meters", "chargers", "get"].includes(one)).join("_") || "value";
  const [scale] = valuesIn(pairs, "scale");
  const common = { name, unit: EVCC_UNITS[path.find((one) => one in EVCC_UNITS) ?? ""], scale: textOf(scale?.value) };
  if (valuesIn(pairs, "source").some(({ value }) => value === "sunspec"))
    return valuesIn(pairs, "value").map(({ value }) => ({
      ...common,
      address: `SunSpec ${String(value)}`,
      type: "int16",
    }));
  return pairs.flatMap(({ key, value: register }): readonly Point[] => {
    if (!isScalar(key) || key.value !== "register" || !isMap(register)) return [];
    const of = (what: string): string => textOf(valuesIn(register.items, what)[0]?.value) ?? "";
    const table = EVCC_TABLES[of("type")];
    if (table === undefined) return [];
    const decode = of("decode") || of("encoding");
    const [, type = decode, swap] = /^(u?int16|u?int32|u?int64|float32|float64)(s|swap)?(nan)?$/.exec(decode) ?? [];
    return valuesIn(register.items, "address").map(({ value, comment }) => ({
      ...common,
      address: `${table}:${textOf(value) ?? ""}`,
      type: table === "coil" ? "bool" : type,
      word_order: swap === undefined ? "high_first" : "low_first",
      label: comment?.trim() || undefined,
    }));
  });
}
