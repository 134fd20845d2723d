import type pg from "pg";
import { statedIn } from "../ingest/lacking.ts";

interface Stating {
  readonly gateway: string;
  readonly message: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Returns those that need an answer of their own: the message states a cursor above the records that the service has
 * received without a hole, or a command waits for the gateway.
 */
export async function laggingOf<T extends Stating>(pool: pg.Pool, messages: readonly T[]): Promise<ReadonlySet<T>> {
  const stated = messages.flatMap((one) => statedIn(one.message).map((cursor) => ({ one, ...cursor })));
  if (messages.length === 0) return new Set();
  const text = `SELECT w.nth FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS w (stream, gateway, acked, nth)
    JOIN streams s ON s.stream_id = w.stream AND s.gateway_id = w.gateway AND w.acked > s.acked_seq`;
  const values = [
    stated.map(({ stream_id }) => stream_id),
    stated.map(({ one }) => one.gateway),
    stated.map(({ acked_seq }) => acked_seq),
  ];
  const { rows } = await pool.query<{ nth: number }>({ name: "lagging", text, values });
  const ordered = "SELECT DISTINCT gateway_id FROM commands WHERE gateway_id = ANY($1) AND state = 'sent'";
  const gateways = [messages.map(({ gateway }) => gateway)];
  const waiting = await pool.query<{ gateway_id: string }>({ name: "ordered", text: ordered, values: gateways });
  const named = new Set(waiting.rows.map(({ gateway_id }) => gateway_id));
  const behind = rows.flatMap(({ nth }) => stated[nth - 1]?.one ?? []);
  return new Set([...behind, ...messages.filter(({ gateway }) => named.has(gateway))]);
}
