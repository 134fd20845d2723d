import { adviceFor, type ServiceLinkError } from "../domain/service-link-error.ts";
import type { LinkStatus, MqttVersion } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Signal } from "../domain/signal.ts";
import { linkDown, type ServiceState, stillDown } from "../runtime/booth-state.ts";
import type { ServiceApi } from "./port.ts";
import type { ServiceAnswer } from "../domain/service.ts";

/** Who is told of the service's link. */
export interface ServiceNews {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service: ServiceState;
  readonly news: Signal;
}

export function serviceIsUp(
  parts: ServiceNews,
  session: { url: string; took_ms: number; mqtt: MqttVersion | null },
): void {
  const { url, took_ms, mqtt } = session;
  Object.assign(parts.service, { link: { kind: "up", since: parts.clock.wall() }, mqtt });
  const why = mqtt === null || mqtt.why === "" ? "" : `, by MQTT ${mqtt.version}: ${mqtt.why}`;
  parts.log.info({ event: "service_up", url, took_ms, mqtt: mqtt?.version }, `service link is up at ${url}${why}`);
  parts.news.ring();
}

/** No booth is left to speak for: what stood open was closed on purpose, and nothing is known of the service from here on. */
export function serviceIsLeft(parts: ServiceNews): void {
  if (parts.service.link.kind !== "up") return;
  const reason = "no booth is bound: nothing to deliver";
  parts.service.link = linkDown(parts.clock.wall(), reason, "it connects by itself once a booth is bound");
  parts.service.answers = null;
  parts.log.info({ event: "service_left", reason }, `service link is closed: ${reason}`);
  parts.news.ring();
}

export function serviceIsDown(
  parts: ServiceNews,
  failure: { error: ServiceLinkError; attempt: number; wait: Milliseconds },
): void {
  const { message: reason, fault } = failure.error;
  const now = parts.clock.wall();
  const before = parts.service.link;
  parts.service.link = stillDown(before, {
    kind: "down",
    since: now,
    reason,
    advice: adviceFor(fault),
    attempt: failure.attempt,
    next_try_at: now + failure.wait,
  });
  if (before.kind === "up" || before.reason !== reason) {
    parts.log.warn({ event: "service_down", fault, reason }, `service link is down: ${reason}`);
  }
  parts.news.ring();
}

/** The same, and the board shows how the service answers what it is asked: where no session is wanted that is all there is to tell. */
export function watched(
  api: ServiceApi,
  { clock, service }: { readonly clock: Pick<Clock, "wall" | "mono">; readonly service: ServiceState },
): ServiceApi {
  const heard = async <T>(answering: Promise<ServiceAnswer<T>>): Promise<ServiceAnswer<T>> => {
    const answer = await answering;
    service.answers = { at: clock.mono(), link: linkBy(answer, service.answers?.link ?? null, clock.wall()) };
    return answer;
  };
  return {
    ...api,
    lookUp: (key, serial) => heard(api.lookUp(key, serial)),
    claim: (key, claim) => heard(api.claim(key, claim)),
    update: (key, serial, change) => heard(api.update(key, serial, change)),
  };
}

const KEPT = "nothing to do: readings are kept and it is tried again by itself";

/** Whatever it says, a service that answers is there. */
function linkBy(answer: ServiceAnswer<unknown>, before: LinkStatus | null, now: EpochMs): LinkStatus {
  if (answer.kind !== "keep") return before?.kind === "up" ? before : { kind: "up", since: now };
  const down = linkDown(now, answer.reason, KEPT);
  return before === null ? down : stillDown(before, down);
}
