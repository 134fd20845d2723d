import { message } from "../../domain/message.ts";
import { setTimeout as delay } from "node:timers/promises";
import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaType } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { BrowsedVariable } from "../port.ts";
import { serverConnection } from "./connect.ts";
import { HIERARCHICAL, readNamespaces, VALUE } from "./cyclic.ts";
import { type Opcua, opcuaLibrary } from "./library.ts";
import type { Session } from "./session.ts";

interface Browsing extends Omit<Parameters<typeof serverConnection>[0], "idle_ms" | "timeouts"> {
  /** Least time between two requests. */
  readonly pace_ms: Milliseconds;
  readonly signal: AbortSignal;
  /** Called after each request with the number of variables found so far. */
  readonly progress: (found: number) => void;
}

const IDLE_MS = 60_000;
/** Maximum depth of folders. Deeper folders belong to the server itself, or form a loop. */
const MAX_DEPTH = 12;
/** Maximum number of nodes. A PLC's program has only some hundred variables. */
const MAX_NODES = 20_000;
const NODES_PER_REQUEST = 40;
const REFERENCES_PER_NODE = 1000;
/**
 * Maximum number of empty parts in a row. A server may send one empty part after it has filtered; several mean that its list never ends.
 */
const MAX_EMPTY_PARTS = 3;

/** Node ids of the standard (OPC 10000-6, Annex A). */
const OBJECTS = "ns=0;i=85";
const SERVER = "ns=0;i=2253";
const OBJECT = 1;
const VARIABLE = 2;
/** Requests all fields of each reference: reference type, direction, class, names and type definition. */
const RESULT_MASK = 63;

/** Tag types by the numbers of built-in types (OPC 10000-6, 5.1.2). */
const TYPES: Readonly<Record<number, OpcuaType>> = {
  1: "bool",
  2: "int8",
  3: "uint8",
  4: "int16",
  5: "uint16",
  6: "int32",
  7: "uint32",
  8: "int64",
  9: "uint64",
  10: "float32",
  11: "float64",
  12: "string",
};

/**
 * Returns every variable below the folder Objects, with its current type. Variables about the server itself are excluded. Only reads.
 * Rejects with a LinkError.
 */
export async function browseServer({
  pace_ms,
  signal,
  progress,
  ...server
}: Browsing): Promise<readonly BrowsedVariable[]> {
  const connection = serverConnection({ ...server, idle_ms: IDLE_MS });
  try {
    const session = await connection.open(signal);
    const ask: Session["ask"] = async (request, shape) => {
      if (pace_ms > 0) await delay(pace_ms, undefined, { signal });
      return session.ask(request, shape);
    };
    return await walk({ opcua: await opcuaLibrary(), session: { ask } }, progress);
  } finally {
    await connection.leave(new LinkError("closed", message("plc.closed.gateway")));
  }
}

interface Open {
  readonly opcua: Opcua;
  readonly session: Pick<Session, "ask">;
}

interface Node {
  readonly id: string;
  readonly path: readonly string[];
}

async function walk(open: Open, progress: Browsing["progress"]): Promise<readonly BrowsedVariable[]> {
  const namespaces = await readNamespaces(open.opcua, open.session);
  const seen = new Set([OBJECTS, SERVER]);
  const variables: Node[] = [];
  let level: readonly Node[] = [{ id: OBJECTS, path: [] }];
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const next: Node[] = [];
    for (let at = 0; at < level.length; at += NODES_PER_REQUEST) {
      for (const { id, path, isVariable } of await childrenOf(open, level.slice(at, at + NODES_PER_REQUEST))) {
        if (seen.has(id)) continue;
        seen.add(id);
        (isVariable ? variables : next).push({ id, path });
      }
      if (seen.size > MAX_NODES) throw new LinkError("config", message("plc.opcua.many_nodes", { count: MAX_NODES }));
      progress(variables.length);
    }
    level = next;
  }
  return typed(open, variables, namespaces);
}

/** Some references of a node. The continuation point can be null on the wire, although the library's type excludes null. */
interface Part {
  readonly references: InstanceType<Opcua["BrowseResult"]>["references"];
  readonly continuationPoint: Buffer | null;
}

async function childrenOf({ opcua, session }: Open, parents: readonly Node[]) {
  const request = new opcua.BrowseRequest({
    requestedMaxReferencesPerNode: REFERENCES_PER_NODE,
    nodesToBrowse: parents.map(({ id }) => ({
      nodeId: opcua.coerceNodeId(id),
      browseDirection: opcua.BrowseDirection.Forward,
      referenceTypeId: opcua.coerceNodeId(HIERARCHICAL),
      includeSubtypes: true,
      nodeClassMask: OBJECT | VARIABLE,
      resultMask: RESULT_MASK,
    })),
  });
  const { results } = await session.ask(request, opcua.BrowseResponse);
  const children: (Node & { readonly isVariable: boolean })[] = [];
  for (const [i, result] of (results ?? []).entries()) {
    const path = parents[i]?.path ?? [];
    const seen = new Set<string>();
    let emptyParts = 0;
    let part: Part | undefined = result;
    while (part !== undefined) {
      const before = seen.size;
      for (const { nodeId, nodeClass, browseName } of part.references ?? []) {
        const id = opcua.coerceNodeId(nodeId).toString();
        const kind: number = nodeClass;
        if (seen.has(id)) continue;
        seen.add(id);
        children.push({ id, path: [...path, browseName.name ?? ""], isVariable: kind === VARIABLE });
      }
      emptyParts = seen.size > before ? 0 : emptyParts + 1;
      if (emptyParts > MAX_EMPTY_PARTS) {
        throw new LinkError("malformed", message("plc.opcua.endless", { folder: ["Objects", ...path].join("/") }));
      }
      const point = part.continuationPoint;
      if (point === null || point.length === 0 || children.length > MAX_NODES) break;
      const more = new opcua.BrowseNextRequest({ releaseContinuationPoints: false, continuationPoints: [point] });
      part = (await session.ask(more, opcua.BrowseNextResponse)).results?.[0];
    }
  }
  return children;
}

/** Adds the type of each variable's current value. A server's own data types have ids that say nothing. */
async function typed({ opcua, session }: Open, nodes: readonly Node[], namespaces: readonly string[]) {
  const found: BrowsedVariable[] = [];
  for (let at = 0; at < nodes.length; at += NODES_PER_REQUEST) {
    const some = nodes.slice(at, at + NODES_PER_REQUEST);
    const nodesToRead = some.map(({ id }) => ({ nodeId: opcua.coerceNodeId(id), attributeId: VALUE }));
    const { results } = await session.ask(new opcua.ReadRequest({ nodesToRead }), opcua.ReadResponse);
    for (const [i, { id, path }] of some.entries()) {
      const value = results?.[i]?.value;
      const [, index = "0", own = ""] = /^ns=(\d+);(.+)$/s.exec(id) ?? [];
      const isScalar = value !== undefined && value.arrayType === opcua.VariantArrayType.Scalar;
      const type = isScalar ? (TYPES[value.dataType] ?? null) : null;
      found.push({ namespace: namespaces[Number(index)] ?? "", id: own, path, type });
    }
  }
  return found;
}
