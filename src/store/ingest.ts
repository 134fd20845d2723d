import type { Database } from "better-sqlite3";
import type { Fact, LogRecord, Placed, Stored } from "../core/types/record.ts";
import type { Fold } from "./fold-port.ts";
import { packFact, packLog, runsOf, stateRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import type { LiveStream } from "./streams.ts";

/** The state is saved at each fact and at least this often, which bounds what start-up folds again. */
const SAVE_STATE_EVERY_MS = 600_000;

interface Stepped {
  readonly log: readonly Placed<LogRecord>[];
  readonly facts: readonly Placed<Fact>[];
  readonly newest: number;
}

/**
 * One transaction: appends the records in the given order, folds each, appends the facts right after the record that
 * made them, saves the state where due, moves newest_seq and last_take. Throws as the database does; the stream in memory is
 * then worthless and must be loaded again, since the fold has gone on.
 */
export function ingest(
  tools: { readonly db: Database; readonly sql: Statements; readonly fold: Fold },
  live: LiveStream,
  input: { readonly records: readonly LogRecord[]; readonly lastTake: number },
): readonly Stored<Fact>[] {
  const { sql, fold, db } = tools;
  const stream = live.info.stream;
  const stepped = stepAll(fold, live, input.records);
  const save = stateIsDue(live, stepped);
  db.transaction(() => {
    for (const run of runsOf(stepped.log)) sql.addLogRow.run(packLog(stream, run));
    for (const fact of stepped.facts) sql.addFact.run(packFact(stream, fact, fold.version));
    if (save !== null) sql.saveState.run(stateRow(stream, save.seq, live.fold));
    sql.moveStream.run({ stream, newest: stepped.newest, acked: live.info.acked_seq, take: input.lastTake });
  })();
  live.info = { ...live.info, newest_seq: stepped.newest, last_take: input.lastTake };
  live.saved = save ?? live.saved;
  return stepped.facts;
}

function stepAll(fold: Fold, live: LiveStream, records: readonly LogRecord[]): Stepped {
  const log: Placed<LogRecord>[] = [];
  const facts: Placed<Fact>[] = [];
  let newest: number = live.info.newest_seq;
  for (const record of records) {
    const seq = ++newest;
    const out = fold.step(live.fold, { ...record, seq });
    live.fold = out.state;
    const time = fold.timeOf(live.fold);
    log.push({ ...record, seq, time });
    for (const fact of out.facts) facts.push({ ...fact, seq: ++newest, time });
  }
  return { log, facts, newest };
}

function stateIsDue(live: LiveStream, stepped: Stepped): LiveStream["saved"] {
  const last = stepped.log.at(-1);
  if (last === undefined) return null;
  const due =
    stepped.facts.length > 0 || live.saved?.boot !== last.boot || last.mono - live.saved.mono >= SAVE_STATE_EVERY_MS;
  return due ? { seq: stepped.newest, mono: last.mono, boot: last.boot } : null;
}
