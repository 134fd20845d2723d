import type pg from "pg";
import { contentLine } from "../ingest/canonical.ts";
import { type Ack, type ChunkAck, WINDOW_BATCHES } from "../ingest/store.ts";
import { wordOf } from "../ingest/clock-words.ts";
import { bucketFor, makeBuckets, type Names } from "./beforehand.ts";
import { multirange } from "../storage/postgres/held.ts";
import { type Offering, type Part, partOf } from "./offering.ts";
import { type Range, storedLines } from "./stored-lines.ts";

/** A gateway that sends all the time is noted as seen once in so long: its heartbeats do that as well. */
const SEEN_STEP_MS = 60_000;
/** Acks of those that were taken. */
export type Judged = ReadonlyMap<Offering, Ack | ChunkAck>;

interface Committing {
  readonly offerings: readonly Offering[];
  readonly names: Names;
}

/** Takes those that are new, or known as they are, in one transaction; the others aren't in the answer. */
export async function commitMessages(pool: pg.Pool, { offerings, names }: Committing): Promise<Judged> {
  await makeBuckets(pool, offerings);
  const client = await pool.connect();
  let failed: unknown;
  try {
    await client.query("BEGIN");
    const judging = await judgingOf(client, offerings);
    const touching = judgeFresh(judging, offerings);
    await insert(client, judging.fresh.splice(0), names);
    if (touching.length > 0) {
      await judgeTouching(client, judging, touching);
      await insert(client, judging.fresh.splice(0), names);
    }
    await update(client, judging);
    await client.query("COMMIT");
    return judging.acks;
  } catch (error) {
    failed = error;
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  } finally {
    // A connection that failed may be in any state.
    client.release(failed !== undefined);
  }
}

/** A stream as it is locked, and as what is taken changes it. */
interface Held {
  readonly id: number;
  readonly stream_id: string;
  readonly gateway_id: string;
  /** At which the gateway holds the booth; null: it doesn't. */
  readonly generation: number | null;
  /** Something about it has to be looked at message by message. */
  readonly unusual: boolean;
  /** Its clock's words, where one is offered, may have to be weighed against each other. */
  has_words: boolean;
  readonly ranges: Range[];
  acked: number;
  readonly added: Range[];
  inserted: number;
  duplicates: number;
  now: number;
}

async function lockedStreams(
  client: pg.PoolClient,
  offerings: readonly Offering[],
): Promise<ReadonlyMap<string, Held>> {
  const sql = `SELECT s.id, s.stream_id, s.gateway_id, s.acked_seq, s.held::text AS held, p.generation,
      (s.withdrawn_at IS NOT NULL OR s.superseded_at IS NOT NULL OR s.has_wrong_words OR coalesce(s.first_seq, 0) < 1
        OR EXISTS (SELECT 1 FROM seq_gaps g WHERE g.stream_no = s.id AND g.to_seq > s.acked_seq))::int AS unusual,
      (s.stream_id = ANY($2) AND EXISTS (SELECT 1 FROM clock_words w WHERE w.stream_no = s.id))::int AS has_words
    FROM streams s LEFT JOIN provisionings p
      ON p.booth_id = s.booth_id AND p.gateway_id = s.gateway_id AND p.status = 'provisioned'
    WHERE s.stream_id = ANY($1) ORDER BY s.id + 0 FOR UPDATE OF s`;
  type Row = Pick<Held, "id" | "stream_id" | "gateway_id" | "generation"> & { acked_seq: number } & {
    [name in "unusual" | "has_words"]: number;
  } & { held: string };
  const namesOfAll = [...new Set(offerings.map(({ stream }) => stream))];
  const withWords = [...new Set(offerings.filter(hasWord).map(({ stream }) => stream))];
  const found = await client.query<Row>({ name: "streams", text: sql, values: [namesOfAll, withWords] });
  return new Map(
    found.rows.map(({ id, stream_id, gateway_id, generation, acked_seq, held, ...row }) => {
      const none = { added: [], inserted: 0, duplicates: 0, now: 0 };
      const is = { unusual: row.unusual === 1, has_words: row.has_words === 1 };
      const stream = { id, stream_id, gateway_id, generation, ...is, acked: acked_seq };
      return [stream_id, { ...stream, ranges: rangesOf(held), ...none }];
    }),
  );
}

/** A multirange's text: {[1,5),[8,10)}. */
function rangesOf(text: string): Range[] {
  return Array.from(text.matchAll(/\[(\d+),(\d+)\)/g), ([, from, end]) => [Number(from), Number(end) - 1]);
}

function hasWord({ facts }: Pick<Offering, "facts">): boolean {
  return facts.some(({ kind }) => kind === "t");
}

/** The parts of an offering that must be stored. */
interface Fresh extends Part {
  readonly offering: Offering;
  readonly stream: Held;
}

interface Judging {
  readonly streams: ReadonlyMap<string, Held>;
  /** The parts to insert; the caller that inserts them empties the list. */
  readonly fresh: Fresh[];
  readonly acks: Map<Offering, Ack | ChunkAck>;
  readonly changed: Set<Held>;
}

async function judgingOf(client: pg.PoolClient, offerings: readonly Offering[]): Promise<Judging> {
  return { streams: await lockedStreams(client, offerings), fresh: [], acks: new Map(), changed: new Set() };
}

interface Touching {
  readonly offering: Offering;
  readonly stream: Held;
}

/** Takes what is new as a whole; answers what touches something that is held, with what is offered of the same stream behind it. */
function judgeFresh(judging: Judging, offerings: readonly Offering[]): readonly Touching[] {
  const touching: Touching[] = [];
  /** An offering after an unusual one of the same stream waits for that one. */
  const passed = new Set<string>();
  const behind = new Set<string>();
  for (const offering of offerings) {
    const { stream: name, generation, uplink, kept } = offering;
    const stream = judging.streams.get(name);
    const isPlain = stream?.gateway_id === uplink.gateway && !stream.unusual && stream.generation === generation;
    if (stream === undefined || !isPlain || passed.has(name) || (hasWord(offering) && stream.has_words)) {
      passed.add(name);
      continue;
    }
    // A second word is weighed against this one.
    stream.has_words ||= hasWord(offering);
    if (behind.has(name) || overlap(stream.ranges, kept).length > 0) {
      behind.add(name);
      touching.push({ offering, stream });
    } else take(judging, { offering, stream }, [offering]);
  }
  return touching;
}

/**
 * Judges offerings that overlap held records: equal records are dropped and the rest is accepted. Any other overlap
 * is handled alone.
 */
async function judgeTouching(client: pg.PoolClient, judging: Judging, touching: readonly Touching[]): Promise<void> {
  const asked = touching.flatMap(({ offering, stream }) =>
    overlap(stream.ranges, offering.kept).map((range) => ({ id: stream.id, range })),
  );
  const stored = await storedLines(client, asked);
  const passed = new Set<Held>();
  for (const { offering, stream } of touching) {
    const lines = stored.get(stream.id) ?? new Map<number, string>();
    const parts = passed.has(stream) ? undefined : restOf(offering, stream, lines);
    if (parts === undefined) {
      passed.add(stream);
      continue;
    }
    const rest = parts.reduce((sum, { kept }) => sum + kept.to - kept.from + 1, 0);
    stream.duplicates += offering.count - rest;
    for (const record of offering.records()) lines.set(record.seq, contentLine(record));
    take(judging, { offering, stream }, parts);
  }
}

/**
 * Returns the parts of an offering that aren't held; undefined if a held record differs, or if its content is
 * unknown.
 */
function restOf(offering: Offering, { ranges }: Held, lines: ReadonlyMap<number, string>): Part[] | undefined {
  const { kept, records } = offering;
  const held = overlap(ranges, kept);
  const isHeld = (seq: number): boolean => held.some(([from, to]) => from <= seq && seq <= to);
  if (records().some((record) => isHeld(record.seq) && lines.get(record.seq) !== contentLine(record))) return undefined;
  const parts: Part[] = [];
  let next = kept.from;
  for (const [from, to] of [...held, [kept.to + 1, Infinity] as const]) {
    const part = from > next ? partOf(offering, next, from - 1) : null;
    if (part === undefined) return undefined;
    if (part !== null) parts.push(part);
    next = to + 1;
  }
  return parts;
}

/** Which of from..to are in the ranges. */
function overlap(ranges: readonly Range[], { from, to }: { readonly from: number; readonly to: number }): Range[] {
  return ranges.flatMap(([first, last]): Range[] =>
    first <= to && last >= from ? [[Math.max(first, from), Math.min(last, to)]] : [],
  );
}

function take(judging: Judging, { offering, stream }: Touching, parts: readonly Part[]): void {
  for (const { kept, facts } of parts) {
    judging.fresh.push({ offering, stream, kept, facts });
    hold(stream, [kept.from, kept.to]);
  }
  if (parts.length > 0) stream.inserted += 1;
  stream.now = offering.uplink.now;
  judging.acks.set(offering, ackOf(offering, stream));
  judging.changed.add(stream);
}

/** Adds a range that touches none, and moves the end of the unbroken prefix over what follows on it. */
function hold(stream: Held, range: Range): void {
  const { ranges } = stream;
  stream.added.push(range);
  const at = ranges.findIndex(([from]) => from > range[1]);
  ranges.splice(at === -1 ? ranges.length : at, 0, [...range]);
  for (let nth = ranges.length - 1; nth > 0; nth -= 1) {
    const before = ranges[nth - 1];
    const after = ranges[nth];
    if (before === undefined || after === undefined || before[1] + 1 !== after[0]) continue;
    before[1] = after[1];
    ranges.splice(nth, 1);
  }
  const next = ranges.find(([from, to]) => from <= stream.acked + 1 && to > stream.acked);
  if (next !== undefined) stream.acked = next[1];
}

function ackOf(offering: Offering, { acked, ranges }: Held): Ack | ChunkAck {
  const { stream, s0, count, uplink, proof } = offering;
  const none = { reject: [], conflict: null };
  const reached = { acked_seq: acked, newest_seq: ranges.at(-1)?.[1] ?? 0 };
  return { st: stream, s0, n: count, ...proof(), ...none, ...reached, server_time: uplink.now, window: WINDOW_BATCHES };
}

/** Messages as one value, cut up again by the server: an array of them would be sent as text. */
async function insert(client: pg.PoolClient, fresh: readonly Fresh[], names: Names): Promise<void> {
  if (fresh.length === 0) return;
  const sql = `INSERT INTO segments (stream_no, from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message)
    SELECT v.stream_no, v.from_seq, v.to_seq, v.bucket, v.boot, v.first_mono, v.last_mono, v.end_mono, v.offset_ms, v.received_at,
      substring($1::bytea FROM v.at FOR v.length)
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::float8[], $8::float8[], $9::float8[], $10::float8[],
      $11::float8[], $12::int[], $13::int[])
    AS v (stream_no, from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, at, length)`;
  let at = 1;
  const lines = fresh.map(({ offering, stream, kept }) => {
    const { uplink } = offering;
    const { from, to, first_mono, last_mono, end_mono, offset_ms, message } = kept;
    const place = [at, message.byteLength];
    at += message.byteLength;
    const boot = names.get(kept.boot) ?? 0;
    return [
      stream.id,
      from,
      to,
      bucketFor({ kept, uplink }),
      boot,
      first_mono,
      last_mono,
      end_mono,
      offset_ms,
      uplink.now,
      ...place,
    ];
  });
  const messages = Buffer.concat(fresh.map(({ kept }) => kept.message));
  await client.query({ name: "segments", text: sql, values: [messages, ...columnsOf(lines)] });
  await insertFacts(client, fresh, names);
}

async function insertFacts(client: pg.PoolClient, fresh: readonly Fresh[], names: Names): Promise<void> {
  const all = fresh.flatMap(({ offering, stream, facts }) =>
    facts.map((fact) => ({ fact, stream, now: offering.uplink.now })),
  );
  if (all.length === 0) return;
  const rows = all.map(({ fact, stream, now }) => {
    const { seq, kind, tag, boot, mono, time, value, quality } = fact;
    return [stream.gateway_id, stream.id, seq, kind, names.get(tag), names.get(boot), mono, time, value, quality, now];
  });
  const sql = `INSERT INTO records (gateway_id, stream_no, seq, kind, tag, boot, mono, time, value, quality, received_at)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[], $8::float8[],
      $9::text[], $10::text[], $11::float8[])`;
  await client.query({ name: "facts", text: sql, values: columnsOf(rows) });
  const words = all.flatMap(({ fact, stream }) => {
    const wall = fact.kind === "t" ? wordOf(fact.value) : undefined;
    return wall === undefined ? [] : [[stream.id, fact.seq, names.get(fact.boot), fact.mono, wall]];
  });
  if (words.length === 0) return;
  const note = `INSERT INTO clock_words (stream_no, seq, boot, mono, wall)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::float8[], $5::float8[])`;
  await client.query({ name: "words", text: note, values: columnsOf(words) });
}

function columnsOf(lines: readonly (readonly unknown[])[]): unknown[][] {
  return Array.from({ length: lines[0]?.length ?? 0 }, (_, nth) => lines.map((line) => line[nth]));
}

async function update(client: pg.PoolClient, { changed, acks }: Judging): Promise<void> {
  if (changed.size === 0) return;
  const sql = `UPDATE streams AS s SET held = s.held + v.added::int8multirange, acked_seq = v.acked, version = s.version + v.inserted,
      duplicates_offered = s.duplicates_offered + v.duplicates, last_received_at = v.at
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::float8[])
      AS v (id, added, acked, inserted, duplicates, at) WHERE s.id = v.id`;
  const lines = Array.from(changed, ({ id, added, acked, inserted, duplicates, now }) => {
    return [id, multirange(added), acked, inserted, duplicates, now];
  });
  await client.query({ name: "held", text: sql, values: columnsOf(lines) });
  const seen = new Map(Array.from(acks.keys(), ({ uplink }) => [uplink.gateway, uplink.now]));
  const note = `UPDATE gateways AS g SET last_seen_at = v.at FROM unnest($1::text[], $2::float8[]) AS v (id, at)
    WHERE g.id = v.id AND coalesce(g.last_seen_at, 0) NOT BETWEEN v.at - ${SEEN_STEP_MS} AND v.at`;
  const sorted = [...seen].sort(([one], [other]) => (one < other ? -1 : 1));
  await client.query({ name: "seen", text: note, values: [sorted.map(([id]) => id), sorted.map(([, at]) => at)] });
}
