import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Database } from "better-sqlite3";
import { knownTime, placeBoots } from "../../derivation/clock.ts";
import { forgetModes } from "../../derivation/fold.ts";
import { emptyState, type DeriveState } from "../../derivation/state.ts";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { ReadStatements } from "../log/statements.ts";
import { savedState } from "./fold.ts";

/** A kept state is some kilobytes: one a day, as long as the log after it is kept, costs less than a hundredth of a budget. */
const EVERY_MS: Milliseconds = 86_400_000;

/** The fold's state after the record with that seq, kept so that the log can be folded again from there. */
export interface Snapshot {
  readonly seq: Seq;
  /** Corrected time of that record. */
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

/** Where in a stream a rebuild can begin, once its first records are gone. */
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
     * Inside a commit's transaction: keeps the state where the last one kept is a day old, or the log right behind it is gone, as in a full
     * store: what is kept of a log can always be folded from some state. Those from before `oldest` go.
     */
    keep(stream: StreamId, snapshot: Snapshot, oldest: Seq) {
      const last = newest.get(stream);
      if (last !== undefined && snapshot.at - last.at < EVERY_MS && last.seq >= oldest - 1) return;
      dropBefore.run(stream, oldest - 1);
      add.run(packSnapshot(stream, snapshot));
    },
    /** The first after which nothing is missing; undefined: there is none, or it is damaged or of another version. */
    first: (stream: StreamId, oldest: Seq) => unpacked(from.all({ stream, seq: oldest - 1 })).at(0),
    /** The last one that isn't damaged or of another version; undefined: there is none. */
    last: (stream: StreamId) => unpacked(from.all({ stream, seq: 0 })).at(-1),
    /** Seqs of those that are damaged. */
    damaged: (stream: StreamId): readonly Seq[] =>
      from.all({ stream, seq: 0 }).flatMap((row) => (isWhole(row) ? [] : row.seq)),
    /** How many it dropped: one, unless the file doesn't show it any more. */
    drop: (stream: StreamId, seq: Seq) => drop.run(stream, seq).changes,
    /** Of those after a seq, in order, where they stand. */
    after: (stream: StreamId, seq: Seq): readonly Pick<Snapshot, "seq" | "at">[] =>
      from.all({ stream, seq: seq + 1 }).map(({ seq: own, at }) => ({ seq: own, at })),
    /** Inside a transaction: puts these in the place of all after `seq`. */
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

/** Those that are whole and of this version. */
function unpacked(rows: readonly SnapshotRow[]): Snapshot[] {
  return rows.flatMap((row) => {
    const state = isWhole(row) ? savedState(inflateRawSync(row.packed).toString()) : undefined;
    return state === undefined ? [] : { seq: row.seq, at: row.at, state };
  });
}

function sumOf({ stream, seq, at, packed }: Omit<SnapshotRow, "sum">): number {
  return crc32(packed, crc32(JSON.stringify([stream, seq, at])));
}

/** A state, and the seq of the record after which it stands. */
export type Start = Pick<Snapshot, "seq" | "state">;

type BootStatements = Pick<ReadStatements, "bootPlaces" | "bootsAfter">;

/**
 * Where folding the kept log again begins: before the first record, or, once that is gone, with the first snapshot after
 * which nothing is missing. Throws where there is none.
 */
export function startOf(
  { sql, snapshots }: { readonly sql: BootStatements; readonly snapshots: Pick<Snapshots, "first"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  const first = oldest <= 1 ? undefined : snapshots.first(stream, oldest);
  if (oldest > 1 && first === undefined)
    throw new Error(`the log begins at ${oldest} and no state is kept from there: it can't be rebuilt`);
  return startWith(sql, stream, first);
}

/** Where the latest state can be made anew from: what was kept last, though records after it may be gone, or the log's begin. */
export function lastStart(
  { sql, snapshots }: { readonly sql: BootStatements; readonly snapshots: Pick<Snapshots, "last"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  const last = snapshots.last(stream);
  const { seq, state } = startWith(sql, stream, last);
  // Who begins with nothing has nothing to forget.
  return { seq, state: last !== undefined && seq + 1 < oldest ? forgetModes(state) : state };
}

/** It knows the places in time of the boots to come. */
function startWith(sql: BootStatements, stream: StreamId, snapshot: Snapshot | undefined): Start {
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
