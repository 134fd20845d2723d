import Database from "better-sqlite3";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { bridgeMs } from "../../src/derivation/parameters.ts";
import type { Parameters as BoothParameters } from "../../src/domain/parameters.ts";
import type { Placed } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { deriveFold, type Fold } from "../../src/store/facts/fold.ts";
import { addRowSum } from "../../src/store/log/rows.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { keepStore, type KeptStore } from "../../src/store/thread/keeper.ts";
import { createWriter, type Writer } from "../../src/store/thread/writer.ts";
import { countingFold } from "../store/busy-log.ts";
import { PLAIN } from "./parameters.ts";

/** Opens the real writer on a real file in this thread, with repeatable names and times. */
export function writerIn(folder: string, fold: Fold = deriveFold): Writer {
  let count = 0;
  return createWriter({
    db: openStoreFile(folder),
    fold,
    now: () => 0,
    wall: () => count,
    uuid: () => `00000000-0000-4000-8000-${(++count).toString().padStart(12, "0")}`,
  });
}

/** Opens a folder's store as the agent does, with a repair if necessary, and with a fold that does nothing. */
export function keptStoreIn(dataDir: string, options: Partial<Parameters<typeof keepStore>[0]> = {}): KeptStore {
  const clocks = { now: () => 0, wall: () => 0, uuid: () => "s-1" };
  return keepStore({ dataDir, fold: countingFold(50), ballast_bytes: 0, ...clocks, ...options });
}

const READ_LIMIT = 1_000;

/** Reads all sendable records and facts from a seq on. Each read returns a limited number of rows. */
export function allRecords(writer: Pick<Writer, "read">, stream = "s-1", from = 1): Placed[] {
  const records: Placed[] = [];
  for (let next = from; ;) {
    const more = writer.read(stream, next, READ_LIMIT);
    const last = more.at(-1);
    if (last === undefined) return records;
    records.push(...more);
    next = last.seq + 1;
  }
}

interface Ingesting {
  readonly booth: string;
  readonly parameters: BoothParameters;
  /** Numbers of entries in each commit, used in turn. */
  readonly sizes: readonly number[];
  /** Called after each commit with its newest seq. */
  readonly committed: (newest_seq: number) => void;
}

/** Commits those entries of a booth's tail that its stream doesn't have yet. Returns the stream. */
export function ingestEntries(
  writer: Writer,
  entries: readonly TakenEntry[],
  { booth = "booth-1", parameters = PLAIN, sizes = [50], committed = () => undefined }: Partial<Ingesting> = {},
): string {
  const { stream, last_take } = writer.openStream(booth);
  const fresh = entries.filter(({ take }) => take > last_take);
  for (let from = 0, turn = 0; from < fresh.length; turn += 1) {
    const some = fresh.slice(from, from + (sizes[turn % sizes.length] ?? 1));
    const records = recordsOf(some, (group) => bridgeMs(parameters, group));
    committed(writer.ingest(stream, records, some.at(-1)?.take ?? 0).newest_seq);
    from += some.length;
  }
  return stream;
}

/** Executes SQL on a store's file. Returns the number of changed rows of the last statement. */
export function sqlOn(folder: string, sql: string): number {
  const db = new Database(storePath(folder));
  try {
    addRowSum(db);
    db.exec(sql);
    return db.prepare<[], number>("SELECT changes()").pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

export interface OwnRecords {
  readonly stream: string;
  readonly newest_seq: number;
  readonly last_take: number;
  readonly records: readonly Placed[];
}

/** Reads all records of the one stream in the agent's store, in seq order. */
export function ownRecords(dataDir: string): OwnRecords {
  const writer = writerIn(dataDir);
  try {
    const { stream, newest_seq, oldest_seq, last_take } = writer.openStream("booth-1");
    return { stream, newest_seq, last_take, records: allRecords(writer, stream, oldest_seq) };
  } finally {
    writer.close();
  }
}
