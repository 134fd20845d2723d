import type { BacklogStatus } from "../domain/status.ts";

/** What was seen of one booth's backlog at one instant. */
export interface Look {
  /** ms of a clock that never steps. */
  readonly mono: number;
  readonly newest_seq: number;
  readonly acked_seq: number;
}

/** How a backlog moves between the first look and the last. */
export interface Drain {
  readonly waiting: number;
  readonly acked_per_s: number;
  readonly new_per_s: number;
  /** Until nothing waits at this pace; 0: nothing does; null: it doesn't shrink. */
  readonly done_in_ms: number | null;
  /** Share of the most that was seen waiting which has gone since, 0 to 1. */
  readonly share: number;
}

/** Looks older than that tell nothing of the pace now. */
const PACE_MS = 30_000;

export function lookAt({ newest_seq, acked_seq }: BacklogStatus, mono: number): Look {
  return { mono, newest_seq, acked_seq };
}

/** The last look with the pace up to it; null: before two looks there is none. */
export function drainOf(looks: readonly Look[]): Drain | null {
  const last = looks.at(-1);
  const first = looks.find(({ mono }) => last !== undefined && last.mono - mono <= PACE_MS);
  if (last === undefined || first === undefined || last.mono <= first.mono) return null;
  const seconds = (last.mono - first.mono) / 1_000;
  const waiting = waitingIn(last);
  const acked_per_s = Math.max(0, (last.acked_seq - first.acked_seq) / seconds);
  const new_per_s = Math.max(0, (last.newest_seq - first.newest_seq) / seconds);
  const net = acked_per_s - new_per_s;
  const done_in_ms = waiting === 0 ? 0 : net > 0 ? (waiting / net) * 1_000 : null;
  const most = Math.max(...looks.map(waitingIn));
  return { waiting, acked_per_s, new_per_s, done_in_ms, share: most === 0 ? 1 : 1 - waiting / most };
}

function waitingIn({ newest_seq, acked_seq }: Look): number {
  return newest_seq - acked_seq;
}
