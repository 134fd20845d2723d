import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaName, OpcuaTag } from "../../domain/profile.ts";
import type { Opcua } from "./library.ts";
import type { Session } from "./session.ts";

export type NodeId = ReturnType<Opcua["coerceNodeId"]>;

/** Where a tag stands in this session, or why nowhere. */
export type Place = { readonly node: NodeId } | { readonly reason: string };

export interface Resolved {
  /** URIs by index, as they were when the nodes were resolved. */
  readonly namespaces: readonly string[];
  /** One for each tag of the profile, in its order. */
  readonly places: readonly Place[];
  /** Variables in one read, at most. */
  readonly max_nodes: number;
}

export const NAMESPACE_ARRAY = "i=2255";
const MAX_NODES_PER_READ = "i=11705";
const OBJECTS = "i=85";
const HIERARCHICAL = "i=33";
const VALUE = 13;
const MAX_PATHS_PER_REQUEST = 50;
const STANDARD_NAMESPACE = "http://opcfoundation.org/UA/";

export interface Wanted {
  readonly tags: readonly OpcuaTag[];
  readonly max_nodes_per_read: number;
}

/** Resolves every tag anew: indexes of namespaces and ids of nodes are only good for one session. */
export async function resolveTags(opcua: Opcua, session: Session, wanted: Wanted): Promise<Resolved> {
  const { ReadRequest, ReadResponse } = opcua;
  const nodesToRead = [NAMESPACE_ARRAY, MAX_NODES_PER_READ].map((nodeId) => ({ nodeId, attributeId: VALUE }));
  const { results } = await session.ask(new ReadRequest({ nodesToRead }), ReadResponse);
  const namespaces = namespacesIn(results?.[0]?.value.value as unknown);
  if (namespaces === null) throw new LinkError("malformed", "the server doesn't tell its namespaces");
  const limit = results?.[1]?.value.value as unknown;
  const max_nodes = Math.min(wanted.max_nodes_per_read, typeof limit === "number" && limit > 0 ? limit : Infinity);
  const places = await placesOf(opcua, session, { tags: wanted.tags, namespaces });
  if (!places.some((place) => "node" in place)) throw nothingFound(wanted.tags, namespaces);
  return { namespaces, places, max_nodes };
}

/** null: no list of texts. */
export function namespacesIn(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.every((one): one is string => typeof one === "string") ? value : null;
}

interface Lookup {
  readonly tags: readonly OpcuaTag[];
  readonly namespaces: readonly string[];
}

async function placesOf(opcua: Opcua, session: Session, { tags, namespaces }: Lookup): Promise<readonly Place[]> {
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
  const names: readonly Pick<OpcuaName, "namespace">[] = "path" in node ? node.path : [node];
  if (names.some(({ namespace }) => indexOf(namespace) < 0)) return { reason: "no_namespace" };
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
  const names = tags.flatMap(({ point: { node } }): readonly Pick<OpcuaName, "namespace">[] =>
    "path" in node ? node.path : [node],
  );
  const wanted = new Set(names.map(({ namespace }) => namespace));
  const missing = [...wanted].filter((uri) => !namespaces.includes(uri));
  const has = namespaces.slice(1, 10).join(", ");
  return missing.length === 0
    ? new LinkError("config", "the server has none of the profile's variables: is the PLC's program loaded?")
    : new LinkError(
        "config",
        `the server has no namespace ${missing.join(", ")}; it has ${has}: is the program loaded?`,
      );
}
