import { adviceFor, type ServiceLinkError } from "../core/service-link-error.ts";
import type { Milliseconds } from "../core/types/units.ts";
import type { Clock, Logger } from "../ports.ts";
import type { Bell } from "./bell.ts";
import { stillDown, type ServiceBoard } from "./board.ts";

/** Who is told of the service's link. */
export interface ServiceNews {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service: ServiceBoard;
  readonly news: Bell;
}

export function serviceIsUp(parts: ServiceNews, session: { url: string; took_ms: number }): void {
  parts.service.link = { kind: "up", since: parts.clock.wall() };
  parts.log.info({ event: "service_up", ...session }, `service link is up at ${session.url}`);
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
