import { createHash } from "node:crypto";
import type pg from "pg";
import { type Offered, parseBatch } from "../../ingest/batch.ts";
import { rangeHash } from "../../ingest/canonical.ts";
import { isChunk, isKeepable, offsetOf, PACKED_KINDS, parseMessage, reachOf } from "../../ingest/chunk-message.ts";

import { type Kept, keptOf } from "../../ingest/kept.ts";
import { type Ack, type ChunkAck, WINDOW_BATCHES } from "../../ingest/store.ts";
import { unpack } from "../../ingest/unpack.ts";
import type { Uplink } from "../port.ts";
import { bucketStatements, rawBucketOf, multirange, OTHER_BUCKET, WRITERS } from "./held.ts";

/** A gateway that sends all the time is noted as seen once in so long. */
const SEEN_STEP_MS = 10_000;
/** What else has to be changed because of them is done message by message. */
const UNUSUAL_KINDS = ["t", "g"];
/** Names of tags and boots that are remembered with their numbers. */
const MOST_NAMES = 100_000;

/** A batch or a chunk in which nothing is amiss, whatever the store may hold. */
export interface Offering {
  readonly uplink: Uplink;
  readonly stream: string;
  readonly generation: number;
  readonly s0: number;
  readonly count: number;
  readonly kept: Kept;
  /** The records that are rows beside it. */
  readonly facts: readonly Offered[];
  /** As its ack has it. */
  readonly proof: () => { readonly hash: string } | { readonly chunk: string };
}

/** Acks of those that were taken. */
export type Judged = ReadonlyMap<Offering, Ack | ChunkAck>;

/** What a message offers, where it may be kept as it is. */
export function offeredBy(uplink: Uplink): Offering | undefined {
  if (uplink.topic === "batch") return offeredByBatch(uplink);
  return uplink.topic === "chunk" ? offeredByChunk(uplink) : undefined;
}

function offeredByBatch(uplink: Uplink): Offering | undefined {
  const unpacked = unpack(uplink.payload);
  const batch = "error" in unpacked ? unpacked : parseBatch(unpacked.batch);
  if ("error" in batch || batch.gateway !== uplink.gateway || batch.stream.includes("\0")) return undefined;
  const { records, stream, generation, first } = batch;
  const kept = keptOf(records, uplink.payload);
  const facts = records.filter(({ kind }) => !PACKED_KINDS.includes(kind));
  if (kept === undefined || facts.some(({ kind }) => UNUSUAL_KINDS.includes(kind))) return undefined;
  const proof = (): { hash: string } => ({ hash: rangeHash(records) });
  return { uplink, stream, generation, s0: first, count: records.length, kept, facts, proof };
}

function offeredByChunk(uplink: Uplink): Offering | undefined {
  const message = parseMessage(uplink.payload);
  if ("error" in message || message.head.gw !== uplink.gateway || message.head.st.includes("\0")) return undefined;
  const { head, chunk, facts } = message;
  const reach = reachOf(chunk);
  if (!isKeepable(message, reach) || facts.some(({ kind }) => UNUSUAL_KINDS.includes(kind))) return undefined;
  const { from, to, boot, st, gen, s0, n } = head;
  const kept = { ...reach, from, to, boot, offset_ms: offsetOf(head), message: uplink.payload };
  const proof = (): { chunk: string } => ({ chunk: createHash("sha256").update(uplink.payload).digest("hex") });
  return { uplink, stream: st, generation: gen, s0, count: n, kept, facts, proof };
}

type Names = ReadonlyMap<string, number>;

const knownNames = new WeakMap<pg.Pool, Map<string, number>>();

/** The numbers of all names in them, made where there are none: by themselves, since others may need the same ones. */
export async function namesOf(pool: pg.Pool, offerings: readonly Offering[]): Promise<Names> {
  let known = knownNames.get(pool);
  if (known === undefined || known.size > MOST_NAMES) knownNames.set(pool, (known = new Map<string, number>()));
  const wanted = new Set(
    offerings.flatMap(({ kept, facts }) => [kept.boot, ...facts.flatMap(({ tag, boot }) => [tag, boot])]),
  );
  const missing = [...wanted].filter((name) => !known.has(name)).sort();
  if (missing.length === 0) return known;
  const find = "SELECT id, name FROM names WHERE name = ANY($1)";
  const found = await pool.query<{ id: number; name: string }>(find, [missing]);
  for (const { id, name } of found.rows) known.set(name, id);
  const fresh = missing.filter((name) => !known.has(name));
  if (fresh.length === 0) return known;
  await pool.query("INSERT INTO names (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", [fresh]);
  const made = await pool.query<{ id: number; name: string }>(find, [fresh]);
  for (const { id, name } of made.rows) known.set(name, id);
  return known;
}

const knownBuckets = new WeakMap<pg.Pool, Set<number>>();

/** Makes the partitions that they go to, where they aren't there yet. */
async function makeBuckets(pool: pg.Pool, offerings: readonly Offering[]): Promise<void> {
  let known = knownBuckets.get(pool);
  if (known === undefined) knownBuckets.set(pool, (known = new Set([OTHER_BUCKET])));
  for (const bucket of new Set(offerings.map(bucketFor))) {
    if (known.has(bucket)) continue;
    const sql = ["BEGIN", `SELECT pg_advisory_xact_lock(${WRITERS.toString()})`, ...bucketStatements(bucket), "COMMIT"];
    await pool.query(sql.join("; "));
    known.add(bucket);
  }
}

function bucketFor({ kept, uplink }: Offering): number {
  return rawBucketOf(kept.last_mono + kept.offset_ms, uplink.now);
}

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
    const streams = await lockedStreams(client, offerings);
    const judged = judge(offerings, streams);
    if (judged.fresh.length > 0) await insert(client, judged, names);
    // One that is known may be so from this very transaction.
    await settleKnown(client, judged);
    await update(client, judged);
    await client.query("COMMIT");
    return judged.acks;
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
  readonly ranges: [from: number, to: number][];
  acked: number;
  readonly added: [from: number, to: number][];
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
        OR EXISTS (SELECT 1 FROM seq_gaps g WHERE g.stream_no = s.id AND g.to_seq > s.acked_seq))::int AS unusual
    FROM streams s LEFT JOIN provisionings p
      ON p.booth_id = s.booth_id AND p.gateway_id = s.gateway_id AND p.status = 'provisioned'
    WHERE s.stream_id = ANY($1) ORDER BY s.id FOR UPDATE OF s`;
  type Row = Omit<Held, "unusual" | "ranges"> & { acked_seq: number; held: string; unusual: number };
  const found = await client.query<Row>({
    name: "streams",
    text: sql,
    values: [[...new Set(offerings.map(({ stream }) => stream))]],
  });
  return new Map(
    found.rows.map(({ id, stream_id, gateway_id, generation, acked_seq, held, unusual }) => {
      const none = { added: [], inserted: 0, duplicates: 0, now: 0 };
      const stream = { id, stream_id, gateway_id, generation, unusual: unusual === 1, acked: acked_seq };
      return [stream_id, { ...stream, ranges: rangesOf(held), ...none }];
    }),
  );
}

/** A multirange's text: {[1,5),[8,10)}. */
function rangesOf(text: string): [from: number, to: number][] {
  return Array.from(text.matchAll(/\[(\d+),(\d+)\)/g), ([, from, end]) => [Number(from), Number(end) - 1]);
}

interface Judging {
  readonly fresh: { readonly offering: Offering; readonly stream: Held }[];
  /** Held as a whole: another look tells whether as the same. */
  readonly known: { readonly offering: Offering; readonly stream: Held }[];
  readonly acks: Map<Offering, Ack | ChunkAck>;
  readonly streams: ReadonlySet<Held>;
}

function judge(offerings: readonly Offering[], streams: ReadonlyMap<string, Held>): Judging {
  const judging = {
    fresh: [],
    known: [],
    acks: new Map<Offering, Ack | ChunkAck>(),
    streams: new Set<Held>(),
  } as Judging & {
    streams: Set<Held>;
  };
  /** What is offered behind something unusual waits for that. */
  const passed = new Set<string>();
  for (const offering of offerings) {
    const { stream: name, generation, uplink, kept } = offering;
    const stream = streams.get(name);
    const isPlain = stream?.gateway_id === uplink.gateway && !stream.unusual && stream.generation === generation;
    if (stream === undefined || !isPlain || passed.has(name)) {
      passed.add(name);
      continue;
    }
    const touched = stream.ranges.find(([from, to]) => from <= kept.to && to >= kept.from);
    if (touched !== undefined && touched[0] <= kept.from && touched[1] >= kept.to) {
      judging.known.push({ offering, stream });
    } else if (touched !== undefined) passed.add(name);
    else {
      judging.fresh.push({ offering, stream });
      hold(stream, [kept.from, kept.to]);
      stream.inserted += 1;
      judging.acks.set(offering, ackOf(offering, stream));
      judging.streams.add(stream);
    }
    stream.now = uplink.now;
  }
  return judging;
}

/** Adds a range that touches none, and moves the end of the unbroken prefix over what follows on it. */
function hold(stream: Held, range: [from: number, to: number]): void {
  const { ranges } = stream;
  stream.added.push(range);
  const at = ranges.findIndex(([from]) => from > range[1]);
  ranges.splice(at === -1 ? ranges.length : at, 0, [...range]);
  for (let nth = ranges.length - 1; nth > 0; nth -= 1) {
    const [before, after] = [ranges[nth - 1], ranges[nth]];
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

/** Of what is held as a whole, those that are kept with the same content under the same seqs are dropped and acked. */
async function settleKnown(client: pg.PoolClient, judging: Judging & { streams: ReadonlySet<Held> }): Promise<void> {
  const { known, acks } = judging;
  if (known.length === 0) return;
  const sql = `SELECT s.stream_no, s.from_seq, s.to_seq, s.message FROM segments s JOIN unnest($1::bigint[], $2::bigint[]) AS w (id, seq)
    ON s.stream_no = w.id AND s.from_seq = w.seq`;
  const [ids, firsts] = [known.map(({ stream }) => stream.id), known.map(({ offering }) => offering.kept.from)];
  type Row = { stream_no: number; from_seq: number; to_seq: number; message: Uint8Array };
  const found = await client.query<Row>(sql, [ids, firsts]);
  const stored = new Map(found.rows.map((row) => [`${row.stream_no.toString()} ${row.from_seq.toString()}`, row]));
  for (const { offering, stream } of known) {
    const { kept } = offering;
    const row = stored.get(`${stream.id.toString()} ${kept.from.toString()}`);
    if (row?.to_seq !== kept.to || !isSame(offering, row.message)) continue;
    stream.duplicates += offering.count;
    (judging.streams as Set<Held>).add(stream);
    acks.set(offering, ackOf(offering, stream));
  }
}

/** A batch that is sent again is packed anew: what counts is what it says. */
function isSame({ kept, proof }: Offering, stored: Uint8Array): boolean {
  if (Buffer.compare(kept.message, stored) === 0) return true;
  if (isChunk(stored) || isChunk(kept.message)) return false;
  const unpacked = unpack(stored);
  const batch = "error" in unpacked ? unpacked : parseBatch(unpacked.batch);
  return !("error" in batch) && "hash" in proof() && rangeHash(batch.records) === (proof() as { hash: string }).hash;
}

/** Messages as one value, cut up again by the server: an array of them would be sent as text. */
async function insert(client: pg.PoolClient, { fresh }: Judging, names: Names): Promise<void> {
  const sql = `INSERT INTO segments (stream_no, from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, message)
    SELECT v.stream_no, v.from_seq, v.to_seq, v.bucket, v.boot, v.first_mono, v.last_mono, v.end_mono, v.offset_ms, v.received_at,
      substring($1::bytea FROM v.at FOR v.length)
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[], $7::float8[], $8::float8[], $9::float8[], $10::float8[],
      $11::float8[], $12::int[], $13::int[])
    AS v (stream_no, from_seq, to_seq, bucket, boot, first_mono, last_mono, end_mono, offset_ms, received_at, at, length)`;
  let at = 1;
  const lines = fresh.map(({ offering, stream }) => {
    const { kept, uplink } = offering;
    const { from, to, first_mono, last_mono, end_mono, offset_ms, message } = kept;
    const place = [at, message.byteLength];
    at += message.byteLength;
    const boot = names.get(kept.boot) ?? 0;
    return [
      stream.id,
      from,
      to,
      bucketFor(offering),
      boot,
      first_mono,
      last_mono,
      end_mono,
      offset_ms,
      uplink.now,
      ...place,
    ];
  });
  const messages = Buffer.concat(fresh.map(({ offering }) => offering.kept.message));
  await client.query({ name: "segments", text: sql, values: [messages, ...columnsOf(lines)] });
  const facts = fresh.flatMap(({ offering, stream }) =>
    offering.facts.map((fact) => ({ fact, stream, now: offering.uplink.now })),
  );
  if (facts.length === 0) return;
  const rows = facts.map(({ fact, stream, now }) => {
    const { seq, kind, tag, boot, mono, time, value, quality } = fact;
    return [stream.gateway_id, stream.id, seq, kind, names.get(tag), names.get(boot), mono, time, value, quality, now];
  });
  const beside = `INSERT INTO records (gateway_id, stream_no, seq, kind, tag, boot, mono, time, value, quality, received_at)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[], $8::float8[],
      $9::text[], $10::text[], $11::float8[])`;
  await client.query({ name: "facts", text: beside, values: columnsOf(rows) });
}

function columnsOf(lines: readonly (readonly unknown[])[]): unknown[][] {
  return Array.from({ length: lines[0]?.length ?? 0 }, (_, nth) => lines.map((line) => line[nth]));
}

async function update(client: pg.PoolClient, { streams, acks }: Judging): Promise<void> {
  if (streams.size === 0) return;
  const sql = `UPDATE streams AS s SET held = s.held + v.added::int8multirange, acked_seq = v.acked, version = s.version + v.inserted,
      duplicates_offered = s.duplicates_offered + v.duplicates, last_received_at = v.at
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::float8[])
      AS v (id, added, acked, inserted, duplicates, at) WHERE s.id = v.id`;
  const lines = Array.from(streams, ({ id, added, acked, inserted, duplicates, now }) => {
    return [id, multirange(added), acked, inserted, duplicates, now];
  });
  await client.query({ name: "held", text: sql, values: columnsOf(lines) });
  const seen = new Map(Array.from(acks.keys(), ({ uplink }) => [uplink.gateway, uplink.now]));
  const note = `UPDATE gateways AS g SET last_seen_at = v.at FROM unnest($1::text[], $2::float8[]) AS v (id, at)
    WHERE g.id = v.id AND coalesce(g.last_seen_at, 0) NOT BETWEEN v.at - ${SEEN_STEP_MS.toString()} AND v.at`;
  const sorted = [...seen].sort(([one], [other]) => (one < other ? -1 : 1));
  await client.query({ name: "seen", text: note, values: [sorted.map(([id]) => id), sorted.map(([, at]) => at)] });
}
