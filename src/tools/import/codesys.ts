import { message } from "../../domain/message.ts";
import { CommandError, EXIT } from "../command.ts";
import { textOption } from "../options.ts";
import { MOST_ROWS } from "../rules/csv.ts";
import { type Point, pointsTable, type Reader } from "./source.ts";
import { readXml } from "./xml.ts";

/** The namespace in which CODESYS servers offer the variables of a program. */
const NAMESPACE = "CODESYSSPV3/3S/IecVarAccess";
/** The maximum depth of structures within structures. */
const MOST_LEVELS = 8;

interface Variable {
  readonly path: string;
  readonly type: string;
  /** The address that the program fixes, such as %MW10. */
  readonly address: string | undefined;
  label: string | undefined;
}

/** The types of a file: the type by the PLC's name for simple types, and the members of structures. */
interface Types {
  readonly simple: ReadonlyMap<string, string>;
  readonly members: ReadonlyMap<string, readonly (readonly [name: string, type: string])[]>;
}

/**
 * Reads the symbols that CODESYS writes as XML. For OPC UA a variable's node contains the device's name, which the file does not have. For
 * Modbus only variables with a fixed address (%MW10) can be read.
 */
export const readCodesys: Reader = ({ text, name: file }) => {
  if (!/<(\w+:)?Symbolconfiguration\b/.test(text)) return null;
  const { variables, types } = symbolsIn(text);
  const leaves: Variable[] = [];
  for (const one of variables) addLeaves(one, { types, into: leaves });
  const points = (device: string): readonly Point[] =>
    leaves.map(({ path, type, address, label }) => ({
      name: path.split(".").slice(-2).join(" "),
      node: `nsu=${NAMESPACE};s=|var|${device}.${path}`,
      address,
      type,
      label,
    }));
  return {
    maker: "CODESYS",
    tables: [pointsTable(points("?"))],
    complete: async ({ values, io }) => {
      const given = textOption(values, "device") ?? (await io.ask(message("import.ask_device")))?.trim();
      if (given === undefined || given === "")
        throw new CommandError(message("import.nobody_for_device", { file }), EXIT.usage);
      return [pointsTable(points(given))];
    },
  };
};

function symbolsIn(text: string): { readonly variables: readonly Variable[]; readonly types: Types } {
  const simple = new Map<string, string>();
  const members = new Map<string, [string, string][]>();
  const variables: Variable[] = [];
  const path: string[] = [];
  let structure = "";
  readXml(text, {
    open: (element, { name = "", iecname = name, type, basetype, directaddress }) => {
      if (element === "TypeSimple") simple.set(name, iecname);
      if (element === "TypeUserDef") members.set((structure = name), []);
      if (element === "TypeUserDef" && basetype !== undefined) simple.set(name, basetype);
      if (element === "UserDefElement") members.get(structure)?.push([iecname, type ?? ""]);
      if (element !== "Node") return;
      path.push(name);
      if (type !== undefined) variables.push({ path: path.join("."), type, address: directaddress, label: undefined });
    },
    close: (element, said) => {
      const last = variables.at(-1);
      if (element === "Comment" && last?.path === path.join(".")) last.label = said;
      if (element === "Node") path.pop();
    },
  });
  return { variables, types: { simple, members } };
}

/** Adds a variable, or for a structure its members, whose addresses are not known. Ends at the maximum number of rows of a list. */
function addLeaves(
  one: Variable,
  { types, into }: { readonly types: Types; readonly into: Variable[] },
  levels = MOST_LEVELS,
): void {
  if (into.length > MOST_ROWS) return;
  const members = types.members.get(one.type) ?? [];
  if (members.length === 0 || levels === 0) into.push({ ...one, type: types.simple.get(one.type) ?? one.type });
  else
    for (const [name, type] of members)
      addLeaves(
        { path: `${one.path}.${name}`, type, address: undefined, label: undefined },
        { types, into },
        levels - 1,
      );
}
