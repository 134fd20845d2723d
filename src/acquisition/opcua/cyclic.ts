import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaProfile, OpcuaTag } from "../../domain/profile.ts";
import { Overdue, type Asking } from "./channel.ts";
import type { Opcua } from "./library.ts";
import { NAMESPACE_ARRAY, namespacesIn, type NodeId, type Place, type Resolved } from "./nodes.ts";
import type { Session } from "./session.ts";
import type { Sample } from "../../domain/sample.ts";
import { type RawValue, sampleOf } from "./value.ts";

/** Reads the tags of a poll group in one session. */
export type GroupReader = (group: string) => Promise<readonly Sample[]>;

export interface ReaderParts {
  readonly opcua: Opcua;
  readonly session: Session;
  readonly profile: OpcuaProfile;
  readonly resolved: Resolved;
  /** Nobody vouches for the way that values came. */
  readonly insecure: boolean;
}

export type DataValue = NonNullable<InstanceType<Opcua["ReadResponse"]>["results"]>[number];

export const VALUE = 13;

/** A variable that takes longer than a read may last is tried again by itself, beside the polls, so long after. */
const RETRY_MS = 60_000;
/** More in one read, and it is the server that is slow. */
const MOST_SLOW = 3;
/** A variable alone is answered within so many times what the slowest read took, a second at least. */
const ROOM = 4;
const LEAST_ALONE_MS = 1000;

/**
 * Each poll is a read. The list of namespaces is read along with the values: if it has changed since the nodes were
 * resolved, the same ids may mean other variables, and the session is given up.
 */
export function cyclicReader(parts: ReaderParts): GroupReader {
  const read = retryingReader(parts);
  return async (group) => {
    const found = placesOf(parts, group);
    const values = (await read(nodesOf(found))).values();
    return found.map(({ tag, place }) => {
      if ("reason" in place) return absent(tag, place.reason);
      const raw = values.next().value;
      return raw === null ? absent(tag, "no_answer") : sampleOf(tag, raw ?? MISSING, parts);
    });
  };
}

type ReadParts = Pick<ReaderParts, "opcua" | "session" | "resolved">;

/**
 * Reads nodes in one go. Where that takes too long each is read alone, and those that take too long even then are left out from
 * then on: null. The others aren't kept waiting for them again.
 */
export function retryingReader(parts: ReadParts): (nodes: readonly NodeId[]) => Promise<readonly (RawValue | null)[]> {
  /** By node: when it may be tried again. */
  const slow = new Map<string, number>();
  let slowest_ms = 0;
  let aside: Promise<void> | null = null;
  const timely = async (nodes: readonly NodeId[], asking: Asking): Promise<readonly RawValue[] | null> => {
    const began = performance.now();
    try {
      const values = await readAll(parts, nodes, { ...asking, patient: true });
      slowest_ms = Math.max(slowest_ms, performance.now() - began);
      return values;
    } catch (error) {
      if (error instanceof Overdue) return null;
      throw error;
    }
  };
  const tryAgain = async (node: NodeId, key: string): Promise<void> => {
    // A link that ends meanwhile shows in the polls.
    const values = await timely([node], { slot: "aside" }).catch(() => null);
    if (values === null) slow.set(key, performance.now() + RETRY_MS);
    else slow.delete(key);
    aside = null;
  };
  const alone = async (nodes: readonly NodeId[]): Promise<readonly (RawValue | null)[]> => {
    const within_ms = Math.max(LEAST_ALONE_MS, ROOM * slowest_ms);
    const values: (RawValue | null)[] = [];
    for (const node of nodes) {
      const [value = null] = (await timely([node], { within_ms })) ?? [];
      values.push(value);
      if (value !== null) continue;
      slow.set(node.toString(), performance.now() + RETRY_MS);
      if (slow.size > MOST_SLOW) throw new LinkError("timeout", "the server takes too long over several variables");
    }
    if (values.every((value) => value === null)) throw new LinkError("timeout", "the server answers no read in time");
    return values;
  };
  return async (nodes) => {
    const quick = nodes.filter((node) => !slow.has(node.toString()));
    const due = nodes.find((node) => (slow.get(node.toString()) ?? Infinity) <= performance.now());
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

/** A group's tags, in the profile's order; without a group all. Throws a LinkError where there is none. */
export function placesOf({ profile, resolved }: ReaderParts, group?: string): readonly PlacedTag[] {
  const all = profile.tags.map((tag, index) => ({ tag, place: resolved.places[index] ?? { reason: "BadNoMatch" } }));
  const found = all.filter(({ tag }) => group === undefined || tag.group === group);
  if (found.length === 0) throw new LinkError("config", `the profile has no tag in group "${group ?? ""}"`);
  return found;
}

export function nodesOf(found: readonly PlacedTag[]): readonly NodeId[] {
  return found.flatMap(({ place }) => ("node" in place ? [place.node] : []));
}

export function absent({ name }: OpcuaTag, reason: string): Sample {
  return { tag: name, value: null, quality: "bad", reason };
}

export const MISSING: RawValue = { type: 0, isScalar: true, value: null, status: "Good", code: 0, source_at: null };

/** The values of these nodes, one for each, in as many reads as the server's limit wants. */
export async function readAll(
  { opcua, session, resolved }: ReadParts,
  nodes: readonly NodeId[],
  asking: Asking = {},
): Promise<readonly RawValue[]> {
  const values: RawValue[] = [];
  // One place of each read is for the list of namespaces.
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
      throw new LinkError("malformed", `asked for ${some.length} values, the server sent ${came.length}`);
    }
    checkNamespaces(resolved.namespaces, namespaces?.value.value as unknown);
    for (const value of came) values.push(rawOf(opcua, value));
  }
  return values;
}

/** Throws a LinkError where the server's list of namespaces isn't the one that nodes were resolved with. */
export function checkNamespaces(known: readonly string[], came: unknown): void {
  const now = namespacesIn(came);
  if (now?.length === known.length && now.every((uri, index) => uri === known[index])) return;
  throw new LinkError("closed", "the server's namespaces have changed: its variables are looked up anew");
}

/** The library's value as plain data. */
export function rawOf(
  parts: Pick<Opcua, "VariantArrayType">,
  { value, statusCode, sourceTimestamp }: DataValue,
): RawValue {
  return {
    type: value.dataType,
    isScalar: value.arrayType === parts.VariantArrayType.Scalar,
    value: value.value as unknown,
    status: statusCode.name,
    code: statusCode.value,
    source_at: sourceTimestamp?.getTime() ?? null,
  };
}
