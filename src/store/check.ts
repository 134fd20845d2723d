import type { Database } from "better-sqlite3";
import { createSnapshots } from "./facts/snapshots.ts";
import { missingIn, type Span } from "./log/missing.ts";
import { ifWhole, seqsOfLog, unpackFact, type FactRow, type LogRow } from "./log/rows.ts";
import { prepareReadStatements } from "./log/statements.ts";
import { CELL_PROBLEM, mustHoldTogether, pageProblems, StoreDamaged } from "./open.ts";
import type { StreamInfo } from "./port.ts";
import { createQuarantine } from "./log/quarantine.ts";

/** Number of log rows checked in one piece. */
const PIECE_ROWS = 24;
/** Row limit of an SQL query that means "all rows". Any number of facts can be between two log rows. */
const ALL = -1;

/** The damage found in one piece of a stream's records. */
interface Finding {
  readonly info: StreamInfo;
  /** First seq (sequence number) of the piece. */
  readonly from: number;
  readonly damaged_rows: readonly LogRow[];
  readonly damaged_facts: readonly FactRow[];
  /** Seqs of damaged snapshots. */
  readonly damaged_states: readonly number[];
  /** Ranges of seqs that are neither stored nor noted as lost. */
  readonly missing: readonly Span[];
}

type CheckStatements = ReturnType<typeof prepareCheck>;

function prepareCheck(db: Database) {
  return {
    ...prepareReadStatements(db),
    quarantine: createQuarantine(db),
    snapshots: createSnapshots(db),
    factAfter: db.prepare<[{ stream: string; seq: number }], Pick<FactRow, "prev">>(
      `SELECT prev FROM fact WHERE stream_id = @stream AND seq > @seq ORDER BY seq LIMIT 1`,
    ),
    factsUpTo: db.prepare<[string], { facts_upto: number }>(`SELECT facts_upto FROM stream WHERE stream_id = ?`),
  };
}

/**
 * Checks every row of all streams by its checksum, a bounded piece at a time, without changing the store: log rows, facts before the oldest
 * log row, and snapshots. `from`: checks only log rows and facts from that seq on. The caller repairs a piece before it requests the next
 * one, or not at all. Throws StoreDamaged if keys are out of order, because then no search in the file can be trusted.
 */
export function* find(db: Database, streams: () => readonly StreamInfo[], from?: number): Generator<Finding, void> {
  const sql = prepareCheck(db);
  const done = new Set<string>();
  for (let info = streams()[0]; info !== undefined; info = streams().find(({ stream }) => !done.has(stream))) {
    const { stream, oldest_seq } = info;
    const now = (): StreamInfo => streams().find((one) => one.stream === stream) ?? info;
    done.add(stream);
    yield* piecesFrom(from ?? oldest_seq, (at) => rowsAt(sql, now(), at));
    if (from !== undefined) continue;
    yield* piecesFrom(1, (at) => factsAt(sql, now(), at));
    yield { ...nothingIn(now(), oldest_seq), damaged_states: sql.snapshots.damaged(stream) };
  }
}

function nothingIn(info: StreamInfo, from: number): Finding {
  return { info, from, damaged_rows: [], damaged_facts: [], damaged_states: [], missing: [] };
}

/** A finding, and the first seq of the next piece; null: this was the last piece. */
type Piece = readonly [found: Finding, next: number | null];

function* piecesFrom(from: number, pieceAt: (at: number) => Piece): Generator<Finding> {
  for (let at: number | null = from; at !== null;) {
    const [found, next]: Piece = pieceAt(at);
    yield found;
    // Moves on by at least one seq. If one row fills a whole piece, the next piece must not begin with the same row again.
    at = next !== null && next <= at ? at + 1 : next;
  }
}

function rowsAt(sql: CheckStatements, info: StreamInfo, from: number): Piece {
  const { stream } = info;
  const rows = sql.logRowsFrom.all({ stream, from, rows: PIECE_ROWS });
  const isEnd = rows.length < PIECE_ROWS;
  const to = isEnd ? info.newest_seq : Math.min(info.newest_seq, rows.at(-1)?.first_seq ?? from);
  const facts = sql.factsFrom.all({ stream, from, to, rows: ALL });
  mustAscend(rows.map(({ first_seq }) => first_seq));
  mustAscend(facts.map(({ seq }) => seq));
  // Checks that the first row is the last one that begins at `from` or earlier. If the second row does so too, a damaged key has hidden it.
  if (rows[1] !== undefined && rows[1].first_seq <= from) mustAscend([1, 0]);
  const seqs = rows.map((row) => {
    const isOurs = row.first_seq <= row.last_seq && row.last_seq <= info.newest_seq;
    return isOurs ? ifWhole(seqsOfLog, row) : undefined;
  });
  const damaged_rows = rows.filter((_, index) => seqs[index] === undefined);
  const [first] = damaged_rows;
  if (first !== undefined && first.first_seq < from && from > info.oldest_seq) {
    // Starts the piece at the row before the damaged one, because the damaged row begins before `from`.
    return rowsAt(sql, info, Math.max(info.oldest_seq, Math.min(from, first.first_seq) - 1));
  }
  const damaged_facts = damagedIn(facts);
  const kept = facts.filter((row) => !damaged_facts.includes(row)).map(({ seq }): Span => [seq, seq]);
  const missing = missingIn([...seqs.flatMap((spans) => spans ?? []), ...kept], [from, to]);
  const unknown = missing.flatMap((range) => unnoted(sql, stream, range));
  return [{ ...nothingIn(info, from), damaged_rows, damaged_facts, missing: unknown }, isEnd ? null : to];
}

/** Checks facts by their chain: each fact names the previous one, and no fact between them may exist unless it is noted as lost. */
function factsAt(sql: CheckStatements, info: StreamInfo, from: number): Piece {
  const { stream, oldest_seq } = info;
  const { facts_upto } = sql.factsUpTo.get(stream) ?? { facts_upto: 0 };
  const facts = sql.factsFrom.all({ stream, from, to: oldest_seq, rows: PIECE_ROWS });
  mustAscend(facts.map(({ seq }) => seq));
  const damaged_facts = damagedIn(facts);
  const missing: Span[] = damaged_facts.map(({ seq }) => [seq, seq]);
  // Starts at `facts_upto` at least: the fact that the first kept fact names was deleted and isn't missing.
  let before = Math.max(facts_upto, sql.factBefore.get({ stream, seq: from })?.seq ?? 0);
  const mustBeBefore = (seq: number): void => {
    if (seq > before) missing.push(...unnoted(sql, stream, [seq, seq]));
  };
  for (const row of facts) {
    // Up to `facts_upto`, only facts of some kinds are kept, so their chain has holes.
    if (!damaged_facts.includes(row) && row.seq > facts_upto) mustBeBefore(row.prev);
    before = Math.max(before, row.seq);
  }
  const next = facts.length < PIECE_ROWS ? null : (facts.at(-1)?.seq ?? from);
  if (next === null) {
    // Searches from the other end too, because a damaged key can end a search too early. The next fact found there names the fact before
    // it.
    mustBeBefore(sql.factAfter.get({ stream, seq: oldest_seq })?.prev ?? 0);
    mustBeBefore(sql.factBefore.get({ stream, seq: oldest_seq + 1 })?.seq ?? 0);
  }
  return [{ ...nothingIn(info, from), damaged_facts, missing }, next];
}

function damagedIn(facts: readonly FactRow[]): readonly FactRow[] {
  return facts.filter((row) => ifWhole(unpackFact, row) === undefined);
}

/** Returns the parts of a range that aren't noted as lost yet. */
function unnoted({ quarantine }: CheckStatements, stream: string, range: Span): Span[] {
  return missingIn(quarantine.known(stream, ...range), range);
}

function mustAscend(keys: readonly number[]): void {
  if (keys.some((key, index) => index > 0 && key <= (keys[index - 1] ?? 0))) {
    throw new StoreDamaged("the store is damaged: its rows are out of order");
  }
}

/** Rebuilds indexes that lack entries. Throws StoreDamaged if pages or tables of the file are damaged. */
export function mendPages(db: Database): void {
  if (pageProblems(db).every((problem) => CELL_PROBLEM.test(problem))) return;
  mustHoldTogether(db);
  db.exec("REINDEX");
}

/**
 * Deletes the damaged rows of a piece, and notes the missing seqs as lost. Another call changes nothing. `isAll`: the file contains every
 * row that can be found, as after a salvage. Without it, throws StoreDamaged if seqs are missing although no row is damaged: the file then
 * hides rows, which a salvage may find.
 */
export function mend(db: Database, found: Finding, isAll = false): void {
  const { info, damaged_rows, damaged_facts, damaged_states, missing } = found;
  const { stream, acked_seq } = info;
  const [hidden] = missing;
  const isDamaged = damaged_rows.length + damaged_facts.length + damaged_states.length > 0;
  if (!isDamaged && hidden === undefined) return;
  if (isDamaged) mustHoldTogether(db);
  else if (hidden !== undefined && !isAll) {
    const [from, to] = hidden.map(String);
    throw new StoreDamaged(`the store is damaged: it doesn't show records ${from} to ${to} of stream ${stream}`);
  }
  const dropRow = db.prepare<[string, number]>("DELETE FROM log WHERE stream_id = ? AND first_seq = ?");
  const dropFact = db.prepare<[string, number]>("DELETE FROM fact WHERE stream_id = ? AND seq = ?");
  const quarantine = createQuarantine(db);
  const snapshots = createSnapshots(db);
  db.transaction(() => {
    const dropped = [
      ...damaged_rows.map(({ first_seq }) => dropRow.run(stream, first_seq).changes),
      ...damaged_facts.map(({ seq }) => dropFact.run(stream, seq).changes),
      ...damaged_states.map((seq) => snapshots.drop(stream, seq)),
    ];
    if (dropped.some((rows) => rows !== 1)) {
      throw new StoreDamaged("the store is damaged: a row can't be found by its key");
    }
    for (const range of missing) quarantine.note(stream, ...range);
    if (missing.some(([, last]) => last > acked_seq)) quarantine.declareAgain(stream, acked_seq);
  })();
}
