import type { Database } from "better-sqlite3";
import type { Fact, LogRecord, Placed, Stored } from "../../domain/record.ts";
import type { Snapshots } from "../facts/snapshots.ts";
import type { DeadLetters } from "../retention/dead-letters.ts";
import type { Fold } from "../facts/fold-port.ts";
import type { EvictTools } from "../retention/evict.ts";
import type { Quarantine } from "../repair/quarantine.ts";
import type { Statements } from "./statements.ts";
import type { LiveStream } from "./streams.ts";

export interface IngestTools {
  readonly db: Database;
  readonly sql: Statements;
  readonly fold: Fold;
  readonly evict: EvictTools;
  readonly quarantine: Quarantine;
  readonly dead_letters: DeadLetters;
  readonly bases: Snapshots;
}

/** What a commit has made so far. */
export interface Commit {
  newest: number;
  log: Placed<LogRecord>[];
  /** Of boots that wait for a sync; in rows of their own. */
  waiting: Placed<LogRecord>[];
  readonly facts: Placed<Fact>[];
  /** Boots were placed: the state must be saved, as the rows before it have changed. */
  placed: boolean;
  /** The newest record with a known time. */
  last?: Placed<LogRecord>;
}

/** Folds a record whose time is known; its facts get the next seqs. */
export function foldOne(
  fold: Fold,
  live: LiveStream,
  { commit, record }: { commit: Commit; record: Stored<LogRecord> },
): Placed<LogRecord> {
  const out = fold.step(live.fold, record);
  live.fold = out.state;
  const time = fold.timeOf(live.fold);
  for (const fact of out.facts) commit.facts.push({ ...fact, seq: ++commit.newest, time });
  return { ...record, time };
}
