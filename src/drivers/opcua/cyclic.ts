import { LinkError } from "../../core/link-error.ts";
import type { OpcuaProfile, OpcuaTag } from "../../core/types/profile.ts";
import type { Opcua } from "./library.ts";
import { NAMESPACE_ARRAY, namespacesIn } from "./nodes.ts";
import type { NodeId, Place, Resolved } from "./nodes.ts";
import type { Session } from "./session.ts";
import type { Sample } from "../../core/types/sample.ts";
import { sampleOf } from "./value.ts";
import type { RawValue } from "./value.ts";

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

/**
 * Each poll is a read. The list of namespaces is read along with the values: if it has changed since the nodes were
 * resolved, the same ids may mean other variables, and the session is given up.
 */
export function cyclicReader(parts: ReaderParts): GroupReader {
  return async (group) => {
    const found = placesOf(parts, group);
    const values = (await readAll(parts, nodesOf(found))).values();
    return found.map(({ tag, place }) => {
      if ("reason" in place) return absent(tag, place.reason);
      return sampleOf(tag, values.next().value ?? MISSING, parts);
    });
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
  { opcua, session, resolved }: Pick<ReaderParts, "opcua" | "session" | "resolved">,
  nodes: readonly NodeId[],
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
    const { results } = await session.ask(request, opcua.ReadResponse);
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
