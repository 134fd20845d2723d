import Database from "better-sqlite3";
import { rows, type Db } from "../../../simulators/service/storage/db.ts";
import { storePath } from "../../../src/store/open.ts";
import type { Take } from "../ledger.ts";
import type { Span } from "../outcome.ts";
import type { Held } from "../records.ts";

/**
 * Finds a gateway's log with too many names at the service. Allowed are its own name, one more that a lie may cause,
 * and one for each time its store was damaged.
 */
export function tooManyStreams(db: Db, { damages, isLiedTo }: { damages: number; isLiedTo: boolean }): string[] {
  const most = (isLiedTo ? 2 : 1) + damages;
  return rows<{ readonly gateway: string; readonly streams: number }>(
    db,
    "SELECT gateway_id AS gateway, count(*) AS streams FROM streams GROUP BY gateway_id",
  )
    .filter(({ streams }) => streams > most)
    .map(({ gateway, streams }) => `${gateway}: ${streams} streams, not ${most} at most`);
}

/** Finds records that a gateway has set aside although the service never truly rejected them. */
export function setAsideForNothing(folder: string, refused: ReadonlySet<number>): string[] {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db
      .prepare<[], { readonly seq: number; readonly reason: string }>(
        "SELECT seq, reason FROM dead_letter ORDER BY seq",
      )
      .all()
      .filter(({ seq }) => !refused.has(seq))
      .map(({ seq, reason }) => `seq ${seq}: ${reason}`);
  } finally {
    db.close();
  }
}

/**
 * Returns readings whose time at the service differs from the time of the poll, outside of spans with an unknown time.
 */
export function wrongTimes(
  takes: readonly Take[],
  held: readonly Held[],
  { unsure, slack_ms }: { readonly unsure: readonly Span[]; readonly slack_ms: number },
): string[] {
  const taken = new Map<string, number>();
  for (const { at, entry } of takes) if (entry.kind === "poll") taken.set(`${entry.boot} ${entry.mono}`, at);
  return held.flatMap(({ kind, boot, mono, time, seq }) => {
    const at = kind === "r" ? taken.get(`${boot} ${mono}`) : undefined;
    if (at === undefined || Math.abs(time - at) <= slack_ms) return [];
    if (unsure.some(({ start, end }) => start <= at && at <= end)) return [];
    return [`seq ${seq} of ${new Date(at).toISOString()}: ${((time - at) / 1_000).toFixed(1)} s off`];
  });
}
