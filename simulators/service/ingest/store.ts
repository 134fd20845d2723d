import { backfillOf } from "../commands.ts";
import { type Db, inTransaction, row, rows, run } from "../db.ts";
import { type Batch, type Offered, parseBatch } from "./batch.ts";
import { type Content, contentLine, rangeHash } from "./canonical.ts";
import { noteWord, placeByWords } from "./clock-words.ts";
import { nameNumbers } from "./names.ts";
import { advance, findStream, predecessorOf, settleFirstSeq, type StreamRow } from "./streams.ts";

/** Batches a gateway may have under way. */
export const WINDOW_BATCHES = 4;

/** What is published on down/ack. `error`: nothing of the batch was looked at, and why; it then names no record (n = 0). */
export interface Ack {
  readonly st: string;
  readonly s0: number;
  readonly n: number;
  readonly hash: string;
  readonly reject: readonly { readonly seq: number; readonly reason: string }[];
  readonly conflict: number | null;
  readonly acked_seq: number;
  /** Newest record held of the stream, behind holes too. */
  readonly newest_seq: number;
  readonly server_time: number;
  readonly window: number;
  readonly error?: string;
}

/** Who offers a batch, and when by the service's clock. */
export interface Offer {
  readonly gatewayId: string;
  readonly nowMs: number;
}

/** Takes one up/batch object of a gateway, whole in one transaction; the ack is what became durable. Offering it again changes nothing. */
export function ingestBatch(db: Db, { gatewayId, nowMs }: Offer, input: unknown): Ack {
  const batch = parseBatch(input);
  if ("error" in batch) return refusal({ st: textField(input, "st"), s0: 0, acked: 0 }, batch.error, nowMs);
  return inTransaction(db, () => {
    const stream = findStream(db, batch.stream);
    const error = batch.gateway === gatewayId ? refusalOf(db, stream, batch) : "foreign_gateway";
    if (error !== undefined || stream === undefined) {
      const acked = stream?.gateway_id === gatewayId ? stream.acked_seq : 0;
      return refusal({ st: batch.stream, s0: batch.first, acked }, error ?? "not_bound", nowMs);
    }
    run(db, "UPDATE gateways SET last_seen_at = ? WHERE id = ?", nowMs, gatewayId);
    settleFirstSeq(db, batch.stream, 1);
    return takeBatch(db, stream, { batch, nowMs });
  });
}

/** The ack of a payload that couldn't be read at all. */
export function refuseBatch(error: string, nowMs: number): Ack {
  return refusal({ st: "", s0: 0, acked: 0 }, error, nowMs);
}

function refusal(at: { st: string; s0: number; acked: number }, error: string, nowMs: number): Ack {
  const { st, s0, acked } = at;
  const none = { n: 0, hash: rangeHash([]), reject: [], conflict: null, acked_seq: acked, newest_seq: acked };
  return { st, s0, ...none, server_time: nowMs, window: WINDOW_BATCHES, error };
}

function textField(input: unknown, name: string): string {
  const value: unknown =
    typeof input === "object" && input !== null ? Object.entries(input).find(([key]) => key === name)?.[1] : "";
  return typeof value === "string" ? value.slice(0, 128) : "";
}

/** A stream is taken from the gateway that holds its booth, or, up to the swap, from the one that held it. */
function refusalOf(db: Db, stream: StreamRow | undefined, batch: Batch): string | undefined {
  if (stream?.gateway_id !== batch.gateway) return "not_bound";
  if (stream.withdrawn_at !== null) return "withdrawn";
  if (stream.superseded_at !== null) return undefined;
  const sql = "SELECT generation FROM provisionings WHERE booth_id = ? AND gateway_id = ? AND status = 'provisioned'";
  const holds = row<{ generation: number }>(db, sql, stream.booth_id, batch.gateway);
  return holds?.generation === batch.generation ? undefined : "generation";
}

interface Taking {
  readonly batch: Batch;
  readonly nowMs: number;
}

function takeBatch(db: Db, stream: StreamRow, { batch, nowMs }: Taking): Ack {
  const last = batch.first + batch.records.length - 1;
  const held = new Map(storedRange(db, stream, [batch.first, last]).map((record) => [record.seq, contentLine(record)]));
  const reject: { seq: number; reason: string }[] = [];
  const numberOf = nameNumbers(db);
  let conflict: number | null = null;
  let inserted = 0;
  let duplicates = 0;
  for (const record of batch.records) {
    const known = held.get(record.seq);
    const fault = record.fault ?? suspension(stream, record);
    if (known !== undefined && (record.fault !== undefined || known !== contentLine(record))) {
      const command = record.fault === undefined ? backfillOf(db, stream.id, record.seq) : undefined;
      if (command === undefined) {
        conflict = record.seq;
        break;
      }
      dropRecord(db, stream, { seq: record.seq, line: known, command, nowMs });
      insertRecord(db, stream, { record, nowMs, numberOf });
      inserted += 1;
      continue;
    }
    if (known !== undefined) duplicates += 1;
    else if (fault !== undefined) {
      reject.push({ seq: record.seq, reason: fault });
      insertGap(db, stream, { from: record.seq, to: record.seq, reason: fault, rejected: 1 });
    } else {
      insertRecord(db, stream, { record, nowMs, numberOf });
      inserted += 1;
    }
  }
  const sql = `UPDATE streams SET version = version + ?, duplicates_offered = duplicates_offered + ?,
    conflicts_offered = conflicts_offered + ?, last_received_at = ? WHERE id = ?`;
  run(db, sql, inserted > 0 ? 1 : 0, duplicates, conflict === null ? 0 : 1, nowMs, stream.id);
  if (inserted > 0) placeByWords(db, stream);
  // What was stored from the conflict on isn't this batch's: the hash is over what is as it was sent.
  const hash = rangeHash(storedRange(db, stream, [batch.first, conflict === null ? last : conflict - 1]));
  const acked_seq = advance(db, stream);
  const named = { st: batch.stream, s0: batch.first, n: batch.records.length };
  const newest_seq = newestSeq(db, stream);
  return { ...named, hash, reject, conflict, acked_seq, newest_seq, server_time: nowMs, window: WINDOW_BATCHES };
}

function newestSeq(db: Db, { gateway_id, id }: StreamRow): number {
  const sql = "SELECT max(seq) AS newest FROM records WHERE gateway_id = ? AND stream_no = ?";
  return row<{ newest: number | null }>(db, sql, gateway_id, id)?.newest ?? 0;
}

function suspension(stream: StreamRow, record: Offered): string | undefined {
  return stream.superseded_at !== null && record.time >= stream.superseded_at ? "recorded after the swap" : undefined;
}

interface Dropping {
  readonly seq: number;
  /** What was stored, as its content line. */
  readonly line: string;
  readonly command: string;
  readonly nowMs: number;
}

/** A backfill that was ordered puts the gateway's record in the place of ours, which is kept aside. */
function dropRecord(db: Db, stream: StreamRow, { seq, line, command, nowMs }: Dropping): void {
  const sql = "INSERT INTO replaced_records (command_id, stream_no, seq, line, replaced_at) VALUES (?, ?, ?, ?, ?)";
  run(db, sql, command, stream.id, seq, line, nowMs);
  run(db, "DELETE FROM records WHERE gateway_id = ? AND stream_no = ? AND seq = ?", stream.gateway_id, stream.id, seq);
}

interface Inserting {
  readonly record: Offered;
  readonly nowMs: number;
  readonly numberOf: (name: string) => number;
}

function insertRecord(db: Db, stream: StreamRow, { record, nowMs, numberOf }: Inserting): void {
  run(
    db,
    "INSERT INTO records (gateway_id, stream_no, seq, kind, tag, boot, mono, time, value, quality, received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    stream.gateway_id,
    stream.id,
    record.seq,
    record.kind,
    numberOf(record.tag),
    numberOf(record.boot),
    record.mono,
    record.time,
    record.value,
    record.quality,
    nowMs,
  );
  if (record.kind === "t") noteWord(db, stream, { ...record, boot: numberOf(record.boot) });
  if (record.kind !== "g") return;
  const gap = JSON.parse(record.value) as { from: number; to: number; reason: string };
  insertGap(db, stream, { ...gap, rejected: 0 });
  const predecessor = predecessorOf(db, stream, gap.from);
  if (predecessor === undefined) return;
  insertGap(db, predecessor, { ...gap, rejected: 0 });
  advance(db, predecessor);
}

/** Stores records of a stream that holds none yet, unseen: for histories made here. To be called inside a transaction. */
export function storeHistory(db: Db, stream: StreamRow, records: readonly Offered[]): void {
  const numberOf = nameNumbers(db);
  for (const record of records) insertRecord(db, stream, { record, nowMs: record.time, numberOf });
  run(db, "UPDATE streams SET version = version + 1 WHERE id = ?", stream.id);
}

function insertGap(
  db: Db,
  stream: StreamRow,
  gap: { from: number; to: number; reason: string; rejected: 0 | 1 },
): void {
  const sql = "INSERT OR IGNORE INTO seq_gaps (stream_no, from_seq, to_seq, reason, rejected) VALUES (?, ?, ?, ?, ?)";
  run(db, sql, stream.id, gap.from, gap.to, gap.reason.slice(0, 200), gap.rejected);
}

/** What is really stored of a range, in seq order. */
export function storedRange(
  db: Db,
  stream: StreamRow,
  [from, to]: readonly [number, number],
): (Content & { seq: number })[] {
  return rows<Content & { seq: number }>(
    db,
    `SELECT r.seq, r.kind, t.name AS tag, b.name AS boot, r.mono, r.value, r.quality
     FROM records r JOIN names t ON t.id = r.tag JOIN names b ON b.id = r.boot
     WHERE r.gateway_id = ? AND r.stream_no = ? AND r.seq BETWEEN ? AND ? ORDER BY r.seq`,
    stream.gateway_id,
    stream.id,
    from,
    to,
  );
}
