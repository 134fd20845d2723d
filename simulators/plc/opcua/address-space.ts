import { DataType, DataValue, StatusCodes, Variant, VariantArrayType } from "node-opcua";
import type { AddressSpace, BaseNode, Namespace, UAObject } from "node-opcua";
import { rawInteger, unlabelled } from "../encode.ts";
import { modeCoder } from "../registers.ts";
import { quantityOf } from "../quantities.ts";
import type { OpcuaProfile, OpcuaTag, OpcuaType } from "../../../src/domain/profile.ts";
import type { Booth } from "../model/booth.ts";
import type { BoothState } from "../model/types.ts";

/** The booth's data in the server's address space. */
export interface Shown {
  readonly profile: OpcuaProfile;
  readonly booth: Booth;
  /** Simulated epoch ms. */
  readonly now: () => number;
  /** Tags that answer with a bad status. */
  readonly badTags: () => readonly string[];
  /** Tags that take this long to read. */
  readonly slow?: { readonly tags: readonly string[]; readonly ms: number };
}

const TYPES: Readonly<Record<OpcuaType, DataType>> = {
  bool: DataType.Boolean,
  uint8: DataType.Byte,
  int8: DataType.SByte,
  uint16: DataType.UInt16,
  int16: DataType.Int16,
  uint32: DataType.UInt32,
  int32: DataType.Int32,
  uint64: DataType.UInt64,
  int64: DataType.Int64,
  float32: DataType.Float,
  float64: DataType.Double,
  string: DataType.String,
};
/** The interval of a PLC task that runs ten times a second. */
const minimumSamplingInterval = 100;
const PROGRAM = "BoothCtrl";
const DI_NAMESPACE = "http://opcfoundation.org/UA/DI/";

/** Returns the namespaces of a profile's variables and paths. */
export function namespacesOf(profile: OpcuaProfile): readonly string[] {
  const used = profile.tags.flatMap(({ point: { node } }) =>
    "path" in node ? node.path.map(({ namespace }) => namespace) : [node.namespace],
  );
  return [...new Set(used)];
}

/** Registers the namespaces in this order, which defines their indexes, and fills them. */
export function fillAddressSpace(addressSpace: AddressSpace, uris: readonly string[], shown: Shown): void {
  const namespaces = new Map(uris.map((uri) => [uri, addressSpace.registerNamespace(uri)]));
  const objects = addressSpace.rootFolder.objects;
  const valueOf = valuesOf(shown);
  const folders = new Map<string, UAObject>();
  const folder = (namespace: Namespace, parent: UAObject, name: string): UAObject => {
    const key = `${parent.nodeId.toString()}/${namespace.namespaceUri}/${name}`;
    const known = folders.get(key);
    if (known) return known;
    const made = namespace.addObject({ browseName: name, organizedBy: parent });
    folders.set(key, made);
    return made;
  };
  const namespaceOf = (uri: string): Namespace => {
    const namespace = namespaces.get(uri);
    if (!namespace) throw new Error(`no namespace ${uri}`);
    return namespace;
  };
  for (const tag of shown.profile.tags) {
    const { node, type } = tag.point;
    const { slow } = shown;
    const late = (done: (error: null, value: DataValue) => void): void =>
      void setTimeout(() => done(null, valueOf(tag)), slow?.ms);
    const value = { timestamped_get: slow?.tags.includes(tag.name) ? late : () => valueOf(tag) };
    if ("path" in node) {
      const last = node.path.at(-1) ?? node.path[0];
      const parent = node.path
        .slice(0, -1)
        .reduce((above: UAObject, step) => folder(namespaceOf(step.namespace), above, step.name), objects);
      const namespace = namespaceOf(last.namespace);
      namespace.addVariable({
        browseName: last.name,
        componentOf: parent,
        dataType: TYPES[type],
        value,
        minimumSamplingInterval,
      });
    } else {
      const namespace = namespaceOf(node.namespace);
      const browseName = node.id.split(/[./]/).at(-1) ?? node.id;
      const componentOf: BaseNode = folder(namespace, objects, PROGRAM);
      namespace.addVariable({
        browseName,
        nodeId: node.id,
        componentOf,
        dataType: TYPES[type],
        value,
        minimumSamplingInterval,
      });
    }
  }
  identify(folders, namespaces.get(DI_NAMESPACE));
}

/** Adds every variable of the profile to another program's namespace, with the same id or path and a wrong value. */
export function addDecoys(addressSpace: AddressSpace, uri: string, { tags }: OpcuaProfile): void {
  const namespace = addressSpace.registerNamespace(uri);
  const { objects } = addressSpace.rootFolder;
  const program = namespace.addObject({ browseName: PROGRAM, organizedBy: objects });
  for (const { point } of tags) {
    const { node, type } = point;
    const dataType = TYPES[type];
    const value = { dataType, arrayType: VariantArrayType.Scalar, value: wrongValue(type) };
    if ("id" in node) {
      namespace.addVariable({ browseName: node.id, nodeId: node.id, componentOf: program, dataType, value });
      continue;
    }
    const names = node.path.map(({ name }) => name);
    const parent = names
      .slice(0, -1)
      .reduce((above: UAObject, name) => namespace.addObject({ browseName: name, organizedBy: above }), objects);
    namespace.addVariable({ browseName: names.at(-1) ?? "", componentOf: parent, dataType, value });
  }
}

function wrongValue(type: OpcuaType): unknown {
  if (type === "string") return "another program";
  if (type === "bool") return true;
  return type === "uint64" || type === "int64" ? [0, 99] : 99;
}

/** Adds the nameplate fields of a device (OPC 10000-100, 5.5) that the profile doesn't read. */
function identify(folders: ReadonlyMap<string, UAObject>, di: Namespace | undefined): void {
  const device = [...folders.entries()].find(([key]) => key.endsWith("/BoothPlc"))?.[1];
  if (!di || !device) return;
  const nameplate = { Manufacturer: "PLCnext-like", Model: "Booth PLC", DeviceRevision: "1", HardwareRevision: "01" };
  for (const [browseName, text] of Object.entries(nameplate)) {
    const value = { dataType: DataType.String, value: text };
    di.addVariable({ browseName, propertyOf: device, dataType: DataType.String, value });
  }
}

function valuesOf({ profile, booth, now, badTags }: Shown): (tag: OpcuaTag) => DataValue {
  const look = { seed: booth.seed, stateAt: (at: number) => booth.stateAt(at), code: modeCoder(profile) };
  return (tag) => {
    const at = now();
    const sourceTimestamp = new Date(at);
    if (badTags().includes(tag.name))
      return new DataValue({ statusCode: StatusCodes.BadSensorFailure, sourceTimestamp });
    const value = variantOf(tag, booth.stateAt(at), look);
    return new DataValue({ value, statusCode: StatusCodes.Good, sourceTimestamp });
  };
}

function variantOf(tag: OpcuaTag, state: BoothState, look: Parameters<typeof quantityOf>[2]): Variant {
  const { type, scale, offset } = tag.point;
  const dataType = TYPES[type];
  const quantity = quantityOf(tag.name, state, look);
  if (type === "string") return new Variant({ dataType, value: String(quantity ?? "") });
  if (type === "bool") return new Variant({ dataType, value: quantity === true || Number(quantity ?? 0) !== 0 });
  const number = unlabelled(tag.point, quantity ?? 0);
  if (type === "float32" || type === "float64") return new Variant({ dataType, value: (number - offset) / scale });
  const whole = rawInteger(tag, Number.isNaN(number) ? 0 : number);
  const wide = type === "uint64" || type === "int64";
  // 64 bits are stored in two halves, which look like an array.
  const arrayType = VariantArrayType.Scalar;
  return new Variant({ dataType, arrayType, value: wide ? [Math.floor(whole / 2 ** 32) >>> 0, whole >>> 0] : whole });
}
