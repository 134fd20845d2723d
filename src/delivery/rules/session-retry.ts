import type { Backoff } from "../../domain/retrying.ts";
import type { ServiceLinkFault } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";

const USUAL: Backoff = { base_ms: 1_000, cap_ms: 60_000 };
/** Backoff after a refused key, which rarely becomes valid again: a few quick attempts, then long waits. */
const REFUSED: Backoff = { base_ms: 1_000, cap_ms: 900_000 };
/**
 * Backoff after another gateway took over the session. Two gateways with the same identity end each other's sessions in turn; a long wait
 * makes this rare.
 */
const TAKEN_OVER: Backoff = { base_ms: 60_000, cap_ms: 900_000 };

/**
 * Least duration after which a session that another gateway took over resets the backoff. A shorter session doesn't reset it, even with an
 * ack.
 */
const LASTING_MS: Milliseconds = 60_000;
/** Outage during which the waits stay short. Most brokers that restart are back within this time. */
const SHORT_OUTAGE_MS: Milliseconds = 60_000;
/**
 * Longest wait in a short outage. With the connection and the first ack, delivery resumes within fifteen seconds after the broker's return.
 */
const SHORT_OUTAGE_CAP_MS: Milliseconds = 12_000;

interface EndedSession {
  /** Number of failed sessions in a row before this one. */
  readonly attempt: number;
  /** True if the service acked at least one record in this session. */
  readonly proven: boolean;
  /** Duration of the session; 0: it never started. */
  readonly lasted_ms: Milliseconds;
  /** Time since the end of the last session with an ack, or since the first failure if no session had an ack. */
  readonly away_ms: Milliseconds;
  readonly fault: ServiceLinkFault;
}

/**
 * Returns the backoff before the next session, and the number of failed sessions from which the backoff counts on. The caller adds the
 * jitter.
 */
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
