import type { LinkStatus, MqttVersion } from "./status.ts";
import type { EpochMs, Milliseconds } from "./units.ts";
import { say } from "./sentences.ts";

export function linkDown(now: EpochMs, reason: string, advice = ""): Extract<LinkStatus, { kind: "down" }> {
  return { kind: "down", since: now, reason, advice, attempt: 0, next_try_at: null };
}

/** The same outage goes on: since stays, the rest is new. */
export function stillDown(before: LinkStatus, now: Extract<LinkStatus, { kind: "down" }>): LinkStatus {
  return before.kind === "down" ? { ...now, since: before.since } : now;
}

/** How the service is reached. Delivery alone writes it. */
export interface ServiceState {
  /** The session with the broker. */
  link: LinkStatus;
  /** A session is to be; without a bound booth, or a broker, none is. */
  wanted: boolean;
  /** Of the last session; null: there was none. */
  mqtt: MqttVersion | null;
  /** How the service answered over HTTP, at mono `at`; null: it wasn't asked yet. */
  answers: { readonly at: Milliseconds; readonly link: LinkStatus } | null;
}

export function newServiceState(now: EpochMs): ServiceState {
  return { link: linkDown(now, say("plc.not_yet")), wanted: false, mqtt: null, answers: null };
}

/** An answer tells of the service for so long: where it is looked at by itself, that is every five minutes. */
const TELLS_FOR_MS: Milliseconds = 600_000;

/** The service as people are told of it: a session that isn't wanted isn't down, as long as the service answers. */
export function serviceLinkOf({ link, wanted, answers }: Readonly<ServiceState>, mono: Milliseconds): LinkStatus {
  const isFresh = answers !== null && mono - answers.at < TELLS_FOR_MS;
  return isFresh && !wanted ? answers.link : link;
}
