import { type Db, run } from "../storage/db.ts";

/** A gateway that sends all the time is noted as seen once in so long: each note is a page to write. */
const SEEN_STEP_MS = 1_000;

/** When each gateway was noted here last: most messages needn't ask. After a transaction that came to nothing the next note is up to a second late. */
const noted = new WeakMap<Db, Map<string, number>>();

export function noteSeen(db: Db, gateway: string, nowMs: number): void {
  const own = noted.get(db) ?? new Map<string, number>();
  const last = own.get(gateway) ?? 0;
  if (nowMs >= last && nowMs - last < SEEN_STEP_MS) return;
  const sql = "UPDATE gateways SET last_seen_at = ? WHERE id = ? AND coalesce(last_seen_at, 0) NOT BETWEEN ? AND ?";
  run(db, sql, nowMs, gateway, nowMs - SEEN_STEP_MS, nowMs);
  noted.set(db, own.set(gateway, nowMs));
}
