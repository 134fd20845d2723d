import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Database, Statement } from "better-sqlite3";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import type { FoldState } from "./fold-port.ts";

/** A kept state is some kilobytes: one a day, as long as the log after it is kept, costs less than a hundredth of a budget. */
const EVERY_MS: Milliseconds = 86_400_000;

/** The fold's state after the record with that seq, kept so that the log can be folded again from there. */
export interface Snapshot {
  readonly seq: Seq;
  /** Corrected time of that record. */
  readonly at: EpochMs;
  readonly state: FoldState;
}

/** Where in a stream a rebuild can begin, once its first records are gone. */
export interface Snapshots {
  /**
   * Inside a commit's transaction: keeps the state where the last one kept is a day old, or the log right behind it is gone, as in a full store:
   * what is kept of a log can always be folded from some state. Those from before `oldest` go.
   */
  keep(stream: StreamId, base: Snapshot, oldest: Seq): void;
  /** The first after which nothing is missing; undefined: there is none, or it is damaged or of another version. */
  first(stream: StreamId, oldest: Seq, accepts: (state: FoldState) => boolean): Snapshot | undefined;
  /** The last one that isn't damaged or of another version; undefined: there is none. */
  last(stream: StreamId, accepts: (state: FoldState) => boolean): Snapshot | undefined;
  /** Seqs of those that are damaged. */
  damaged(stream: StreamId): readonly Seq[];
  /** Of those after a seq, in order, where they stand. */
  after(stream: StreamId, seq: Seq): readonly Pick<Snapshot, "seq" | "at">[];
  /** Inside a transaction: puts these in the place of all after `seq`. */
  replaceAfter(stream: StreamId, seq: Seq, bases: readonly Snapshot[]): void;
}

interface SnapshotRow {
  readonly stream: string;
  readonly seq: number;
  readonly at: number;
  readonly sum: number;
  readonly packed: Buffer;
}

interface SnapshotStatements {
  readonly newest: Statement<[string], { seq: number; at: number }>;
  readonly from: Statement<[{ stream: string; seq: number }], SnapshotRow>;
  readonly add: Statement<[SnapshotRow]>;
  readonly dropBefore: Statement<[{ stream: string; seq: number }]>;
  readonly dropAfter: Statement<[{ stream: string; seq: number }]>;
}

export function createSnapshots(db: Database): Snapshots {
  const sql = prepare(db);
  return {
    keep(stream, base, oldest) {
      const newest = sql.newest.get(stream);
      if (newest !== undefined && base.at - newest.at < EVERY_MS && newest.seq >= oldest - 1) return;
      sql.dropBefore.run({ stream, seq: oldest - 1 });
      sql.add.run(packSnapshot(stream, base));
    },
    first(stream, oldest, accepts) {
      const bases = sql.from.all({ stream, seq: oldest - 1 }).flatMap((row) => unpackSnapshot(row) ?? []);
      return bases.find(({ state }) => accepts(state));
    },
    ...keptSnapshots(db),
    after: (stream, seq) => sql.from.all({ stream, seq: seq + 1 }).map(({ seq: own, at }) => ({ seq: own, at })),
    replaceAfter(stream, seq, bases) {
      sql.dropAfter.run({ stream, seq });
      for (const base of bases) sql.add.run(packSnapshot(stream, base));
    },
  };
}

/** For those who only read. */
export function keptSnapshots(db: Database): Pick<Snapshots, "last" | "damaged"> {
  const all: Statement<[string], SnapshotRow> = db.prepare(
    `SELECT ${SNAPSHOT_COLUMNS} FROM base WHERE stream_id = ? ORDER BY seq`,
  );
  return {
    last: (stream, accepts) =>
      all
        .all(stream)
        .flatMap((row) => unpackSnapshot(row) ?? [])
        .findLast(({ state }) => accepts(state)),
    damaged: (stream) =>
      all
        .all(stream)
        .filter((row) => !isWhole(row))
        .map(({ seq }) => seq),
  };
}

const SNAPSHOT_COLUMNS = "stream_id AS stream, seq, at, sum, packed";

function prepare(db: Database): SnapshotStatements {
  return {
    newest: db.prepare(`SELECT seq, at FROM base WHERE stream_id = ? ORDER BY seq DESC LIMIT 1`),
    from: db.prepare(`SELECT ${SNAPSHOT_COLUMNS} FROM base WHERE stream_id = @stream AND seq >= @seq ORDER BY seq`),
    add: db.prepare(
      `INSERT OR REPLACE INTO base (stream_id, seq, at, sum, packed) VALUES (@stream, @seq, @at, @sum, @packed)`,
    ),
    dropBefore: db.prepare(`DELETE FROM base WHERE stream_id = @stream AND seq < @seq`),
    dropAfter: db.prepare(`DELETE FROM base WHERE stream_id = @stream AND seq > @seq`),
  };
}

function packSnapshot(stream: StreamId, { seq, at, state }: Snapshot): SnapshotRow {
  const packed = deflateRawSync(JSON.stringify(state));
  return { stream, seq, at, packed, sum: sumOf({ stream, seq, at, packed }) };
}

function isWhole(row: SnapshotRow): boolean {
  return sumOf(row) === row.sum;
}

function unpackSnapshot(row: SnapshotRow): Snapshot | undefined {
  if (!isWhole(row)) return undefined;
  const { seq, at, packed } = row;
  return { seq, at, state: JSON.parse(inflateRawSync(packed).toString()) as FoldState };
}

function sumOf({ stream, seq, at, packed }: Omit<SnapshotRow, "sum">): number {
  return crc32(packed, crc32(JSON.stringify([stream, seq, at])));
}
