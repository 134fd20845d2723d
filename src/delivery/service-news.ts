import { isSameText, message } from "../domain/message.ts";
import { serviceAdviceFor, type ServiceLinkError } from "../domain/link-error.ts";
import type { LinkStatus, MqttVersion } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import { linkDown, type ServiceState, stillDown } from "../domain/link-status.ts";
import type { DeliveryGateway } from "./context.ts";
import type { ServiceApi } from "./port.ts";
import type { ServiceAnswer } from "../domain/service.ts";

export function serviceIsUp(
  { clock, log, service, news }: DeliveryGateway,
  { url, took_ms, mqtt }: { url: string; took_ms: number; mqtt: MqttVersion | null },
): void {
  Object.assign(service, { link: { kind: "up", since: clock.wall() }, mqtt });
  const text =
    mqtt === null || mqtt.why === ""
      ? `service link is up at ${url}`
      : message("service.log.up_by", { url, version: mqtt.version, why: mqtt.why });
  log.info({ event: "service_up", url, took_ms, mqtt: mqtt?.version }, text);
  news.raise();
}

/** Reports that the link was closed because no booth is bound. Afterwards, the state of the service is unknown. */
export function serviceIsLeft({ clock, log, service, news }: DeliveryGateway): void {
  if (service.link.kind !== "up") return;
  const reason = message("service.no_booth");
  service.link = linkDown(clock.wall(), reason, message("service.no_booth_todo"));
  service.answers = null;
  log.info({ event: "service_left", reason }, message("service.log.closed", { reason }));
  news.raise();
}

export function serviceIsDown(
  { clock, log, service, news }: DeliveryGateway,
  failure: { error: ServiceLinkError; attempt: number; wait: Milliseconds },
): void {
  const { text: reason, fault } = failure.error;
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
  if (before.kind === "up" || !isSameText(before.reason, reason)) {
    log.warn({ event: "service_down", fault, reason }, message("service.log.down", { reason }));
  }
  news.raise();
}

/**
 * Wraps the service's interface, so that each request shows in the service's state whether the service answers. Without a session, the
 * requests are the only evidence.
 */
export function watched(
  api: ServiceApi,
  { clock, service }: { readonly clock: Pick<Clock, "wall" | "mono">; readonly service: ServiceState },
): ServiceApi {
  const noting = async <T>(answering: Promise<ServiceAnswer<T>>): Promise<ServiceAnswer<T>> => {
    const answer = await answering;
    service.answers = { at: clock.mono(), link: linkBy(answer, service.answers?.link ?? null, clock.wall()) };
    return answer;
  };
  return {
    ...api,
    lookUp: (key, serial) => noting(api.lookUp(key, serial)),
    claim: (key, claim) => noting(api.claim(key, claim)),
    update: (key, serial, change) => noting(api.update(key, serial, change)),
  };
}

const KEPT = message("bind.kept");

/** Returns the link's state after an answer. Any answer except "keep" means that the service is up. */
function linkBy(answer: ServiceAnswer<unknown>, before: LinkStatus | null, now: EpochMs): LinkStatus {
  if (answer.kind !== "keep") return before?.kind === "up" ? before : { kind: "up", since: now };
  const down = linkDown(now, answer.reason, KEPT);
  return before === null ? down : stillDown(before, down);
}
