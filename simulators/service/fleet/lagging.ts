import type pg from "pg";
import { statedIn } from "../ingest/lacking.ts";

interface Stating {
  readonly gateway: string;
  readonly message: Readonly<Record<string, unknown>> | undefined;
}

/** Returns those whose message states a cursor above the records that the service has received without a hole. */
export async function laggingOf<T extends Stating>(pool: pg.Pool, messages: readonly T[]): Promise<ReadonlySet<T>> {
  const stated = messages.flatMap((one) => statedIn(one.message).map((cursor) => ({ one, ...cursor })));
  if (stated.length === 0) return new Set();
  const text = `SELECT w.nth FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS w (stream, gateway, acked, nth)
    JOIN streams s ON s.stream_id = w.stream AND s.gateway_id = w.gateway AND w.acked > s.acked_seq`;
  const values = [
    stated.map(({ stream_id }) => stream_id),
    stated.map(({ one }) => one.gateway),
    stated.map(({ acked_seq }) => acked_seq),
  ];
  const { rows } = await pool.query<{ nth: number }>({ name: "lagging", text, values });
  return new Set(rows.flatMap(({ nth }) => stated[nth - 1]?.one ?? []));
}
