import type pg from "pg";
import { MOST_OPEN, type SentCommand } from "../ingest/commands.ts";
import { parseHello } from "../ingest/hello.ts";
import { MAX_MESSAGES } from "../ingest/uplink.ts";
import type { Uplink } from "../storage/port.ts";

/** A hello, as far as it can be taken together with others: what it names are streams that a claim has bound. */
export interface Hello {
  readonly uplink: Uplink;
  readonly message: Readonly<Record<string, unknown>>;
}

interface Named {
  readonly hello: Hello;
  readonly serial: string;
  readonly generation: number;
  readonly stream: string;
  readonly first: number;
}

/** Commands that each of those gets in answer which are taken; the others aren't in it: they bind something, and are taken by themselves. */
export async function commitHellos(
  pool: pg.Pool,
  hellos: readonly Hello[],
): Promise<ReadonlyMap<Hello, readonly SentCommand[]>> {
  const named = new Map(hellos.map((hello) => [hello, namedBy(hello)]));
  const bound = await boundOf(
    pool,
    [...named.values()].flatMap((booths) => booths ?? []),
  );
  const taken = hellos.filter((hello) => named.get(hello)?.every((booth) => bound.has(booth)) === true);
  if (taken.length === 0) return new Map();
  const client = await pool.connect();
  let failed: unknown;
  try {
    await client.query("BEGIN");
    await settle(
      client,
      taken.flatMap((hello) => named.get(hello) ?? []),
    );
    await keep(client, taken);
    const commands = await commandsFor(client, taken);
    await client.query("COMMIT");
    return new Map(taken.map((hello) => [hello, commands.get(hello.uplink.gateway) ?? []]));
  } catch (error) {
    failed = error;
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  } finally {
    client.release(failed !== undefined);
  }
}

/** undefined: a booth of it has something before it, or it can't be read. */
function namedBy(hello: Hello): readonly Named[] | undefined {
  const booths = parseHello(hello.message);
  if (booths === undefined || booths.some(({ predecessor }) => (predecessor ?? null) !== null)) return undefined;
  return booths.map(({ serial, generation, stream_id, oldest_seq }) => {
    return {
      hello,
      serial: serial.trim().toUpperCase(),
      generation,
      stream: stream_id,
      first: Math.max(1, oldest_seq ?? 0),
    };
  });
}

/** Those whose stream is bound as they say. */
async function boundOf(pool: pg.Pool, named: readonly Named[]): Promise<ReadonlySet<Named>> {
  if (named.length === 0) return new Set();
  const sql = `SELECT w.nth FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY AS w (stream, gateway, serial, generation, nth)
    JOIN streams s ON s.stream_id = w.stream AND s.gateway_id = w.gateway AND s.withdrawn_at IS NULL AND s.superseded_at IS NULL
    JOIN provisionings p ON p.booth_id = s.booth_id AND p.gateway_id = w.gateway AND p.status = 'provisioned'
      AND p.generation = w.generation AND s.generation = w.generation
    JOIN booths b ON b.id = s.booth_id AND b.serial_number = w.serial`;
  const columns = [
    named.map(({ stream }) => stream),
    named.map(({ hello }) => hello.uplink.gateway),
    named.map(({ serial }) => serial),
    named.map(({ generation }) => generation),
  ];
  const { rows } = await pool.query<{ nth: number }>({ name: "bound", text: sql, values: columns });
  return new Set(rows.flatMap(({ nth }) => named[nth - 1] ?? []));
}

/** Sets the start of a stream's unbroken prefix at its first hello. Streams are locked in the order of their ids. */
async function settle(client: pg.PoolClient, named: readonly Named[]): Promise<void> {
  const sql = `WITH told AS (
      SELECT s.id, w.first FROM unnest($1::text[], $2::bigint[]) AS w (stream, first) JOIN streams s ON s.stream_id = w.stream
      WHERE coalesce(s.first_seq, 0) < 1 ORDER BY s.id FOR UPDATE OF s)
    UPDATE streams AS s SET first_seq = told.first, acked_seq = told.first - 1 FROM told
    WHERE s.id = told.id AND coalesce(s.first_seq, 0) < 1`;
  const values = [named.map(({ stream }) => stream), named.map(({ first }) => first)];
  await client.query({ name: "settle", text: sql, values });
}

/** As every message that holds no records. */
async function keep(client: pg.PoolClient, taken: readonly Hello[]): Promise<void> {
  const sql = `INSERT INTO uplink_messages (gateway_id, topic, payload, received_at)
    SELECT gateway, 'up/hello', payload, at FROM unnest($1::text[], $2::text[], $3::float8[]) AS w (gateway, payload, at)`;
  const columns = [
    taken.map(({ uplink }) => uplink.gateway),
    taken.map(({ message }) => JSON.stringify(message)),
    taken.map(({ uplink }) => uplink.now),
  ];
  await client.query({ name: "keep", text: sql, values: columns });
  const text = `DELETE FROM uplink_messages WHERE id <= (SELECT max(id) FROM uplink_messages) - ${MAX_MESSAGES}`;
  await client.query({ name: "keep less", text });
}

/** The oldest of those whose end isn't known. */
async function commandsFor(
  client: pg.PoolClient,
  taken: readonly Hello[],
): Promise<ReadonlyMap<string, readonly SentCommand[]>> {
  const sql = `SELECT w.gateway, c.id, c.type, c.args, c.expires_at FROM unnest($1::text[]) AS w (gateway) CROSS JOIN LATERAL (
      SELECT * FROM commands WHERE gateway_id = w.gateway AND state IN ('sent', 'accepted') ORDER BY created_at, rowid LIMIT ${MOST_OPEN}) AS c
    ORDER BY w.gateway, c.created_at, c.rowid`;
  type Row = { gateway: string; id: string; type: string; args: string; expires_at: number };
  const gateways = [...new Set(taken.map(({ uplink }) => uplink.gateway))];
  const { rows } = await client.query<Row>({ name: "commands", text: sql, values: [gateways] });
  const found = new Map<string, SentCommand[]>();
  for (const { gateway, args, ...command } of rows) {
    const own = found.get(gateway) ?? [];
    own.push({ ...command, args: JSON.parse(args) as unknown });
    found.set(gateway, own);
  }
  return found;
}
