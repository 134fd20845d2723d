import type { Backoff } from "../../domain/retrying.ts";
import type { ServiceLinkFault } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";

const USUAL: Backoff = { base_ms: 1_000, cap_ms: 60_000 };
/** A key that was refused doesn't become good by asking: after a few quick tries it is looked at now and then. */
const REFUSED: Backoff = { base_ms: 1_000, cap_ms: 900_000 };
/** Two boxes with one identity throw each other out: each waits long, so that they don't play ping-pong. */
const TAKEN_OVER: Backoff = { base_ms: 60_000, cap_ms: 900_000 };

/** A session from which another box threw us out ends no back-off unless it lasted, even if something was acked in it. */
const LASTING_MS: Milliseconds = 60_000;
/** Most brokers that go away are back within this: so long nobody waits long for the next try. */
const SHORT_OUTAGE_MS: Milliseconds = 60_000;
/** With the time to connect and to be acked it makes fifteen seconds from the broker's return. */
const SHORT_OUTAGE_CAP_MS: Milliseconds = 12_000;

export interface EndedSession {
  /** Failed sessions in a row before this one. */
  readonly attempt: number;
  /** The service acked something in it. */
  readonly proven: boolean;
  /** From its begin to its end; 0: it never began. */
  readonly lasted_ms: Milliseconds;
  /** Since the service acked in a session last, or, where it never did, since the first failure. */
  readonly away_ms: Milliseconds;
  readonly fault: ServiceLinkFault;
}

/** How long to wait at most before the next session, and how many have now failed in a row. Pure; jitter is the caller's. */
export function retryAfter(session: EndedSession): { readonly backoff: Backoff; readonly attempt: number } {
  const { fault, proven, lasted_ms, attempt } = session;
  const isOver = proven && (fault !== "taken_over" || lasted_ms >= LASTING_MS);
  return { backoff: backoffOf(session), attempt: isOver ? 0 : attempt };
}

function backoffOf({ fault, away_ms }: EndedSession): Backoff {
  if (fault === "taken_over") return TAKEN_OVER;
  const backoff = fault === "credential" || fault === "not_allowed" ? REFUSED : USUAL;
  return away_ms < SHORT_OUTAGE_MS ? { ...backoff, cap_ms: SHORT_OUTAGE_CAP_MS } : backoff;
}
