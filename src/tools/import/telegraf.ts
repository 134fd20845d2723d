import { parse } from "smol-toml";
import { objectOf, objectsOf, type Point, pointsTable, type Reader, textOf } from "./source.ts";

/** The tables by the names of Telegraf's first configuration style. */
const LISTS = {
  coils: "coil",
  discrete_inputs: "discrete",
  holding_registers: "holding",
  input_registers: "input",
} as const;

type Given = Readonly<Record<string, unknown>>;

/** Reads the inputs `modbus` of a Telegraf configuration, in its styles "register", "request" and "metric". Telegraf counts from 0. */
export const readTelegraf: Reader = ({ text }) => {
  if (!/^[ \t]*\[\[?[ \t]*inputs\.modbus/m.test(text)) return null;
  const inputs = objectsOf(objectOf(parse(text)["inputs"])["modbus"]);
  const points = inputs.flatMap((input) => [
    ...Object.entries(LISTS).flatMap(([list, table]) => objectsOf(input[list]).map((field) => listed(field, table))),
    ...objectsOf(input["request"]).flatMap((request) => fieldsOf(request, textOf(request["register"]))),
    ...objectsOf(input["metric"]).flatMap((metric) => fieldsOf(metric, undefined)),
  ]);
  return { maker: "Telegraf", tables: [pointsTable(points)] };
};

/** Makes a point of the first style, which lists each register of a value. */
function listed(field: Given, table: string): Point {
  const addresses = Array.isArray(field["address"]) ? field["address"] : [];
  const said = textOf(field["data_type"]) ?? "";
  // Fixed-point numbers have as many bits as their registers; FLOAT32 is the deprecated name of an unsigned one.
  const [, unsigned, fixed] = /^(U?)(FIXED)$|^FLOAT32$/.exec(said) ?? [];
  const bits = 16 * addresses.length;
  const isFixed = fixed !== undefined || said === "FLOAT32";
  const type = isFixed ? `${unsigned === "" ? "" : "u"}int${bits}` : said.replace("-IEEE", "");
  return pointOf(field, { table, address: textOf(addresses[0]), type, order: textOf(field["byte_order"]) });
}

/** Makes the points of a request or a metric, whose settings hold for all its fields. */
function fieldsOf(group: Given, register: string | undefined): readonly Point[] {
  const order = textOf(group["byte_order"]);
  return objectsOf(group["fields"])
    .filter((field) => field["omit"] !== true)
    .map((field) => {
      const table = register ?? textOf(field["register"]) ?? "holding";
      return pointOf(field, { table, address: textOf(field["address"]), type: textOf(field["type"]) ?? "", order });
    });
}

function pointOf(
  field: Given,
  at: Readonly<Record<"table" | "type", string> & Record<"address" | "order", string | undefined>>,
): Point {
  const isBit = at.table === "coil" || at.table === "discrete" || at.type === "BIT";
  const order = at.order ?? "ABCD";
  return {
    name: textOf(field["name"]),
    address: `${at.table}:${at.address ?? ""}`,
    type: isBit ? "bool" : at.type,
    bit: at.type === "BIT" ? textOf(field["bit"]) : undefined,
    length: at.type === "STRING" ? textOf(field["length"]) : undefined,
    word_order: order === "CDAB" || order === "DCBA" ? "low_first" : "high_first",
    byte_order: order === "BADC" || order === "DCBA" || order === "BA" ? "low_first" : "high_first",
    scale: textOf(field["scale"]),
  };
}
