import { message } from "../../domain/message.ts";
import { LinkError } from "../../domain/link-error.ts";
import { type OpcuaProfile, type OpcuaTag, tagsOfGroups } from "../../domain/profile.ts";
import { Overdue, type Asking } from "./channel.ts";
import type { Opcua } from "./library.ts";
import type { Session } from "./session.ts";
import type { Sample } from "../../domain/taken.ts";
import { byGroup } from "../rules/link.ts";
import type { GroupSamples } from "../port.ts";
import { type RawValue, sampleOf } from "./value.ts";
import { monotonicMs } from "../../monotonic.ts";

/** A function that reads the tags of poll groups. */
export type GroupReader = (groups: readonly string[]) => Promise<GroupSamples>;

/** A server during one session. */
export interface OpenServer {
  readonly opcua: Opcua;
  readonly session: Session;
  readonly profile: OpcuaProfile;
  readonly resolved: Resolved;
  /** True if the connection is not secured, which makes all values uncertain. */
  readonly insecure: boolean;
}

export type DataValue = NonNullable<InstanceType<Opcua["ReadResponse"]>["results"]>[number];

/**
 * Time after which a slow variable is read again. A variable is slow if its read takes too long even alone. It is read again alone, in
 * parallel to the polls.
 */
const RETRY_MS = 60_000;
/** Maximum number of slow variables in one read. If there are more, the server itself is slow. */
const MAX_SLOW = 3;
/** Deadline of reading a single variable, as a multiple of the slowest read's time, but at least `LEAST_ALONE_MS`. */
const DEADLINE_FACTOR = 4;
const LEAST_ALONE_MS = 1000;

/**
 * Returns a reader that requests the values in each poll. Each read includes the list of namespaces. If the list has changed since the
 * nodes were resolved, the same ids may mean other variables, so the session ends with a LinkError.
 */
export function cyclicReader(server: OpenServer): GroupReader {
  const read = retryingReader(server);
  return async (groups) => {
    const found = placesOf(server, groups);
    const values = (await read(nodesOf(found))).values();
    const samples = found.map(({ tag, place }) => {
      if ("reason" in place) return absent(tag, place.reason);
      const raw = values.next().value;
      return raw === null ? absent(tag, "no_answer") : sampleOf(tag, raw ?? MISSING, server);
    });
    const tags = found.map(({ tag }) => tag);
    return byGroup(groups, tags, samples);
  };
}

type Readable = Pick<OpenServer, "opcua" | "session" | "resolved">;

/**
 * Returns a function that reads nodes in one request. If that request takes too long, reads each node alone. A node that takes too long
 * even alone is slow: polls skip it (null). A separate request retries it every minute until it answers.
 */
export function retryingReader(server: Readable): (nodes: readonly NodeId[]) => Promise<readonly (RawValue | null)[]> {
  /** Monotonic time at which each slow node may be read again. */
  const slow = new Map<string, number>();
  let slowest_ms = 0;
  let aside: Promise<void> | null = null;
  const timely = async (nodes: readonly NodeId[], asking: Asking): Promise<readonly RawValue[] | null> => {
    const began = monotonicMs();
    try {
      const values = await readAll(server, nodes, { ...asking, survives: true });
      slowest_ms = Math.max(slowest_ms, monotonicMs() - began);
      return values;
    } catch (error) {
      if (error instanceof Overdue) return null;
      throw error;
    }
  };
  const tryAgain = async (node: NodeId, key: string): Promise<void> => {
    // Ignores the end of the link, because the polls show it too.
    const values = await timely([node], { slot: "aside" }).catch(() => null);
    if (values === null) slow.set(key, monotonicMs() + RETRY_MS);
    else slow.delete(key);
    aside = null;
  };
  const alone = async (nodes: readonly NodeId[]): Promise<readonly (RawValue | null)[]> => {
    const within_ms = Math.max(LEAST_ALONE_MS, DEADLINE_FACTOR * slowest_ms);
    const values: (RawValue | null)[] = [];
    for (const node of nodes) {
      const [value = null] = (await timely([node], { within_ms })) ?? [];
      values.push(value);
      if (value !== null) continue;
      slow.set(node.toString(), monotonicMs() + RETRY_MS);
      if (slow.size > MAX_SLOW) throw new LinkError("timeout", message("plc.opcua.slow"));
    }
    if (values.every((value) => value === null)) throw new LinkError("timeout", message("plc.opcua.no_read"));
    return values;
  };
  return async (nodes) => {
    const quick = nodes.filter((node) => !slow.has(node.toString()));
    const due = nodes.find((node) => (slow.get(node.toString()) ?? Infinity) <= monotonicMs());
    if (due !== undefined) aside ??= tryAgain(due, due.toString());
    const values = ((await timely(quick, {})) ?? (await alone(quick))).values();
    const kept = new Set(quick);
    return nodes.map((node) => (kept.has(node) ? (values.next().value ?? null) : null));
  };
}

export interface PlacedTag {
  readonly tag: OpcuaTag;
  readonly place: Place;
}

/** Returns the tags of the groups, or all tags, in the profile's order. Throws a LinkError if a group has no tag. */
export function placesOf({ profile, resolved }: OpenServer, groups?: readonly string[]): readonly PlacedTag[] {
  const all = profile.tags.map((tag, index) => ({ tag, place: resolved.places[index] ?? { reason: "BadNoMatch" } }));
  if (groups === undefined) return all;
  const wanted = new Set(tagsOfGroups(profile, groups));
  return all.filter(({ tag }) => wanted.has(tag));
}

export function nodesOf(found: readonly PlacedTag[]): readonly NodeId[] {
  return found.flatMap(({ place }) => ("node" in place ? [place.node] : []));
}

export function absent({ name }: OpcuaTag, reason: string): Sample {
  return { tag: name, value: null, quality: "bad", reason };
}

export const MISSING: RawValue = { type: 0, isScalar: true, value: null, status: "Good", code: 0, source_at: null };

/** Reads the values of these nodes, in as many requests as the server's limit requires. */
async function readAll({ opcua, session, resolved }: Readable, nodes: readonly NodeId[], asking: Asking = {}) {
  const values: RawValue[] = [];
  // Leaves room for the list of namespaces, which each request also reads and which counts as a node.
  const size = Math.max(1, resolved.max_nodes - 1);
  for (let at = 0; at === 0 || at < nodes.length; at += size) {
    const some = nodes.slice(at, at + size);
    const nodesToRead = [opcua.coerceNodeId(NAMESPACE_ARRAY), ...some].map((nodeId) => ({
      nodeId,
      attributeId: VALUE,
    }));
    const request = new opcua.ReadRequest({
      nodesToRead,
      timestampsToReturn: opcua.TimestampsToReturn.Source,
      maxAge: 0,
    });
    const { results } = await session.ask(request, opcua.ReadResponse, asking);
    const [namespaces, ...came] = results ?? [];
    if (came.length !== some.length) {
      throw new LinkError("malformed", message("plc.opcua.few_values", { asked: some.length, came: came.length }));
    }
    checkNamespaces(resolved.namespaces, namespaces?.value.value as unknown);
    for (const value of came) values.push(rawOf(opcua, value));
  }
  return values;
}

/** Throws a LinkError if the server's list of namespaces has changed since the nodes were resolved. */
export function checkNamespaces(known: readonly string[], came: unknown): void {
  const now = namespacesIn(came);
  if (now?.length === known.length && now.every((uri, index) => uri === known[index])) return;
  throw new LinkError("closed", message("plc.opcua.namespaces"));
}

/** Converts the library's value to plain data. */
export function rawOf(opcua: Pick<Opcua, "VariantArrayType">, { value, statusCode, sourceTimestamp }: DataValue) {
  return {
    type: value.dataType,
    isScalar: value.arrayType === opcua.VariantArrayType.Scalar,
    value: value.value as unknown,
    status: statusCode.name,
    code: statusCode.value,
    source_at: sourceTimestamp?.getTime() ?? null,
  };
}

type NodeId = ReturnType<Opcua["coerceNodeId"]>;

/** A tag's node in this session, or the reason why the tag has no node. */
type Place = { readonly node: NodeId } | { readonly reason: string };

export const NAMESPACE_ARRAY = "i=2255";
const MAX_NODES_PER_READ = "i=11705";
const OBJECTS = "i=85";
export const HIERARCHICAL = "i=33";
/** The attribute of a node that holds its value. */
export const VALUE = 13;
const MAX_PATHS_PER_REQUEST = 50;
const STANDARD_NAMESPACE = "http://opcfoundation.org/UA/";

type Resolved = Awaited<ReturnType<typeof resolveTags>>;

/** Resolves every tag. Namespace indexes and node ids are only valid during one session. */
export async function resolveTags(
  opcua: Opcua,
  session: Session,
  { tags, quirks }: Pick<OpcuaProfile, "tags" | "quirks">,
) {
  const [namespaceArray, limit] = await readRaw(opcua, session, [NAMESPACE_ARRAY, MAX_NODES_PER_READ]);
  const namespaces = namespacesFrom(namespaceArray);
  const max_nodes = Math.min(quirks.max_nodes_per_read, typeof limit === "number" && limit > 0 ? limit : Infinity);
  const places = await lookUp(opcua, session, { tags, namespaces });
  if (!places.some((place) => "node" in place)) throw nothingFound(tags, namespaces);
  // `namespaces`: URIs by index. `places`: one for each tag, in the profile's order. `max_nodes`: maximum number of variables in a read.
  return { namespaces, places, max_nodes };
}

/** Returns the namespaces; null if the value is no list of texts. */
function namespacesIn(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((one): one is string => typeof one === "string") ? value : null;
}

function namespacesFrom(value: unknown): readonly string[] {
  const namespaces = namespacesIn(value);
  if (namespaces === null) throw new LinkError("malformed", message("plc.opcua.no_namespaces"));
  return namespaces;
}

/** Reads the server's list of namespaces. */
export async function readNamespaces(opcua: Opcua, session: Pick<Session, "ask">): Promise<readonly string[]> {
  const [value] = await readRaw(opcua, session, [NAMESPACE_ARRAY]);
  return namespacesFrom(value);
}

async function readRaw(
  opcua: Opcua,
  session: Pick<Session, "ask">,
  nodes: readonly string[],
): Promise<readonly unknown[]> {
  const nodesToRead = nodes.map((nodeId) => ({ nodeId, attributeId: VALUE }));
  const { results } = await session.ask(new opcua.ReadRequest({ nodesToRead }), opcua.ReadResponse);
  return (results ?? []).map(({ value }) => value.value as unknown);
}

async function lookUp(
  opcua: Opcua,
  session: Session,
  { tags, namespaces }: { readonly tags: readonly OpcuaTag[]; readonly namespaces: readonly string[] },
): Promise<readonly Place[]> {
  const indexOf = (uri: string): number => (uri === STANDARD_NAMESPACE ? 0 : namespaces.indexOf(uri));
  const places: Place[] = tags.map(({ point }) => placeById(opcua, point.node, indexOf));
  const byPath = tags.flatMap(({ point }, index) => {
    const names = "path" in point.node ? point.node.path : [];
    return names.length > 0 && names.every(({ namespace }) => indexOf(namespace) >= 0) ? [{ index, names }] : [];
  });
  for (let at = 0; at < byPath.length; at += MAX_PATHS_PER_REQUEST) {
    const some = byPath.slice(at, at + MAX_PATHS_PER_REQUEST);
    const found = await translate(
      opcua,
      session,
      some.map(({ names }) => names.map(({ namespace, name }) => ({ namespaceIndex: indexOf(namespace), name }))),
    );
    for (const [i, { index }] of some.entries()) places[index] = found[i] ?? { reason: "BadNoMatch" };
  }
  return places;
}

function placeById(opcua: Opcua, node: OpcuaTag["point"]["node"], indexOf: (uri: string) => number): Place {
  if (namespacesOf(node).some((uri) => indexOf(uri) < 0)) return { reason: "no_namespace" };
  if ("path" in node) return { reason: "BadNoMatch" };
  return { node: opcua.coerceNodeId(`ns=${indexOf(node.namespace)};${node.id}`) };
}

async function translate(
  opcua: Opcua,
  session: Session,
  paths: readonly (readonly { readonly namespaceIndex: number; readonly name: string }[])[],
): Promise<readonly Place[]> {
  const request = new opcua.TranslateBrowsePathsToNodeIdsRequest({
    browsePaths: paths.map((names) => ({
      startingNode: opcua.coerceNodeId(OBJECTS),
      relativePath: {
        elements: names.map((targetName) => ({
          referenceTypeId: opcua.coerceNodeId(HIERARCHICAL),
          isInverse: false,
          includeSubtypes: true,
          targetName,
        })),
      },
    })),
  });
  const { results } = await session.ask(request, opcua.TranslateBrowsePathsToNodeIdsResponse);
  return paths.map((_, index): Place => {
    const result = results?.[index];
    const target = result?.targets?.[0];
    if (target === undefined) return { reason: result?.statusCode.name ?? "BadNoMatch" };
    return { node: opcua.coerceNodeId(target.targetId) };
  });
}

function nothingFound(tags: readonly OpcuaTag[], namespaces: readonly string[]): LinkError {
  const wanted = new Set(tags.flatMap(({ point: { node } }) => namespacesOf(node)));
  const missing = [...wanted].filter((uri) => !namespaces.includes(uri)).join(", ");
  if (missing === "") return new LinkError("config", message("plc.opcua.nothing"));
  const has = namespaces.slice(1, 10).join(", ");
  return new LinkError("config", message("plc.opcua.no_namespace", { missing, has }));
}

function namespacesOf(node: OpcuaTag["point"]["node"]): readonly string[] {
  return "path" in node ? node.path.map(({ namespace }) => namespace) : [node.namespace];
}
