import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Database } from "better-sqlite3";
import { knownTime, placeBoots } from "../../derivation/clock.ts";
import { forgetModes } from "../../derivation/fold.ts";
import { emptyState, type DeriveState } from "../../derivation/state.ts";
import { DAY_MS } from "../../domain/time.ts";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { ReadStatements } from "../log/statements.ts";
import { savedState } from "./fold.ts";

/** Interval of snapshots. A daily snapshot of some kilobytes takes less than a hundredth of a store's budget. */
const EVERY_MS: Milliseconds = DAY_MS;

/** The fold's state after the record with that seq. The log can be folded again from this state. */
export interface Snapshot {
  readonly seq: Seq;
  /** Corrected time of the record. */
  readonly at: EpochMs;
  readonly state: DeriveState;
}

export type Snapshots = ReturnType<typeof createSnapshots>;

interface SnapshotRow {
  readonly stream: string;
  readonly seq: number;
  readonly at: number;
  readonly sum: number;
  readonly packed: Buffer;
}

/** The snapshots of all streams. A rebuild begins with a snapshot once the first records of the log are deleted. */
export function createSnapshots(db: Database) {
  const newest = db.prepare<[string], { seq: number; at: number }>(
    `SELECT seq, at FROM base WHERE stream_id = ? ORDER BY seq DESC LIMIT 1`,
  );
  const from = db.prepare<[{ stream: string; seq: number }], SnapshotRow>(
    `SELECT stream_id AS stream, seq, at, sum, packed FROM base WHERE stream_id = @stream AND seq >= @seq ORDER BY seq`,
  );
  const add = db.prepare<[SnapshotRow]>(
    `INSERT OR REPLACE INTO base (stream_id, seq, at, sum, packed) VALUES (@stream, @seq, @at, @sum, @packed)`,
  );
  const dropBefore = db.prepare<[string, number]>(`DELETE FROM base WHERE stream_id = ? AND seq < ?`);
  const dropAfter = db.prepare<[string, number]>(`DELETE FROM base WHERE stream_id = ? AND seq > ?`);
  const drop = db.prepare<[string, number]>(`DELETE FROM base WHERE stream_id = ? AND seq = ?`);
  return {
    /**
     * Inside a commit's transaction: stores the state if the last snapshot is a day old, or if the records right after it were deleted, as
     * in a full store. So the kept log can always be folded again. Deletes snapshots older than `oldest`.
     */
    keep(stream: StreamId, snapshot: Snapshot, oldest: Seq) {
      const last = newest.get(stream);
      if (last !== undefined && snapshot.at - last.at < EVERY_MS && last.seq >= oldest - 1) return;
      dropBefore.run(stream, oldest - 1);
      add.run(packSnapshot(stream, snapshot));
    },
    /** Returns the first snapshot after which no record is missing; undefined: there is none, or it is damaged or of another version. */
    first: (stream: StreamId, oldest: Seq) => unpacked(from.all({ stream, seq: oldest - 1 })).at(0),
    /** Returns the last snapshot that is undamaged and of this version. */
    last: (stream: StreamId) => unpacked(from.all({ stream, seq: 0 })).at(-1),
    /** Returns the seqs of damaged snapshots. */
    damaged: (stream: StreamId): readonly Seq[] =>
      from.all({ stream, seq: 0 }).flatMap((row) => (isWhole(row) ? [] : row.seq)),
    /** Deletes a snapshot. Returns the number of deleted rows: 1, or 0 if the damaged file hides the row. */
    drop: (stream: StreamId, seq: Seq) => drop.run(stream, seq).changes,
    /** Returns seqs and times of the snapshots after a seq, in order. */
    after: (stream: StreamId, seq: Seq): readonly Pick<Snapshot, "seq" | "at">[] =>
      from.all({ stream, seq: seq + 1 }).map(({ seq: own, at }) => ({ seq: own, at })),
    /** Inside a transaction: replaces all snapshots after `seq`. */
    replaceAfter(stream: StreamId, seq: Seq, snapshots: readonly Snapshot[]) {
      dropAfter.run(stream, seq);
      for (const snapshot of snapshots) add.run(packSnapshot(stream, snapshot));
    },
  };
}

function packSnapshot(stream: StreamId, { seq, at, state }: Snapshot): SnapshotRow {
  const packed = deflateRawSync(JSON.stringify(state));
  return { stream, seq, at, packed, sum: sumOf({ stream, seq, at, packed }) };
}

function isWhole(row: SnapshotRow): boolean {
  return sumOf(row) === row.sum;
}

/** Returns the snapshots that are undamaged and of this version. */
function unpacked(rows: readonly SnapshotRow[]): Snapshot[] {
  return rows.flatMap((row) => {
    const state = isWhole(row) ? savedState(inflateRawSync(row.packed).toString()) : undefined;
    return state === undefined ? [] : { seq: row.seq, at: row.at, state };
  });
}

function sumOf({ stream, seq, at, packed }: Omit<SnapshotRow, "sum">): number {
  return crc32(packed, crc32(JSON.stringify([stream, seq, at])));
}

/** A state of the fold, and the seq of the last record folded into it. */
export type Start = Pick<Snapshot, "seq" | "state">;

/**
 * Returns the state to fold the kept log again from: the empty state, or the first snapshot after which no record is missing if the first
 * records are deleted. Throws if there is no such snapshot.
 */
export function startOf(
  { sql, snapshots }: { readonly sql: ReadStatements; readonly snapshots: Pick<Snapshots, "first"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  if (oldest <= 1) return startWith(sql, stream, undefined);
  const first = snapshots.first(stream, oldest);
  if (first === undefined)
    throw new Error(`the log begins at ${oldest} and no state is kept from there: it can't be rebuilt`);
  return startWith(sql, stream, first);
}

/** Returns the state to make the latest state again from: the last snapshot, even if records after it are missing, else the empty state. */
export function lastStart(
  { sql, snapshots }: { readonly sql: ReadStatements; readonly snapshots: Pick<Snapshots, "last"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  const last = snapshots.last(stream);
  const { seq, state } = startWith(sql, stream, last);
  // Forgets the modes if records are missing after the snapshot. The empty state has no modes.
  return { seq, state: last !== undefined && seq + 1 < oldest ? forgetModes(state) : state };
}

/** Returns a start state that includes the clock offsets of later boots. */
function startWith(sql: ReadStatements, stream: StreamId, snapshot: Snapshot | undefined): Start {
  const placed = sql.bootPlaces.all(stream).map(({ boot, offset_ms: offset, uncertain }) => {
    return { boot, offset, uncertain: uncertain === 1 };
  });
  if (snapshot === undefined) return { seq: 0, state: placeBoots(emptyState(), placed) };
  const { seq, state } = snapshot;
  const { boot: present } = knownTime(state);
  const toCome = new Set(sql.bootsAfter.all({ stream, seq }).map(({ boot }) => boot));
  const places = placed.filter(({ boot }) => boot !== present && toCome.has(boot));
  return { seq, state: placeBoots(state, places) };
}
