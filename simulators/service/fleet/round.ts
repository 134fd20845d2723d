import { setTimeout as sleep } from "node:timers/promises";
import { type Db, rows } from "../storage/db.ts";
import { compactStream, dropEmptied, rawStreams, retain, settledStreams } from "./compact.ts";
import { foldBooth } from "./facts.ts";

interface RoundOptions {
  readonly now: () => number;
  readonly keep_days?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Share of a core that folding may use, including the database's part: the same machines take records in, and facts
 * may be minutes old.
 */
const SHARE = 0.25;
/** Length of a stretch of work. */
const STRETCH_MS = 20;

/** Rests after each stretch of work for as long as its share asks for. */
function resting(signal: AbortSignal): (work: () => unknown) => Promise<void> {
  let worked_ms = 0;
  return async (work) => {
    const begun = performance.now();
    work();
    worked_ms += performance.now() - begun;
    if (worked_ms < STRETCH_MS) return;
    const rest_ms = worked_ms * (1 / SHARE - 1);
    worked_ms = 0;
    await sleep(rest_ms, undefined, { signal }).catch(() => undefined);
  };
}

/** Once over all booths that have anything new; others that do the same at the same time get other booths. */
export async function figuresRound(db: Db, { now, keep_days, signal }: RoundOptions): Promise<void> {
  const paced = resting(signal);
  for (const id of changedBooths(db, now())) {
    await paced(() => foldBooth(db, id, now()));
    for (const streamId of settledStreams(db, id, now())) await paced(() => compactStream(db, streamId, now()));
    if (signal.aborted) return;
  }
  for (const streamId of rawStreams(db, now())) {
    await paced(() => compactStream(db, streamId, now()));
    if (signal.aborted) return;
  }
  dropEmptied(db, now());
  if (keep_days !== undefined) retain(db, keep_days, now());
}

/** Those whose log isn't what was folded, whose last stage has gone on or whose days are another zone's, longest ago first. */
function changedBooths(db: Db, now: number): string[] {
  const sql = `SELECT s.booth_id AS id FROM streams s LEFT JOIN booth_facts f ON f.booth_id = s.booth_id
      JOIN booths b ON b.id = s.booth_id JOIN facilities p ON p.id = b.facility_id
    GROUP BY s.booth_id, f.version, f.folded_at, f.last_until, f.days_zone, f.days_at, p.tz
    HAVING f.version IS DISTINCT FROM string_agg(s.id || ':' || s.version || ':' || coalesce(s.withdrawn_at::text, ''), ',' ORDER BY s.id)
      OR (f.folded_at < f.last_until AND f.last_until < ?) OR f.days_zone <> p.tz OR f.days_at IS DISTINCT FROM f.folded_at
    ORDER BY f.folded_at NULLS FIRST, s.booth_id`;
  return rows<{ id: string }>(db, sql, now).map(({ id }) => id);
}
