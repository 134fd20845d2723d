import { type Text, message } from "./message.ts";
import type { LinkStatus, MqttVersion } from "./status.ts";
import type { EpochMs, Milliseconds } from "./units.ts";

export function linkDown(now: EpochMs, reason: Text, advice: Text = ""): Extract<LinkStatus, { kind: "down" }> {
  return { kind: "down", since: now, reason, advice, attempt: 0, next_try_at: null };
}

/** Returns the new status of a continuing outage: `since` is kept, all other fields are replaced. */
export function stillDown(before: LinkStatus, now: Extract<LinkStatus, { kind: "down" }>): LinkStatus {
  return before.kind === "down" ? { ...now, since: before.since } : now;
}

/** The connection to the service. Only delivery writes this state. */
export interface ServiceState {
  /** The session with the broker. */
  link: LinkStatus;
  /** Whether a session should exist. That needs a bound booth and a broker. */
  wanted: boolean;
  /** The MQTT version of the last session; null: there was no session. */
  mqtt: MqttVersion | null;
  /** Result of the last HTTP request to the service, at mono `at`; null: no request was made yet. */
  answers: { readonly at: Milliseconds; readonly link: LinkStatus } | null;
}

export function newServiceState(now: EpochMs): ServiceState {
  return { link: linkDown(now, message("plc.not_yet")), wanted: false, mqtt: null, answers: null };
}

/** Time for which an HTTP answer proves that the service is reachable. The gateway sends a request every five minutes. */
const TELLS_FOR_MS: Milliseconds = 600_000;

/** Returns the service's state for people. If no session should exist, the service counts as up while it answers requests. */
export function serviceLinkOf({ link, wanted, answers }: Readonly<ServiceState>, mono: Milliseconds): LinkStatus {
  const isFresh = answers !== null && mono - answers.at < TELLS_FOR_MS;
  return isFresh && !wanted ? answers.link : link;
}
