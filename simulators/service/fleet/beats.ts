import type pg from "pg";

/** A heartbeat, a farewell or a will: what a gateway says of itself. */
export interface Beat {
  readonly gateway: string;
  readonly now: number;
  /** undefined: it can't be read, and tells nothing. */
  readonly message: Readonly<Record<string, unknown>> | undefined;
}

/** Takes them in two statements, at most one of a gateway: as takeMessage does one by one. */
export async function commitBeats(pool: pg.Pool, beats: readonly Beat[]): Promise<void> {
  const read = beats.flatMap(({ gateway, now, message }) => (message === undefined ? [] : [{ gateway, now, message }]));
  const online = read.filter(({ message }) => message["online"] !== false);
  const gone = read.filter(({ message }) => message["online"] === false);
  if (online.length > 0) {
    const sql = `UPDATE gateways AS g SET online = 1, heartbeat_at = b.at, last_seen_at = b.at, state = b.state
      FROM unnest($1::text[], $2::float8[], $3::text[]) AS b (id, at, state) WHERE g.id = b.id`;
    const states = online.map(({ message }) => JSON.stringify(message));
    await pool.query(sql, [online.map(({ gateway }) => gateway), online.map(({ now }) => now), states]);
  }
  if (gone.length > 0) {
    // A will of an older session than the last heartbeat's arrives late and is ignored.
    const sql = `UPDATE gateways AS g SET online = 0 FROM unnest($1::text[], $2::text[]) AS b (id, session) WHERE g.id = b.id
      AND (b.session IS NULL OR (g.state::jsonb -> 'session') IS NULL OR g.state::jsonb -> 'session' = b.session::jsonb)`;
    const sessions = gone.map(({ message }) =>
      message["session"] === undefined ? null : JSON.stringify(message["session"]),
    );
    await pool.query(sql, [gone.map(({ gateway }) => gateway), sessions]);
  }
}
