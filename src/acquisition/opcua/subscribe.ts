import { message, type Text } from "../../domain/message.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaProfile } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { byGroup, quickestOf } from "../rules/link.ts";
import { RefusedService } from "./channel.ts";
import {
  absent,
  checkNamespaces,
  type GroupReader,
  MISSING,
  NAMESPACE_ARRAY,
  nodesOf,
  type OpenServer,
  type PlacedTag,
  placesOf,
  rawOf,
  retryingReader,
  VALUE,
} from "./cyclic.ts";
import type { Opcua } from "./library.ts";
import { type RawValue, sampleOf } from "./value.ts";
import { monotonicMs } from "../../monotonic.ts";

/** The result of a subscription. `refused`: why each poll must read the values instead. */
type Subscribed = { readonly read: GroupReader } | { readonly refused: Text };

/**
 * Subscribes to changes, and answers polls from the newest values. A variable that the server doesn't have becomes a bad sample. If the
 * server refuses the subscription, or grants fewer or slower items than polls need, the subscription is deleted.
 * @param onFail called if the link fails outside of a read
 */
export async function subscribe(
  server: OpenServer,
  idle_ms: Milliseconds,
  onFail: (error: LinkError) => void,
): Promise<Subscribed> {
  const subscription = await create(server, idle_ms);
  if (subscription.refused !== undefined) return { refused: subscription.refused };
  const found = placesOf(server);
  const { id, grant } = subscription;
  const notifications = notificationsOf(server.opcua, { subscription: id, namespaces: server.resolved.namespaces });
  // Reads the initial values, so that no poll has to wait for a first notification.
  const values = (await retryingReader(server)(nodesOf(found))).values();
  for (const [index, { place }] of found.entries()) {
    const raw = "node" in place ? values.next().value : undefined;
    if (raw !== undefined && raw !== null) notifications.put(index + 1, raw);
  }
  const short = shortfallOf(grant, server.profile.groups) ?? (await addItems(server, { found, id, notifications }));
  if (short !== null) return giveUp(server, id, short);
  const { session, opcua } = server;
  const handles = new Map(found.map(({ tag }, index) => [tag.name, index + 1]));
  const news = await followNews({ session, opcua, id, grant, notifications }, onFail);
  if (news.refused !== undefined) return giveUp(server, id, news.refused);
  return {
    read: async (groups) => {
      const wanted = placesOf(server, groups);
      await news.fresh();
      const samples = wanted.map(({ tag, place }) => {
        if ("reason" in place) return absent(tag, place.reason);
        return sampleOf(tag, notifications.newest(handles.get(tag.name) ?? 0) ?? MISSING, server);
      });
      const tags = wanted.map(({ tag }) => tag);
      return byGroup(groups, tags, samples);
    },
  };
}

async function create({ opcua, session, profile }: OpenServer, idle_ms: Milliseconds) {
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
  if (came instanceof RefusedService) return { refused: came.text };
  const { subscriptionId: id, revisedPublishingInterval, revisedMaxKeepAliveCount } = came;
  return { id, grant: { publishing_ms: revisedPublishingInterval, keep_alive_count: revisedMaxKeepAliveCount } };
}

/**
 * Adds the monitored items. Returns why polls must read instead; null: all existing variables are monitored. Variables that the server
 * doesn't have become bad samples.
 */
async function addItems(
  server: OpenServer,
  { found, id, notifications }: { found: readonly PlacedTag[]; id: number; notifications: Notifications },
): Promise<Text | null> {
  const { opcua, session, resolved } = server;
  const items = itemsOf(server, found);
  for (let at = 0; at < items.length; at += resolved.max_nodes) {
    const some = items.slice(at, at + resolved.max_nodes);
    const request = new opcua.CreateMonitoredItemsRequest({
      subscriptionId: id,
      timestampsToReturn: opcua.TimestampsToReturn.Source,
      itemsToCreate: some.map(({ handle, node, sampling_ms }) => ({
        itemToMonitor: { nodeId: node, attributeId: VALUE },
        monitoringMode: opcua.MonitoringMode.Reporting,
        // Requests only the newest value, as with a read.
        requestedParameters: { clientHandle: handle, samplingInterval: sampling_ms, queueSize: 1, discardOldest: true },
      })),
    });
    const came = await refusable(session.ask(request, opcua.CreateMonitoredItemsResponse, { tolerant: true }));
    if (came instanceof RefusedService) return came.text;
    for (const [index, { handle, poll_interval_ms }] of some.entries()) {
      const result = came.results?.[index];
      if (result === undefined) return message("plc.opcua.not_every");
      const { statusCode, revisedSamplingInterval } = result;
      const { name: status, value: code } = statusCode;
      if (NOT_THERE.test(status) && handle !== NAMESPACES_HANDLE)
        notifications.put(handle, { ...MISSING, status, code });
      else if (code >>> 30 >= BAD) return message("plc.opcua.not_watched", { status });
      const slow = slowSampling(revisedSamplingInterval, poll_interval_ms);
      if (slow !== null) return slow;
    }
  }
  return null;
}

/** Statuses of variables that don't exist. A read would get the same statuses. */
const NOT_THERE = /^Bad(NodeIdUnknown|NodeIdInvalid|AttributeIdInvalid)$/;
const BAD = 2;

function itemsOf({ opcua, profile: { groups } }: OpenServer, found: readonly PlacedTag[]) {
  const watched = found.flatMap(({ tag: { group }, place }, index) => {
    if ("reason" in place) return [];
    const poll_interval_ms = groups[group]?.poll_interval_ms ?? quickestOf(groups);
    // Samples at half the poll interval, so that a value is hardly older than a value from a read.
    return [{ handle: index + 1, node: place.node, sampling_ms: poll_interval_ms / 2, poll_interval_ms }];
  });
  const node = opcua.coerceNodeId(NAMESPACE_ARRAY);
  // Lets the server sample the list of namespaces slowly, because the list changes only with the server's programs.
  const namespaces = { handle: NAMESPACES_HANDLE, node, sampling_ms: NAMESPACES_MS, poll_interval_ms: Infinity };
  return [namespaces, ...watched];
}

const NAMESPACES_MS = 1000;

async function giveUp({ opcua, session }: OpenServer, id: number, refused: Text): Promise<Subscribed> {
  const request = new opcua.DeleteSubscriptionsRequest({ subscriptionIds: [id] });
  await refusable(session.ask(request, opcua.DeleteSubscriptionsResponse, { tolerant: true }));
  return { refused };
}

type PublishAnswer = InstanceType<Opcua["PublishResponse"]>;

/** Client handle of the list of namespaces, which is monitored too. */
const NAMESPACES_HANDLE = 0;
const LAST_SEQUENCE = 0xffff_ffff;

/** Holds the newest value of each variable of a subscription, by client handle. */
export function notificationsOf(
  opcua: Opcua,
  { subscription, namespaces }: { readonly subscription: number; readonly namespaces: readonly string[] },
) {
  const held = new Map<number, RawValue>();
  let expected: number | null = null;
  const inOrder = (sequence: number, isData: boolean): void => {
    // Accepts a keep-alive with the last sequence number. It should carry the next number, but some servers repeat the last one.
    if (expected !== null && (isData ? sequence !== expected : sequence > expected)) {
      throw new LinkError("malformed", message("plc.opcua.lost_news", { came: sequence, expected }));
    }
    if (isData) expected = sequence === LAST_SEQUENCE ? 1 : sequence + 1;
  };
  const addValue = (handle: number, raw: RawValue): void => {
    if (handle === NAMESPACES_HANDLE) checkNamespaces(namespaces, raw.value);
    else held.set(handle, raw);
  };
  return {
    put: addValue,
    /** Handles a publish response. Returns the sequence number to acknowledge, or null. Throws a LinkError if a notification is lost. */
    take: ({ subscriptionId, notificationMessage }: PublishAnswer): number | null => {
      const { sequenceNumber, notificationData } = notificationMessage;
      if (subscriptionId !== subscription) throw new LinkError("malformed", message("plc.opcua.foreign_news"));
      const data = notificationData ?? [];
      inOrder(sequenceNumber, data.length > 0);
      for (const one of data) {
        if (one instanceof opcua.StatusChangeNotification) {
          throw new LinkError("closed", message("plc.opcua.subscription_ended", { name: one.status.name }));
        }
        if (!(one instanceof opcua.DataChangeNotification)) {
          throw new LinkError("malformed", message("plc.opcua.odd_notification"));
        }
        for (const { clientHandle, value } of one.monitoredItems ?? []) addValue(clientHandle, rawOf(opcua, value));
      }
      return data.length > 0 ? sequenceNumber : null;
    },
    /**
     * Returns the newest value; undefined if no value has arrived. The device's time is returned only once per value, because it stays the
     * same while the value is unchanged.
     */
    newest: (handle: number): RawValue | undefined => {
      const raw = held.get(handle);
      if (raw !== undefined) held.set(handle, { ...raw, source_at: null });
      return raw;
    },
  };
}

type Notifications = ReturnType<typeof notificationsOf>;

/** A subscription and its session. */
interface Followed extends Pick<OpenServer, "opcua" | "session"> {
  readonly id: number;
  readonly grant: SubscriptionGrant;
  readonly notifications: Notifications;
}

/**
 * Keeps one publish request pending at the server until the session ends. The deadline of the request is the watchdog. If the server sends
 * no message for three keep-alive intervals, the link has failed, even if its connection is open. Resolves with the reason if the server
 * refuses the first request.
 */
export async function followNews(followed: Followed, onFail: (error: LinkError) => void) {
  const { grant, notifications } = followed;
  const fresh_ms = keepAliveOf(grant) + grant.publishing_ms;
  let next = Promise.withResolvers<undefined>();
  let failed: LinkError | null = null;
  let heard_at = 0;
  let taken: number | null = null;
  const hear = (answer: PublishAnswer): void => {
    taken = notifications.take(answer);
    heard_at = monotonicMs();
    next.resolve(undefined);
    next = Promise.withResolvers<undefined>();
  };
  const follow = async (): Promise<never> => {
    for (;;) hear(await publish(followed, { taken, tolerant: false }));
  };
  const first = await refusable(publish(followed, { taken, tolerant: true }));
  if (first instanceof RefusedService) return { refused: first.text };
  hear(first);
  follow().catch((error: unknown) => {
    failed =
      error instanceof LinkError ? error : new LinkError("malformed", message("plc.opcua.odd_notification"), error);
    onFail(failed);
    next.resolve(undefined);
  });
  return {
    /** Resolves when the server's last message is so recent that the stored values are current. Rejects if the link has failed. */
    fresh: async (): Promise<void> => {
      if (failed === null && monotonicMs() - heard_at > fresh_ms) await next.promise;
      if (failed !== null) throw failed;
    },
  };
}

function publish(
  { opcua, session, id, grant }: Followed,
  { taken, tolerant }: { readonly taken: number | null; readonly tolerant: boolean },
): Promise<PublishAnswer> {
  const acknowledged = taken === null ? [] : [{ subscriptionId: id, sequenceNumber: taken }];
  const request = new opcua.PublishRequest({ subscriptionAcknowledgements: acknowledged });
  return session.ask(request, opcua.PublishResponse, { slot: "publish", within_ms: watchdogOf(grant), tolerant });
}

/** Returns the answer, or the server's refusal. Other errors reject. */
async function refusable<T extends object>(answer: Promise<T>): Promise<T | RefusedService> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RefusedService) return error;
    throw error;
  }
}

type Groups = OpcuaProfile["groups"];

interface SubscriptionGrant {
  readonly publishing_ms: Milliseconds;
  /** Number of publishing intervals without a change after which the server sends a keep-alive. */
  readonly keep_alive_count: number;
}

/** Keep-alive interval that is requested from the server. It reveals a dead link about as fast as a read's deadline does. */
const KEEP_ALIVE_MS = 1500;
const MIN_PUBLISHING_MS = 50;
const MAX_PUBLISHING_MS = 1000;
/** Number of keep-alive intervals without a message after which the link has failed. */
const MISSED_KEEP_ALIVES = 3;
/** Largest age of values when a dead link is noticed. If the server's intervals are longer, polls read instead. */
const MAX_WATCHDOG_MS = 30_000;

/**
 * Returns the requested intervals. `lifetime_count`: number of publishing intervals without a request after which the server deletes the
 * subscription.
 */
export function wishFor(groups: Groups, idle_ms: Milliseconds) {
  const publishing_ms = Math.min(MAX_PUBLISHING_MS, Math.max(MIN_PUBLISHING_MS, quickestOf(groups) / 2));
  const keep_alive_count = Math.max(1, Math.floor(KEEP_ALIVE_MS / publishing_ms));
  const lifetime_count = Math.max(MISSED_KEEP_ALIVES * keep_alive_count, Math.ceil(idle_ms / publishing_ms));
  return { publishing_ms, keep_alive_count, lifetime_count };
}

/** Returns why polls must read instead; null: the granted intervals are short enough. */
export function shortfallOf(grant: SubscriptionGrant, groups: Groups): string | null {
  if (!(grant.publishing_ms > 0) || grant.keep_alive_count < 1) return "it grants no publishing interval";
  const shortest = quickestOf(groups);
  if (grant.publishing_ms > shortest) {
    return `it publishes every ${grant.publishing_ms} ms, polls come every ${shortest} ms`;
  }
  const watchdog_ms = watchdogOf(grant);
  return watchdog_ms > MAX_WATCHDOG_MS ? `a dead link would be noticed after ${watchdog_ms} ms only` : null;
}

/** Returns why a sampling interval is too long; null: it is short enough. 0 means sampling at each change. */
export function slowSampling(sampling_ms: Milliseconds, poll_interval_ms: Milliseconds): string | null {
  if (sampling_ms <= poll_interval_ms) return null;
  return `it samples every ${sampling_ms} ms, polls come every ${poll_interval_ms} ms`;
}

function keepAliveOf({ publishing_ms, keep_alive_count }: SubscriptionGrant): Milliseconds {
  return publishing_ms * keep_alive_count;
}

/** Returns the time without a message after which the link has failed. */
export function watchdogOf(grant: SubscriptionGrant): Milliseconds {
  return MISSED_KEEP_ALIVES * keepAliveOf(grant);
}
