import { serviceAdviceFor, type ServiceLinkError } from "../domain/link-error.ts";
import type { LinkStatus, MqttVersion } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import { linkDown, type ServiceState, stillDown } from "../domain/link-status.ts";
import type { DeliveryGateway } from "./context.ts";
import type { ServiceApi } from "./port.ts";
import type { ServiceAnswer } from "../domain/service.ts";
import { say } from "../domain/sentences.ts";

export function serviceIsUp(
  { clock, log, service, news }: DeliveryGateway,
  { url, took_ms, mqtt }: { url: string; took_ms: number; mqtt: MqttVersion | null },
): void {
  Object.assign(service, { link: { kind: "up", since: clock.wall() }, mqtt });
  const why = mqtt === null || mqtt.why === "" ? "" : `, by MQTT ${mqtt.version}: ${mqtt.why}`;
  log.info({ event: "service_up", url, took_ms, mqtt: mqtt?.version }, `service link is up at ${url}${why}`);
  news.raise();
}

/** No booth is left to speak for: what stood open was closed on purpose, and nothing is known of the service from here on. */
export function serviceIsLeft({ clock, log, service, news }: DeliveryGateway): void {
  if (service.link.kind !== "up") return;
  const reason = say("service.no_booth");
  service.link = linkDown(clock.wall(), reason, say("service.no_booth_todo"));
  service.answers = null;
  log.info({ event: "service_left", reason }, `service link is closed: ${reason}`);
  news.raise();
}

export function serviceIsDown(
  { clock, log, service, news }: DeliveryGateway,
  failure: { error: ServiceLinkError; attempt: number; wait: Milliseconds },
): void {
  const { message: reason, fault } = failure.error;
  const now = clock.wall();
  const before = service.link;
  service.link = stillDown(before, {
    kind: "down",
    since: now,
    reason,
    advice: serviceAdviceFor(fault),
    attempt: failure.attempt,
    next_try_at: now + failure.wait,
  });
  if (before.kind === "up" || before.reason !== reason) {
    log.warn({ event: "service_down", fault, reason }, `service link is down: ${reason}`);
  }
  news.raise();
}

/** The same, and it is noted how the service answers what it is asked: where no session is wanted that is all there is to tell. */
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

const KEPT = say("bind.kept");

/** Whatever it says, a service that answers is there. */
function linkBy(answer: ServiceAnswer<unknown>, before: LinkStatus | null, now: EpochMs): LinkStatus {
  if (answer.kind !== "keep") return before?.kind === "up" ? before : { kind: "up", since: now };
  const down = linkDown(now, answer.reason, KEPT);
  return before === null ? down : stillDown(before, down);
}
