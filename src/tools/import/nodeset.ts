import { type Point, pointsTable, type Reader } from "./source.ts";
import { readXml } from "./xml.ts";

/** The types of OPC UA's built-in data types by their numbers. */
const TYPES: Readonly<Record<string, string>> = {
  "i=1": "bool",
  "i=2": "int8",
  "i=3": "uint8",
  "i=4": "int16",
  "i=5": "uint16",
  "i=6": "int32",
  "i=7": "uint32",
  "i=8": "int64",
  "i=9": "uint64",
  "i=10": "float32",
  "i=11": "float64",
  "i=12": "string",
};

interface Variable {
  readonly attributes: Readonly<Record<string, string>>;
  label: string;
  description: string;
}

/**
 * Reads the variables of a NodeSet2 file. Nodes are named by the URI of their namespace, because the number of a namespace in the file may
 * differ from the server's.
 */
export const readNodeset: Reader = ({ text }) => {
  if (!/<(\w+:)?UANodeSet\b/.test(text)) return null;
  const uris: string[] = [];
  const aliases = new Map<string, string>();
  const variables: Variable[] = [];
  let alias = "";
  let current: Variable | null = null;
  readXml(text, {
    open: (name, attributes) => {
      if (name === "Alias") alias = attributes["Alias"] ?? "";
      if (/^UA(Variable|Object|Method|View|\w+Type)$/.test(name)) current = null;
      if (name !== "UAVariable") return;
      current = { attributes, label: "", description: "" };
      variables.push(current);
    },
    close: (name, said) => {
      if (name === "Uri") uris.push(said);
      if (name === "Alias") aliases.set(alias, said);
      if (current === null) return;
      if (name === "DisplayName" && current.label === "") current.label = said;
      if (name === "Description" && current.description === "") current.description = said;
    },
  });
  const points = variables.flatMap(({ attributes, label, description }): readonly Point[] => {
    const { NodeId = "", BrowseName = "", DataType = "", ValueRank } = attributes;
    const [, index = "0", id = NodeId] = /^ns=(\d+);(.+)$/s.exec(NodeId) ?? [];
    const uri = uris[Number(index) - 1];
    // Skips the nodes of the standard, and arrays.
    if (uri === undefined || (ValueRank !== undefined && Number(ValueRank) > 0)) return [];
    const type = aliases.get(DataType) ?? DataType;
    const name = BrowseName.replace(/^\d+:/, "") || label;
    return [
      { name, node: `nsu=${uri};${id}`, type: TYPES[type] ?? DataType, label: description || label || undefined },
    ];
  });
  return { maker: "NodeSet2", tables: [pointsTable(points)] };
};
