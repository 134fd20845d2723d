import { type Text, message } from "./message.ts";
import type { LinkStatus, MqttVersion } from "./status.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

export function linkDown(now: EpochMs, reason: Text, advice: Text = ""): Extract<LinkStatus, { kind: "down" }> {
  return { kind: "down", since: now, reason, advice, attempt: 0, next_try_at: null };
}

/** Updates an outage that continues: `since` is kept, all else is replaced. */
export function stillDown(before: LinkStatus, now: Extract<LinkStatus, { kind: "down" }>): LinkStatus {
  return before.kind === "down" ? { ...now, since: before.since } : now;
}

/** How the service is reached. Delivery alone writes it. */
export interface ServiceState {
  /** The session with the broker. */
  link: LinkStatus;
  /** A session is to be; without a bound booth, or a broker, none is. */
  wanted: boolean;
  /** The version of the last session; null: there was none. */
  mqtt: MqttVersion | null;
  /** How the service answered over HTTP, at mono `at`; null: it wasn't asked yet. */
  answers: { readonly at: Milliseconds; readonly link: LinkStatus } | null;
}

export function newServiceState(now: EpochMs): ServiceState {
  return { link: linkDown(now, message("plc.not_yet")), wanted: false, mqtt: null, answers: null };
}

/** An answer counts as a sign of life for this time. The gateway itself asks every five minutes. */
const TELLS_FOR_MS: Milliseconds = 600_000;

/** Returns the service's state for people. If no session is wanted, the service counts as up while it answers requests. */
export function serviceLinkOf({ link, wanted, answers }: Readonly<ServiceState>, mono: Milliseconds): LinkStatus {
  const isFresh = answers !== null && mono - answers.at < TELLS_FOR_MS;
  return isFresh && !wanted ? answers.link : link;
}
