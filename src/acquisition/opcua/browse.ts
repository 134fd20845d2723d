import { setTimeout as delay } from "node:timers/promises";
import type { OpcuaAddress } from "../../config/port.ts";
import { abortedBy, LinkError } from "../../domain/link-error.ts";
import type { OpcuaType } from "../../domain/profile.ts";
import { onAbort } from "../../domain/signal.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { PlcPasswords, BrowsedVariable } from "../port.ts";
import { type Channel, secureChannel } from "./channel.ts";
import { type Connecting, connectSession } from "./connect.ts";
import { namespacesIn } from "./cyclic.ts";
import { type Opcua, opcuaLibrary } from "./library.ts";
import type { OpcuaPki } from "./pki.ts";
import { leaveServer, type Session, withPasswords } from "./session.ts";
import { say } from "../../domain/sentences.ts";

export interface Browsing {
  readonly address: OpcuaAddress;
  readonly pki: OpcuaPki;
  readonly wall: () => EpochMs;
  /** Of a user whose password no file holds. */
  readonly passwords: PlcPasswords;
  /** Between two requests at least. */
  readonly pace_ms: Milliseconds;
  readonly signal: AbortSignal;
  /** After each request: how many variables were found so far. */
  readonly progress: (found: number) => void;
}

const TIMES = { connect_ms: 5000, answer_ms: 5000, keys_ms: undefined } as const;
const IDLE_MS = 60_000;
/** Folders of folders: deeper ones are a server's own, or lead in a circle. */
const MOST_DEEP = 12;
/** A PLC's own program has some hundred; a server that shows more is to be asked for a part of it. */
const MOST_NODES = 20_000;
const NODES_PER_REQUEST = 40;
const REFERENCES_PER_NODE = 1000;
/** A server may send one empty part after a filter; a few in a row lead nowhere. */
const MOST_EMPTY_PARTS = 3;

/** Node ids of the standard (OPC 10000-6, Annex A). */
const OBJECTS = "ns=0;i=85";
const SERVER = "ns=0;i=2253";
const HIERARCHICAL = "ns=0;i=33";
const NAMESPACE_ARRAY = "ns=0;i=2255";
const VALUE = 13;
const OBJECT = 1;
const VARIABLE = 2;
/** Reference type, direction, class, browse name. */
const RESULT_MASK = 63;

/** Numbers of built-in types (OPC 10000-6, 5.1.2). */
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

/** Every variable below the folder Objects but the server's own, with its type as it is now. It only reads. Rejects with a LinkError. */
export async function browseServer(browsing: Browsing): Promise<readonly BrowsedVariable[]> {
  const { address, pki, wall, signal } = browsing;
  const opcua = await opcuaLibrary();
  let channel: Channel | null = null;
  let session: Session | null = null;
  const newChannel: Connecting["newChannel"] = (secured) => {
    signal.throwIfAborted();
    return (channel = secureChannel(opcua, { ...secured, endpoint: address.endpoint, ...TIMES }));
  };
  const connecting = { opcua, address, pki, now: wall(), idle_ms: IDLE_MS, newChannel };
  const opening = withPasswords(address, browsing.passwords, async (password) => {
    session = await connectSession({ ...connecting, password });
    return session;
  });
  const leave = (reason: LinkError): Promise<void> =>
    leaveServer({ opening, session: () => session, channel: () => channel }, reason);
  const forget = onAbort(signal, () => void leave(abortedBy(signal)));
  try {
    const { ask: askNow } = await opening;
    signal.throwIfAborted();
    const ask: Session["ask"] = async (request, shape) => {
      if (browsing.pace_ms > 0) await delay(browsing.pace_ms, undefined, { signal });
      return askNow(request, shape);
    };
    return await walk({ opcua, session: { ask } }, browsing);
  } finally {
    forget();
    await leave(new LinkError("closed", say("plc.closed.gateway")));
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

async function walk(open: Open, { progress }: Browsing): Promise<readonly BrowsedVariable[]> {
  const namespaces = await namespacesOf(open);
  const seen = new Set([OBJECTS, SERVER]);
  const variables: Node[] = [];
  let level: readonly Node[] = [{ id: OBJECTS, path: [] }];
  for (let deep = 0; deep < MOST_DEEP && level.length > 0; deep++) {
    const next: Node[] = [];
    for (let at = 0; at < level.length; at += NODES_PER_REQUEST) {
      for (const { id, path, isVariable } of await childrenOf(open, level.slice(at, at + NODES_PER_REQUEST))) {
        if (seen.has(id)) continue;
        seen.add(id);
        (isVariable ? variables : next).push({ id, path });
      }
      if (seen.size > MOST_NODES) throw new LinkError("config", `the server shows more than ${MOST_NODES} nodes`);
      progress(variables.length);
    }
    level = next;
  }
  return typed(open, variables, namespaces);
}

async function namespacesOf({ opcua, session }: Open): Promise<readonly string[]> {
  const nodesToRead = [{ nodeId: NAMESPACE_ARRAY, attributeId: VALUE }];
  const { results } = await session.ask(new opcua.ReadRequest({ nodesToRead }), opcua.ReadResponse);
  const namespaces = namespacesIn(results?.[0]?.value.value as unknown);
  if (namespaces === null) throw new LinkError("malformed", "the server doesn't tell its namespaces");
  return namespaces;
}

/** References of a node, and the mark where there are more; the library calls it never null, which it is on the wire. */
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
      if (emptyParts > MOST_EMPTY_PARTS) throw endlessList(path);
      part = children.length > MOST_NODES ? undefined : await partAfter({ opcua, session }, part.continuationPoint);
    }
  }
  return children;
}

/** The server promises more references again and again and sends none, or the same ones. */
function endlessList(path: readonly string[]): LinkError {
  return new LinkError("malformed", say("plc.opcua.endless", { folder: ["Objects", ...path].join("/") }));
}

async function partAfter({ opcua, session }: Open, point: Buffer | null): Promise<Part | undefined> {
  if (point === null || point.length === 0) return undefined;
  const more = new opcua.BrowseNextRequest({ releaseContinuationPoints: false, continuationPoints: [point] });
  const { results } = await session.ask(more, opcua.BrowseNextResponse);
  return results?.[0];
}

/** Their types are those of what they hold: a type of the server's own says nothing by its id. */
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
