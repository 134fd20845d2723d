import { ANY_NUMBER, type Db, row, run } from "../storage/db.ts";
import { heldUpTo, newestSeq } from "./records.ts";

/** A stream's row: which booth it tells of, and how far it is complete. */
export interface StreamRow {
  readonly id: number;
  readonly stream_id: string;
  readonly gateway_id: string;
  readonly booth_id: string;
  readonly generation: number;
  readonly first_seq: number | null;
  readonly acked_seq: number;
  readonly superseded_at: number | null;
  readonly withdrawn_at: number | null;
}

/**
 * The binding of a stream: the gateway must hold the booth at this generation. `oldest_seq` is known only from a
 * hello.
 */
export interface Binding {
  readonly stream_id: string;
  readonly gateway_id: string;
  readonly booth_id: string;
  readonly generation: number;
  readonly oldest_seq?: number | undefined;
  readonly predecessor?: { readonly stream_id: string; readonly last_seq: number } | null | undefined;
}

const COLUMNS = "id, stream_id, gateway_id, booth_id, generation, first_seq, acked_seq, superseded_at, withdrawn_at";

export function findStream(db: Db, streamId: string): StreamRow | undefined {
  return row<StreamRow>(db, `SELECT ${COLUMNS} FROM streams WHERE stream_id = ?`, streamId);
}

/** Finds a stream and locks it until the end of the transaction. SQLite needs no lock: it has one writer at a time. */
export function lockedStream(db: Db, streamId: string): StreamRow | undefined {
  const lock = { sqlite: "", postgres: " FOR UPDATE" }[db.engine];
  return row<StreamRow>(db, `SELECT ${COLUMNS} FROM streams WHERE stream_id = ?${lock}`, streamId);
}

/** Binds a stream to a booth; a stream of another gateway, of another booth or one withdrawn stays as it is (false). */
export function bindStream(db: Db, binding: Binding, now: number): boolean {
  const known = findStream(db, binding.stream_id);
  if (known === undefined) insertStream(db, binding, now);
  else if (
    known.gateway_id !== binding.gateway_id ||
    known.booth_id !== binding.booth_id ||
    known.withdrawn_at !== null
  ) {
    return false;
  } else {
    const { stream_id = null, last_seq = null } = binding.predecessor ?? {};
    run(
      db,
      `UPDATE streams SET generation = ?, superseded_at = NULL, predecessor_last_seq = CASE WHEN predecessor_stream_id IS NULL OR predecessor_last_seq < 0
         THEN ? ELSE predecessor_last_seq END, predecessor_stream_id = coalesce(predecessor_stream_id, ?) WHERE id = ?`,
      ...[binding.generation, last_seq, stream_id, known.id],
    );
  }
  if (binding.oldest_seq !== undefined) settleFirstSeq(db, binding.stream_id, firstSeq(db, binding));
  return true;
}

function insertStream(db: Db, binding: Binding, now: number): void {
  run(
    db,
    `INSERT INTO streams (stream_id, gateway_id, booth_id, generation, predecessor_stream_id, predecessor_last_seq, bound_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    binding.stream_id,
    binding.gateway_id,
    binding.booth_id,
    binding.generation,
    binding.predecessor?.stream_id ?? null,
    binding.predecessor?.last_seq ?? null,
    now,
  );
}

/**
 * Returns the first seq: a stream forked on the same gateway continues counting, any other starts at its oldest kept
 * record.
 */
function firstSeq(db: Db, binding: Binding): number {
  const { predecessor } = binding;
  const forked = predecessor && findStream(db, predecessor.stream_id)?.gateway_id === binding.gateway_id;
  return forked ? predecessor.last_seq + 1 : Math.max(1, binding.oldest_seq ?? 1);
}

/** Returns the predecessor on the same gateway if the seq belongs to it. */
export function predecessorOf(db: Db, stream: StreamRow, seq: number): StreamRow | undefined {
  const sql = `SELECT before.* FROM streams AS after JOIN streams AS before ON before.stream_id = after.predecessor_stream_id
    WHERE after.id = ? AND before.gateway_id = after.gateway_id AND ? <= after.predecessor_last_seq`;
  return row<StreamRow>(db, sql, stream.id, seq);
}

/** Says where the stream's unbroken prefix begins; only the first word counts that can be meant: seqs begin at 1. */
export function settleFirstSeq(db: Db, streamId: string, first: number): void {
  run(
    db,
    "UPDATE streams SET first_seq = ?, acked_seq = ? WHERE stream_id = ? AND (first_seq IS NULL OR first_seq < 1)",
    first,
    first - 1,
    streamId,
  );
}

/** Moves the end of the unbroken prefix over stored records, rejected ones and declared gaps; answers it. */
export function advance(db: Db, stream: StreamRow): number {
  const start = row<{ acked_seq: number }>(db, "SELECT acked_seq FROM streams WHERE id = ?", stream.id)?.acked_seq ?? 0;
  const acked = unbrokenUpTo(db, stream, { from: start, newest: newestSeq(db, stream) });
  if (acked !== start) run(db, "UPDATE streams SET acked_seq = ? WHERE id = ?", acked, stream.id);
  return acked;
}

/** The end of the unbroken prefix, which reaches up to `from` at least. `newest`: the newest seq held. */
export function unbrokenUpTo(
  db: Db,
  stream: StreamRow,
  { from, newest }: { readonly from: number; readonly newest: number },
): number {
  for (let acked = from; ;) {
    const held = acked < newest ? heldUpTo(db, stream, acked) : acked;
    const next = Math.max(held, endOfGaps(db, stream, acked));
    if (next === acked) return acked;
    acked = next;
  }
}

function endOfGaps(db: Db, stream: StreamRow, from: number): number {
  const sql = `SELECT max(to_seq) AS last FROM seq_gaps WHERE stream_no = ${ANY_NUMBER} AND from_seq <= ${ANY_NUMBER} AND to_seq > ?`;
  return row<{ last: number | null }>(db, sql, stream.id, from + 1, from)?.last ?? from;
}
