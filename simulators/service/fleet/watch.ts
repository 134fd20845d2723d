import pg from "pg";
import { setTimeout as sleep } from "node:timers/promises";
import { LOST } from "../ingest/lacking.ts";
import { settingsOf } from "../storage/postgres/settings.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Interval of the counts, which read a row of each gateway and stream. */
const COUNT_MS = 15_000;
/** A gateway sends a heartbeat every minute. After two missed ones it counts as away, even if its will got lost. */
const ONLINE_MS = 3 * MINUTE_MS;

/**
 * Counts over the whole fleet. Facts are behind by the time between the newest message and the last fold. A stream's
 * lacking records are those that its gateway has an ack for and the service doesn't hold, as after a restore.
 */
const COUNTS = `WITH lacking AS (
    SELECT s.lacks_below - s.acked_seq - coalesce((SELECT sum(upper(r) - lower(r))
      FROM unnest(s.held * int8multirange(int8range(s.acked_seq + 1, s.lacks_below, '[]'))) AS r), 0) AS records
    FROM streams s WHERE s.lacks_below > s.acked_seq AND s.withdrawn_at IS NULL)
  SELECT (SELECT count(*) FROM gateways g WHERE EXISTS (SELECT 1 FROM provisionings p WHERE p.gateway_id = g.id AND p.status = 'provisioned'))
      AS booth_service_gateways,
    (SELECT count(*) FROM gateways WHERE online = 1 AND heartbeat_at > $1) AS booth_service_gateways_online,
    (SELECT coalesce(max(s.last_received_at - f.folded_at), 0) / 1000 FROM streams s JOIN booth_facts f ON f.booth_id = s.booth_id
      WHERE s.last_received_at > f.folded_at) AS booth_service_facts_behind_seconds,
    pg_database_size(current_database()) AS booth_service_store_bytes,
    (SELECT count(*) FROM lacking WHERE records > 0) AS booth_service_lacking_streams,
    (SELECT coalesce(sum(records), 0) FROM lacking) AS booth_service_lacking_records,
    (SELECT coalesce(sum(to_seq - from_seq + 1), 0) FROM seq_gaps WHERE reason = $2) AS booth_service_lost_records`;

/** Counts gateways, facts and missing records regularly. The metrics are those of the last count; none before it. */
export function watchFleet(
  store: string,
  now: () => number,
): { readonly metrics: () => Readonly<Record<string, number>>; readonly stop: () => Promise<void> } {
  const ending = new AbortController();
  const pool = new pg.Pool({ ...settingsOf(store), max: 1, idleTimeoutMillis: 10_000 });
  pool.on("error", () => undefined);
  let counts: Readonly<Record<string, number>> = {};
  const count = async (): Promise<void> => {
    const { rows } = await pool.query<Record<string, number | string>>(COUNTS, [now() - ONLINE_MS, LOST]);
    counts = Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]));
  };
  const counting = (async () => {
    while (!ending.signal.aborted) {
      // A store that can't be reached is reported by its own metric.
      await count().catch(() => (counts = {}));
      await sleep(COUNT_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  })();
  return {
    metrics: () => counts,
    async stop() {
      ending.abort();
      await counting;
      await pool.end();
    },
  };
}
