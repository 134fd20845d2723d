import { hash } from "node:crypto";
import { backfillOf } from "./commands.ts";
import { type Db, joined, row, run } from "../storage/db.ts";
import { type Offered, parseBatch } from "./batch.ts";
import { keptOf } from "./kept.ts";
import { contentLine, rangeHash } from "./canonical.ts";
import {
  type ChunkMessage,
  isKeepable,
  offeredOf,
  offsetOf,
  PACKED_KINDS,
  parseMessage,
  reachOf,
} from "./chunk-message.ts";
import { MAX_RECORDS } from "./chunk.ts";
import { noteWord, placeByWords } from "./clock-words.ts";
import { nameNumbers } from "./names.ts";
import {
  deleteRow,
  heldOf,
  holdsAny,
  insertRow,
  type Inserting,
  keepSegment,
  newestSeq,
  noteHeld,
  rangesOf,
  storedRange,
  takeApart,
} from "./records.ts";
import { noteSeen } from "./seen.ts";
import { advance, lockedStream, predecessorOf, settleFirstSeq, type StreamRow, unbrokenUpTo } from "./streams.ts";

/** Batches a gateway may have under way. */
export const WINDOW_BATCHES = 4;

/** A shared buffer: each chunk is finished before the next is read. */
const room = new Float64Array(2 * MAX_RECORDS);
/** The message on down/ack. `error`: the reason why the whole message was rejected; it then names no record (n = 0). */
interface AnyAck {
  readonly st: string;
  readonly s0: number;
  readonly n: number;
  readonly reject: readonly Rejected[];
  readonly conflict: number | null;
  readonly acked_seq: number;
  /** Newest stored record of the stream, even after gaps. */
  readonly newest_seq: number;
  readonly server_time: number;
  readonly window: number;
  readonly error?: string;
}

/** `hash`: over the stored records of its range. */
export interface Ack extends AnyAck {
  readonly hash: string;
}

/** `chunk`: SHA-256 of the message, as it is stored, or as it came where it was taken apart or refused. */
export interface ChunkAck extends AnyAck {
  readonly chunk: string;
}

interface Rejected {
  readonly seq: number;
  readonly reason: string;
}

/** The gateway that offers a batch, and the service's time. */
export interface Offer {
  readonly gatewayId: string;
  readonly nowMs: number;
  /** A batch as it came, packed. PostgreSQL keeps that, where a chunk would be kept. */
  readonly payload?: Uint8Array;
}

/**
 * Stores an up/batch object of a gateway in one transaction. The ack names the records that became durable. Offering it
 * again changes nothing.
 */
export function ingestBatch(db: Db, offer: Offer, input: unknown): Ack {
  const batch = parseBatch(input);
  if ("error" in batch) return refuseBatch(batch.error, offer.nowMs, textField(input, "st"));
  const { records, ...named } = batch;
  const range = [batch.first, batch.first + records.length - 1] as const;
  const none = (): { hash: string } => ({ hash: rangeHash([]) });
  const take = (stream: StreamRow): Taken & { proof: { hash: string } } => {
    const { payload, nowMs } = offer;
    if (payload !== undefined && keepBatch(db, stream, { records, payload, nowMs }))
      return { ...ALL_NEW, whole: range, proof: { hash: rangeHash(records) } };
    const taken = takeRecords(db, stream, { records, range, isWhole: false, nowMs });
    // From the conflict on the stored records aren't this batch's; the hash covers those before it.
    const last = taken.conflict === null ? range[1] : taken.conflict - 1;
    return { ...taken, proof: { hash: rangeHash(storedRange(db, stream, [range[0], last])) } };
  };
  return ingest(db, offer, { named: { ...named, count: records.length }, none, take });
}

/** Returns the ack of a payload that couldn't be read as a batch. */
export function refuseBatch(error: string, nowMs: number, st = ""): Ack {
  return refusal({ st, s0: 0, acked: 0 }, { error, nowMs, proof: { hash: rangeHash([]) } });
}

/**
 * Stores an up/chunk message in the same way: unchanged if no seq of its range is stored, otherwise record by record.
 * On a conflict nothing is stored.
 */
export function ingestChunk(db: Db, offer: Offer, payload: Uint8Array): ChunkAck {
  const none = (): { chunk: string } => ({ chunk: sha256(payload) });
  const { nowMs } = offer;
  const message = parseMessage(payload, room);
  if ("error" in message) return refusal({ ...message, acked: 0 }, { error: message.error, nowMs, proof: none() });
  const { gw, gen, st, s0, n, from, to } = message.head;
  const named = { gateway: gw, generation: gen, stream: st, first: s0, count: n };
  const take = (stream: StreamRow): Taken & { proof: { chunk: string } } => {
    const newest = newestSeq(db, stream);
    const kept = keepWhole(db, stream, { message, payload, nowMs, newest });
    if (kept !== undefined)
      return { ...ALL_NEW, whole: [from, to], newest: Math.max(newest, to), proof: { chunk: sha256(kept) } };
    const taken = takeRecords(db, stream, { records: offeredOf(message), range: [from, to], isWhole: true, nowMs });
    return { ...taken, proof: none() };
  };
  return ingest(db, offer, { named, none, take });
}

const sha256 = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

/** The names in an offered message. */
interface Named {
  readonly gateway: string;
  readonly generation: number;
  readonly stream: string;
  readonly first: number;
  readonly count: number;
}

interface Taken {
  readonly reject: readonly Rejected[];
  readonly conflict: number | null;
  readonly inserted: boolean;
  readonly duplicates: number;
  /** All of this range is held now. */
  readonly whole?: readonly [from: number, to: number];
  /** The newest seq held now, where that is known. */
  readonly newest?: number;
}

const ALL_NEW: Taken = { reject: [], conflict: null, inserted: true, duplicates: 0 };

interface Ingesting<Proof> {
  readonly named: Named;
  /** The proof where nothing was looked at. */
  readonly none: () => Proof;
  readonly take: (stream: StreamRow) => Taken & { readonly proof: Proof };
}

function ingest<Proof extends object>(
  db: Db,
  { gatewayId, nowMs }: Offer,
  { named, none, take }: Ingesting<Proof>,
): AnyAck & Proof {
  const { first: s0, stream: st } = named;
  return joined(db, () => {
    const stream = lockedStream(db, st);
    const error = named.gateway === gatewayId ? refusalOf(db, stream, named) : "foreign_gateway";
    if (error !== undefined || stream === undefined) {
      const acked = stream?.gateway_id === gatewayId ? stream.acked_seq : 0;
      return refusal({ st, s0, acked }, { error: error ?? "not_bound", nowMs, proof: none() });
    }
    noteSeen(db, gatewayId, nowMs);
    const isFirst = stream.first_seq === null || stream.first_seq < 1;
    if (isFirst) settleFirstSeq(db, st, 1);
    const { reject, conflict, inserted, duplicates, proof, whole, newest = newestSeq(db, stream) } = take(stream);
    if (inserted) placeByWords(db, stream);
    const before = isFirst ? 0 : stream.acked_seq;
    // A range that was kept whole has no hole, so the search starts after it.
    const from = whole !== undefined && whole[0] <= before + 1 ? Math.max(before, whole[1]) : before;
    const reached = { acked_seq: unbrokenUpTo(db, stream, { from, newest }), newest_seq: newest };
    const sql = `UPDATE streams SET version = version + ?, duplicates_offered = duplicates_offered + ?,
      conflicts_offered = conflicts_offered + ?, last_received_at = ?, acked_seq = ? WHERE id = ?`;
    run(db, sql, inserted ? 1 : 0, duplicates, conflict === null ? 0 : 1, nowMs, reached.acked_seq, stream.id);
    const ack = { st, s0, n: named.count, ...proof, reject, conflict, ...reached };
    return { ...ack, server_time: nowMs, window: WINDOW_BATCHES };
  });
}

function refusal<Proof extends object>(
  at: { readonly st: string; readonly s0: number; readonly acked: number },
  { error, nowMs, proof }: { readonly error: string; readonly nowMs: number; readonly proof: Proof },
): AnyAck & Proof {
  const { st, s0, acked } = at;
  const none = { n: 0, ...proof, reject: [], conflict: null, acked_seq: acked, newest_seq: acked };
  return { st, s0, ...none, server_time: nowMs, window: WINDOW_BATCHES, error };
}

function textField(input: unknown, name: string): string {
  const value: unknown =
    typeof input === "object" && input !== null ? Object.entries(input).find(([key]) => key === name)?.[1] : "";
  return typeof value === "string" ? value.slice(0, 128) : "";
}

/** Checks that the stream's gateway holds the booth, or held it up to the swap. Returns the reason for a rejection. */
function refusalOf(db: Db, stream: StreamRow | undefined, named: Named): string | undefined {
  if (stream?.gateway_id !== named.gateway) return "not_bound";
  if (stream.withdrawn_at !== null) return "withdrawn";
  if (stream.superseded_at !== null) return undefined;
  const sql = "SELECT generation FROM provisionings WHERE booth_id = ? AND gateway_id = ? AND status = 'provisioned'";
  const holds = row<{ generation: number }>(db, sql, stream.booth_id, named.gateway);
  return holds?.generation === named.generation ? undefined : "generation";
}

interface Keeping {
  readonly message: ChunkMessage;
  readonly payload: Uint8Array;
  readonly nowMs: number;
  /** The newest seq held of the stream. */
  readonly newest: number;
}

/** Stores a chunk's message unchanged, if possible. Returns the stored message. */
function keepWhole(db: Db, stream: StreamRow, { message, payload, nowMs, newest }: Keeping): Uint8Array | undefined {
  const { head, chunk, facts } = message;
  const reach = reachOf(chunk);
  const times = [reach.last_mono + offsetOf(head), ...facts.map(({ time }) => time)];
  const isLate = times.some((time) => isAfterSwap(stream, time));
  if (isLate || !isKeepable(message, reach)) return undefined;
  // Records that arrive in order come after all held ones.
  if (head.from <= newest && holdsAny(db, stream, [head.from, head.to])) return undefined;
  const storing = { nowMs, numberOf: nameNumbers(db) };
  for (const record of facts) insertRecord(db, stream, { record, ...storing });
  const { from, to, boot } = head;
  noteHeld(db, stream, [[from, to]]);
  return keepSegment(db, stream, { ...reach, from, to, boot, offset_ms: offsetOf(head), message: payload, ...storing });
}

interface Batched {
  readonly records: readonly Offered[];
  readonly payload: Uint8Array;
  readonly nowMs: number;
}

/** Keeps a batch as it came, on PostgreSQL, where nothing speaks against it: a row of a record would take thirty times the room. */
function keepBatch(db: Db, stream: StreamRow, { records, payload, nowMs }: Batched): boolean {
  const kept = keptOf(records, payload);
  if (db.engine !== "postgres" || kept === undefined || holdsAny(db, stream, [kept.from, kept.to])) return false;
  if (records.some(({ time }) => isAfterSwap(stream, time))) return false;
  const storing = { nowMs, numberOf: nameNumbers(db) };
  for (const record of records)
    if (!PACKED_KINDS.includes(record.kind)) insertRecord(db, stream, { record, ...storing });
  keepSegment(db, stream, { ...kept, ...storing });
  noteHeld(db, stream, [[kept.from, kept.to]]);
  return true;
}

interface Taking {
  /** In seq order, all of `range`. */
  readonly records: readonly Offered[];
  readonly range: readonly [from: number, to: number];
  /** Whether a conflict rejects the whole message; else the records before it are stored. */
  readonly isWhole: boolean;
  readonly nowMs: number;
}

function takeRecords(db: Db, stream: StreamRow, { records, range, isWhole, nowMs }: Taking): Taken {
  const held = new Map(storedRange(db, stream, range).map((record) => [record.seq, contentLine(record)]));
  const isOther = ({ seq }: Offered, line: string): boolean => held.has(seq) && held.get(seq) !== line;
  const conflict = records.find(
    (record) =>
      held.has(record.seq) &&
      (record.fault !== undefined ||
        (isOther(record, contentLine(record)) && backfillOf(db, stream.id, record.seq) === undefined)),
  )?.seq;
  const isGone = heldOf(db, stream, range);
  const storing = { nowMs, numberOf: nameNumbers(db) };
  const reject: Rejected[] = [];
  const stored: number[] = [];
  let duplicates = 0;
  for (const record of records) {
    if (conflict !== undefined && (isWhole || record.seq >= conflict)) break;
    const known = held.get(record.seq);
    if (known === undefined && isGone(record.seq)) {
      duplicates += 1;
      continue;
    }
    const fault = record.fault ?? (isAfterSwap(stream, record.time) ? "recorded after the swap" : undefined);
    if (known === undefined && fault !== undefined) {
      reject.push({ seq: record.seq, reason: fault });
      insertGap(db, stream, { from: record.seq, to: record.seq, reason: fault, rejected: 1 });
    } else if (known !== undefined && !isOther(record, contentLine(record))) duplicates += 1;
    else {
      if (known !== undefined) dropRecord(db, stream, { seq: record.seq, line: known, nowMs });
      insertRecord(db, stream, { record, ...storing });
      stored.push(record.seq);
    }
  }
  noteHeld(db, stream, rangesOf(stored));
  return { reject, conflict: conflict ?? null, inserted: stored.length > 0, duplicates };
}

function isAfterSwap({ superseded_at }: StreamRow, time: number): boolean {
  return superseded_at !== null && time >= superseded_at;
}

interface Dropping {
  readonly seq: number;
  /** The stored record's content line. */
  readonly line: string;
  readonly nowMs: number;
}

/** Moves the stored record aside if an ordered backfill replaces it by the gateway's record. */
function dropRecord(db: Db, stream: StreamRow, { seq, line, nowMs }: Dropping): void {
  const command = backfillOf(db, stream.id, seq) ?? "";
  const sql = "INSERT INTO replaced_records (command_id, stream_no, seq, line, replaced_at) VALUES (?, ?, ?, ?, ?)";
  run(db, sql, command, stream.id, seq, line, nowMs);
  takeApart(db, stream, [seq, seq]);
  deleteRow(db, stream, seq);
}

function insertRecord(db: Db, stream: StreamRow, inserting: Inserting): void {
  const { record, numberOf } = inserting;
  insertRow(db, stream, inserting);
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
  noteHeld(db, stream, rangesOf(records.map(({ seq }) => seq)));
  run(db, "UPDATE streams SET version = version + 1 WHERE id = ?", stream.id);
}

type Gap = { readonly from: number; readonly to: number; readonly reason: string; readonly rejected: 0 | 1 };

function insertGap(db: Db, stream: StreamRow, gap: Gap): void {
  const sql =
    "INSERT INTO seq_gaps (stream_no, from_seq, to_seq, reason, rejected) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
  run(db, sql, stream.id, gap.from, gap.to, gap.reason.slice(0, 200), gap.rejected);
}
