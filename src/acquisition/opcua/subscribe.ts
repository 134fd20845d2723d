import type { LinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import {
  absent,
  type GroupReader,
  MISSING,
  nodesOf,
  retryingReader,
  type PlacedTag,
  placesOf,
  type ReaderParts,
  VALUE,
} from "./cyclic.ts";
import { NAMESPACE_ARRAY, type NodeId } from "./nodes.ts";
import { NAMESPACES_HANDLE, type Notifications, notificationsOf } from "./notifications.ts";
import { followNews, refusable } from "./news.ts";
import { samplingOf, shortfallOf, slowSampling, type SubscriptionGrant, wishFor } from "./subscription-plan.ts";
import { sampleOf } from "./value.ts";

export interface SubscribeParts extends ReaderParts {
  readonly idle_ms: Milliseconds;
  /** Told why the link has failed, outside of any read. */
  readonly onFail: (error: LinkError) => void;
}

/** Or why polls must ask. */
export type Subscribed = { readonly read: GroupReader } | { readonly refused: string };

interface Item {
  readonly handle: number;
  readonly node: NodeId;
  readonly sampling_ms: Milliseconds;
  readonly poll_interval_ms: Milliseconds;
}

interface Subscription {
  readonly id: number;
  readonly grant: SubscriptionGrant;
}

/**
 * Lets the server tell what changes, and answers polls from that. A variable that the server doesn't have is bad; where
 * it refuses subscriptions, or grants fewer items or slower ones than polls would need, nothing is left of it.
 */
export async function subscribe(parts: SubscribeParts): Promise<Subscribed> {
  const subscription = await create(parts);
  if (typeof subscription === "string") return { refused: subscription };
  const found = placesOf(parts);
  const { id, grant } = subscription;
  const notifications = notificationsOf(parts.opcua, { subscription: id, namespaces: parts.resolved.namespaces });
  // What is there from the start is read, so that no poll has to wait for a first notification.
  const values = (await retryingReader(parts)(nodesOf(found))).values();
  for (const [index, { place }] of found.entries()) {
    const raw = "node" in place ? values.next().value : undefined;
    if (raw !== undefined && raw !== null) notifications.put(index + 1, raw);
  }
  const short = shortfallOf(grant, parts.profile.groups) ?? (await addItems(parts, { found, id, notifications }));
  if (short !== null) return giveUp(parts, id, short);
  const { session, opcua, onFail } = parts;
  const news = await followNews({ session, opcua, id, grant, notifications, onFail });
  if (typeof news === "string") return giveUp(parts, id, news);
  return {
    read: async (group) => {
      const tags = new Set(placesOf(parts, group).map(({ tag }) => tag.name));
      await news.fresh();
      return found.flatMap(({ tag, place }, index) => {
        if (!tags.has(tag.name)) return [];
        if ("reason" in place) return [absent(tag, place.reason)];
        return [sampleOf(tag, notifications.newest(index + 1) ?? MISSING, parts)];
      });
    },
  };
}

async function create({ opcua, session, profile, idle_ms }: SubscribeParts): Promise<Subscription | string> {
  const wish = wishFor(profile.groups, idle_ms);
  const request = new opcua.CreateSubscriptionRequest({
    requestedPublishingInterval: wish.publishing_ms,
    requestedMaxKeepAliveCount: wish.keep_alive_count,
    requestedLifetimeCount: wish.lifetime_count,
    maxNotificationsPerPublish: 0,
    publishingEnabled: true,
    priority: 0,
  });
  const came = await refusable(session.ask(request, opcua.CreateSubscriptionResponse, { tolerant: true }));
  if (typeof came === "string") return came;
  const { subscriptionId: id, revisedPublishingInterval, revisedMaxKeepAliveCount } = came;
  return { id, grant: { publishing_ms: revisedPublishingInterval, keep_alive_count: revisedMaxKeepAliveCount } };
}

interface Items {
  readonly found: readonly PlacedTag[];
  readonly id: number;
  readonly notifications: Notifications;
}

/** null: all are watched, but for those that the server doesn't have, which are bad. */
async function addItems(parts: SubscribeParts, { found, id, notifications }: Items): Promise<string | null> {
  const { opcua, session, resolved } = parts;
  const items = itemsOf(parts, found);
  for (let at = 0; at < items.length; at += resolved.max_nodes) {
    const some = items.slice(at, at + resolved.max_nodes);
    const request = new opcua.CreateMonitoredItemsRequest({
      subscriptionId: id,
      timestampsToReturn: opcua.TimestampsToReturn.Source,
      itemsToCreate: some.map(({ handle, node, sampling_ms }) => ({
        itemToMonitor: { nodeId: node, attributeId: VALUE },
        monitoringMode: opcua.MonitoringMode.Reporting,
        // The newest value alone counts, as with a read.
        requestedParameters: { clientHandle: handle, samplingInterval: sampling_ms, queueSize: 1, discardOldest: true },
      })),
    });
    const came = await refusable(session.ask(request, opcua.CreateMonitoredItemsResponse, { tolerant: true }));
    if (typeof came === "string") return came;
    for (const [index, { handle, poll_interval_ms }] of some.entries()) {
      const result = came.results?.[index];
      if (result === undefined) return "it doesn't answer for every variable";
      const { statusCode, revisedSamplingInterval } = result;
      const { name: status, value: code } = statusCode;
      if (NOT_THERE.has(status) && handle !== NAMESPACES_HANDLE)
        notifications.put(handle, { ...MISSING, status, code });
      else if (code >>> 30 >= BAD) return `it doesn't watch a variable (${status})`;
      const slow = slowSampling(revisedSamplingInterval, poll_interval_ms);
      if (slow !== null) return slow;
    }
  }
  return null;
}

/** What a read would be told, too. */
const NOT_THERE: ReadonlySet<string> = new Set(["BadNodeIdUnknown", "BadNodeIdInvalid", "BadAttributeIdInvalid"]);
const BAD = 2;

function itemsOf({ opcua, profile: { groups } }: SubscribeParts, found: readonly PlacedTag[]): readonly Item[] {
  const intervals = Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms);
  const watched = found.flatMap(({ tag: { group }, place }, index): readonly Item[] => {
    if ("reason" in place) return [];
    const poll_interval_ms = groups[group]?.poll_interval_ms ?? Math.min(...intervals);
    return [{ handle: index + 1, node: place.node, sampling_ms: samplingOf(groups, group), poll_interval_ms }];
  });
  const node = opcua.coerceNodeId(NAMESPACE_ARRAY);
  // It changes when the server's programs do; a server may take its own time to look.
  const namespaces = { handle: NAMESPACES_HANDLE, node, sampling_ms: NAMESPACES_MS, poll_interval_ms: Infinity };
  return [namespaces, ...watched];
}

const NAMESPACES_MS = 1000;

async function giveUp({ opcua, session }: SubscribeParts, id: number, refused: string): Promise<Subscribed> {
  const request = new opcua.DeleteSubscriptionsRequest({ subscriptionIds: [id] });
  await refusable(session.ask(request, opcua.DeleteSubscriptionsResponse, { tolerant: true }));
  return { refused };
}
