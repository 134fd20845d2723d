import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import type { Database, Statement } from "better-sqlite3";
import type { EpochMs, Milliseconds, Seq, StreamId } from "../core/types/units.ts";
import type { FoldState } from "./fold-port.ts";

/** A kept state is some kilobytes: one a day, as long as the log after it is kept, costs less than a hundredth of a budget. */
const EVERY_MS: Milliseconds = 86_400_000;

/** The fold's state after the record with that seq, kept so that the log can be folded again from there. */
export interface Base {
  readonly seq: Seq;
  /** Corrected time of that record. */
  readonly at: EpochMs;
  readonly state: FoldState;
}

/** Where in a stream a rebuild can begin, once its first records are gone. */
export interface Bases {
  /**
   * Inside a commit's transaction: keeps the state where the last one kept is a day old, or the log right behind it is gone, as in a full store:
   * what is kept of a log can always be folded from some state. Those from before `oldest` go.
   */
  keep(stream: StreamId, base: Base, oldest: Seq): void;
  /** The first after which nothing is missing; undefined: there is none, or it is damaged or of another version. */
  first(stream: StreamId, oldest: Seq, accepts: (state: FoldState) => boolean): Base | undefined;
  /** The last one that isn't damaged or of another version; undefined: there is none. */
  last(stream: StreamId, accepts: (state: FoldState) => boolean): Base | undefined;
  /** Seqs of those that are damaged. */
  damaged(stream: StreamId): readonly Seq[];
  /** Of those after a seq, in order, where they stand. */
  after(stream: StreamId, seq: Seq): readonly Pick<Base, "seq" | "at">[];
  /** Inside a transaction: puts these in the place of all after `seq`. */
  replaceAfter(stream: StreamId, seq: Seq, bases: readonly Base[]): void;
}

interface BaseRow {
  readonly stream: string;
  readonly seq: number;
  readonly at: number;
  readonly sum: number;
  readonly packed: Buffer;
}

interface BaseStatements {
  readonly newest: Statement<[string], { seq: number; at: number }>;
  readonly from: Statement<[{ stream: string; seq: number }], BaseRow>;
  readonly add: Statement<[BaseRow]>;
  readonly dropBefore: Statement<[{ stream: string; seq: number }]>;
  readonly dropAfter: Statement<[{ stream: string; seq: number }]>;
}

export function createBases(db: Database): Bases {
  const sql = prepare(db);
  return {
    keep(stream, base, oldest) {
      const newest = sql.newest.get(stream);
      if (newest !== undefined && base.at - newest.at < EVERY_MS && newest.seq >= oldest - 1) return;
      sql.dropBefore.run({ stream, seq: oldest - 1 });
      sql.add.run(packBase(stream, base));
    },
    first(stream, oldest, accepts) {
      const bases = sql.from.all({ stream, seq: oldest - 1 }).flatMap((row) => unpackBase(row) ?? []);
      return bases.find(({ state }) => accepts(state));
    },
    ...keptBases(db),
    after: (stream, seq) => sql.from.all({ stream, seq: seq + 1 }).map(({ seq: own, at }) => ({ seq: own, at })),
    replaceAfter(stream, seq, bases) {
      sql.dropAfter.run({ stream, seq });
      for (const base of bases) sql.add.run(packBase(stream, base));
    },
  };
}

/** For those who only read: an older agent, before states were kept, may have left the file. */
export function keptBases(db: Database): Pick<Bases, "last" | "damaged"> {
  const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'base'").get() !== undefined;
  const all: Statement<[string], BaseRow> | null = isThere
    ? db.prepare(`SELECT ${BASE_COLUMNS} FROM base WHERE stream_id = ? ORDER BY seq`)
    : null;
  const rowsOf = (stream: StreamId): readonly BaseRow[] => all?.all(stream) ?? [];
  return {
    last: (stream, accepts) =>
      rowsOf(stream)
        .flatMap((row) => unpackBase(row) ?? [])
        .findLast(({ state }) => accepts(state)),
    damaged: (stream) =>
      rowsOf(stream)
        .filter((row) => !isWhole(row))
        .map(({ seq }) => seq),
  };
}

const BASE_COLUMNS = "stream_id AS stream, seq, at, sum, packed";

function prepare(db: Database): BaseStatements {
  return {
    newest: db.prepare(`SELECT seq, at FROM base WHERE stream_id = ? ORDER BY seq DESC LIMIT 1`),
    from: db.prepare(`SELECT ${BASE_COLUMNS} FROM base WHERE stream_id = @stream AND seq >= @seq ORDER BY seq`),
    add: db.prepare(
      `INSERT OR REPLACE INTO base (stream_id, seq, at, sum, packed) VALUES (@stream, @seq, @at, @sum, @packed)`,
    ),
    dropBefore: db.prepare(`DELETE FROM base WHERE stream_id = @stream AND seq < @seq`),
    dropAfter: db.prepare(`DELETE FROM base WHERE stream_id = @stream AND seq > @seq`),
  };
}

function packBase(stream: StreamId, { seq, at, state }: Base): BaseRow {
  const packed = deflateRawSync(JSON.stringify(state));
  return { stream, seq, at, packed, sum: sumOf({ stream, seq, at, packed }) };
}

function isWhole(row: BaseRow): boolean {
  return sumOf(row) === row.sum;
}

function unpackBase(row: BaseRow): Base | undefined {
  if (!isWhole(row)) return undefined;
  const { seq, at, packed } = row;
  return { seq, at, state: JSON.parse(inflateRawSync(packed).toString()) as FoldState };
}

function sumOf({ stream, seq, at, packed }: Omit<BaseRow, "sum">): number {
  return crc32(packed, crc32(JSON.stringify([stream, seq, at])));
}
