import type { Backoff } from "./backoff.ts";
import type { ServiceLinkFault } from "./service-link-error.ts";
import type { Milliseconds } from "./types/units.ts";

const USUAL: Backoff = { base_ms: 1_000, cap_ms: 60_000 };
/** A key that was refused doesn't become good by asking: after a few quick tries it is looked at now and then. */
const REFUSED: Backoff = { base_ms: 1_000, cap_ms: 900_000 };
/** Two boxes with one identity throw each other out: each waits long, so that they don't play ping-pong. */
const TAKEN_OVER: Backoff = { base_ms: 60_000, cap_ms: 900_000 };

/** A session that lasted less than this ends no back-off, even if something was acked in it. */
const LASTING_MS: Milliseconds = 60_000;

export interface EndedSession {
  /** Failed sessions in a row before this one. */
  readonly attempt: number;
  /** The service acked something in it. */
  readonly proven: boolean;
  /** From its begin to its end; 0: it never began. */
  readonly lasted_ms: Milliseconds;
  readonly fault: ServiceLinkFault;
}

/** How long to wait at most before the next session, and how many have now failed in a row. Pure; jitter is the caller's. */
export function retryAfter(session: EndedSession): { readonly backoff: Backoff; readonly attempt: number } {
  const isLasting = session.proven && session.lasted_ms >= LASTING_MS;
  return { backoff: backoffOf(session.fault), attempt: isLasting ? 0 : session.attempt };
}

function backoffOf(fault: ServiceLinkFault): Backoff {
  if (fault === "taken_over") return TAKEN_OVER;
  return fault === "credential" || fault === "not_allowed" ? REFUSED : USUAL;
}
