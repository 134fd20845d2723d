import type { OpcuaProfile } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** What is asked of a server's subscription, and whether what it grants will do. Pure. */

type Groups = OpcuaProfile["groups"];

export interface SubscriptionWish {
  readonly publishing_ms: Milliseconds;
  /** Publishing intervals without a change until the server says that it is still there. */
  readonly keep_alive_count: number;
  /** Publishing intervals without a request of ours until the server forgets the subscription. */
  readonly lifetime_count: number;
}

export type SubscriptionGrant = Omit<SubscriptionWish, "lifetime_count">;

/** The gateway must notice a dead link about as fast as a read's deadline would. */
const KEEP_ALIVE_MS = 1500;
const MIN_PUBLISHING_MS = 50;
const MAX_PUBLISHING_MS = 1000;
/** The link has failed when nothing has come for so many keep-alive intervals. */
const MISSED_KEEP_ALIVES = 3;
/** Values may be so old before a dead link is noticed; with a server that wants longer, reading is better. */
const MAX_WATCHDOG_MS = 30_000;

export function wishFor(groups: Groups, idle_ms: Milliseconds): SubscriptionWish {
  const publishing_ms = Math.min(MAX_PUBLISHING_MS, Math.max(MIN_PUBLISHING_MS, shortestOf(groups) / 2));
  const keep_alive_count = Math.max(1, Math.floor(KEEP_ALIVE_MS / publishing_ms));
  const lifetime_count = Math.max(MISSED_KEEP_ALIVES * keep_alive_count, Math.ceil(idle_ms / publishing_ms));
  return { publishing_ms, keep_alive_count, lifetime_count };
}

/** Half the poll interval, so that a poll's value is hardly older than one that it had asked for. */
export function samplingOf(groups: Groups, group: string): Milliseconds {
  return (groups[group]?.poll_interval_ms ?? shortestOf(groups)) / 2;
}

/** Why polls had better ask; null: what is granted will do. */
export function shortfallOf(grant: SubscriptionGrant, groups: Groups): string | null {
  if (!(grant.publishing_ms > 0) || grant.keep_alive_count < 1) return "it grants no publishing interval";
  const shortest = shortestOf(groups);
  if (grant.publishing_ms > shortest) {
    return `it publishes every ${grant.publishing_ms} ms, polls come every ${shortest} ms`;
  }
  const watchdog_ms = watchdogOf(grant);
  return watchdog_ms > MAX_WATCHDOG_MS ? `a dead link would be noticed after ${watchdog_ms} ms only` : null;
}

/** How the server would sample a group's variable; null: often enough. 0: whenever the value changes. */
export function slowSampling(sampling_ms: Milliseconds, poll_interval_ms: Milliseconds): string | null {
  if (sampling_ms <= poll_interval_ms) return null;
  return `it samples every ${sampling_ms} ms, polls come every ${poll_interval_ms} ms`;
}

export function keepAliveOf({ publishing_ms, keep_alive_count }: SubscriptionGrant): Milliseconds {
  return publishing_ms * keep_alive_count;
}

/** Without a word for so long the link has failed. */
export function watchdogOf(grant: SubscriptionGrant): Milliseconds {
  return MISSED_KEEP_ALIVES * keepAliveOf(grant);
}

function shortestOf(groups: Groups): Milliseconds {
  return Math.min(...Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms));
}
