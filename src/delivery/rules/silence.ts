import type { Seq } from "../../domain/units.ts";

/**
 * Records that sessions end over: they were sent, and no outcome came. One of them may be what the service or the broker
 * chokes on, so they go in smaller and smaller batches, at last one alone; the rest of the log comes through that way.
 */
export interface Silence {
  readonly from: Seq;
  readonly to: Seq;
  /** Most of them in one batch, next time. */
  readonly limit: number;
  /** How often one went unanswered alone though the broker had it, right after the service had answered another. */
  readonly alone: number;
  /** A record that the service is believed to have, to be offered once more; 0: none is known. */
  readonly witness: Seq;
}

/** A record that goes unanswered so often, alone, by a service that answers others, will never be taken. */
const ALONE = 3;

export interface Unanswered {
  readonly from: Seq;
  readonly to: Seq;
  readonly records: number;
  /** The broker confirmed it, and the service answered another record of the stream in the same session. */
  readonly is_proven: boolean;
  readonly witness: Seq;
}

export function afterSilence(before: Silence | null, { from, to, records, is_proven, witness }: Unanswered): Silence {
  if (records > 1) return { from, to, limit: Math.ceil(records / 2), alone: 0, witness };
  const known = before?.from === from && before.to === to ? before.alone : 0;
  return { from, to, limit: 1, alone: known + (is_proven ? 1 : 0), witness };
}

/** The witness itself goes unanswered, as one that was set aside does: the one before it is asked next time. */
export function withAnotherReOffer(silence: Silence): Silence {
  return { ...silence, witness: Math.max(1, silence.witness - 1) };
}

/** Most records in the batch that begins behind `after`; null: as many as fit. */
export function limitBehind(silence: Silence | null, after: Seq): number | null {
  return silence !== null && after < silence.to && after >= silence.from - 1 ? silence.limit : null;
}

/** Nothing but a record alone is left to blame. */
export function isSetAside({ alone }: Silence): boolean {
  return alone >= ALONE;
}

export const NEVER_ANSWERED = `never answered, ${ALONE.toString()} times alone, while the service answered others`;

/** What the end of such a session is called. */
export function silenceText({ from, limit, alone }: Silence, reason: string): string {
  const which = limit === 1 && alone > 0 ? `, and seq ${from.toString()} went alone` : "";
  return `${reason}${which}`;
}
