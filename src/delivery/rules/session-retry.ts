import type { Backoff } from "../../domain/retrying.ts";
import type { ServiceLinkFault } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";

const USUAL: Backoff = { base_ms: 1_000, cap_ms: 60_000 };
/** A refused key seldom becomes valid again: after a few quick tries the waits get long. */
const REFUSED: Backoff = { base_ms: 1_000, cap_ms: 900_000 };
/** Two boxes with one identity end each other's sessions in turn: each waits long, so that this happens seldom. */
const TAKEN_OVER: Backoff = { base_ms: 60_000, cap_ms: 900_000 };

/** A session that another box took over resets the backoff only if it lasted this long, even if something was acked in it. */
const LASTING_MS: Milliseconds = 60_000;
/** Most brokers that stop are back within this time, in which the waits stay short. */
const SHORT_OUTAGE_MS: Milliseconds = 60_000;
/** With connecting and the first ack this makes fifteen seconds from the broker's return. */
const SHORT_OUTAGE_CAP_MS: Milliseconds = 12_000;

interface EndedSession {
  /** Failed sessions in a row before this one. */
  readonly attempt: number;
  /** The service acked something in this session. */
  readonly proven: boolean;
  /** Time from its begin to its end; 0: it never began. */
  readonly lasted_ms: Milliseconds;
  /** Time since the last session with an ack ended, or since the first failure if there was none. */
  readonly away_ms: Milliseconds;
  readonly fault: ServiceLinkFault;
}

/** Returns the backoff before the next session, and the failures in a row to count from. The caller adds the jitter. */
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
