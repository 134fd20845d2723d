import type { Database } from "better-sqlite3";
import { createSnapshots } from "../facts/snapshots.ts";
import { missingIn, type Span } from "../log/missing.ts";
import { ifWhole, seqsOfLog, unpackFact, type FactRow, type LogRow } from "../log/rows.ts";
import { prepareReadStatements } from "../log/statements.ts";
import { StoreDamaged } from "../open.ts";
import type { StreamInfo } from "../port.ts";
import { createQuarantine } from "../retention/quarantine.ts";

/** Rows looked at in one piece. */
const PIECE_ROWS = 24;
/** Of facts between two rows there may be any number. */
const ALL = -1;

/** What a look at the file's pages found: SQLite's verdicts; [] where they hold together. */
interface PagesFinding {
  readonly kind: "pages";
  readonly problems: readonly string[];
}

/** What a look at some rows, or at facts that have outlived theirs, found wrong. */
interface RecordsFinding {
  readonly kind: "records";
  readonly part: "rows" | "facts";
  readonly info: StreamInfo;
  /** Where it began. */
  readonly from: number;
  readonly damaged_rows: readonly LogRow[];
  readonly damaged_facts: readonly FactRow[];
  /** Neither there nor known to be gone. */
  readonly missing: readonly Span[];
  /** Indexes that don't show all that was seen. Looked at when asked for, once damaged rows are gone. */
  readonly brokenIndexes: () => readonly string[];
}

/** What a look beside the rows found wrong: seqs of damaged snapshots, and why the index of facts can't be read through. */
interface BesideFinding {
  readonly kind: "beside";
  readonly stream: string;
  readonly snapshots: readonly number[];
  readonly unreadable: Error | null;
}

export type Finding = PagesFinding | RecordsFinding | BesideFinding;

/**
 * Goes through all that is stored, a bounded piece at a time, and changes nothing: the file's pages at once, then of every stream the
 * rows, the facts that have outlived theirs, and what stands beside. With `from` only through the rows from that seq on. What is wrong
 * with a piece is mended before the next is asked for, or not at all. Throws StoreDamaged where keys are out of order: nothing in the
 * file can be relied on.
 */
export function* find(db: Database, streams: () => readonly StreamInfo[], from?: number): Generator<Finding, void> {
  const looking = lookingAt(db);
  if (from === undefined) yield { kind: "pages", problems: problemsOf(db) };
  const done = new Set<string>();
  for (let info = streams()[0]; info !== undefined; info = streams().find(({ stream }) => !done.has(stream))) {
    const { stream, oldest_seq } = info;
    const now = (): StreamInfo => streams().find((one) => one.stream === stream) ?? info;
    done.add(stream);
    yield* piecesFrom(from ?? oldest_seq, (at) => rowsAt(looking, now(), at));
    if (from !== undefined) continue;
    yield* piecesFrom(1, (at) => factsAt(looking, now(), at));
    yield beside(looking, stream);
  }
}

/** What was found, and where the next piece begins; null: the end is reached. */
type Piece = readonly [found: RecordsFinding, next: number | null];

function* piecesFrom(from: number, pieceAt: (at: number) => Piece): Generator<RecordsFinding> {
  for (let at: number | null = from; at !== null;) {
    const [found, next]: Piece = pieceAt(at);
    yield found;
    // A row that fills a whole piece by itself can't be passed by its own first seq.
    at = next !== null && next <= at ? at + 1 : next;
  }
}

type Looking = ReturnType<typeof lookingAt>;

function lookingAt(db: Database) {
  return {
    ...prepareReadStatements(db),
    quarantine: createQuarantine(db),
    snapshots: createSnapshots(db),
    factAfter: db.prepare<[{ stream: string; seq: number }], Pick<FactRow, "prev">>(
      `SELECT prev FROM fact WHERE stream_id = @stream AND seq > @seq ORDER BY seq LIMIT 1`,
    ),
    factsUpTo: db.prepare<[string], { facts_upto: number }>(`SELECT facts_upto FROM stream WHERE stream_id = ?`),
    indexed: db.prepare<[FactRow]>(
      `SELECT 1 FROM fact INDEXED BY fact_by_time WHERE stream_id = @stream_id AND kind = @kind AND start_ms = @start_ms
       AND end_ms = @end_ms AND seq = @seq`,
    ),
    throughIndex: db.prepare<[string]>(
      `SELECT count(*) AS rows, sum(start_ms), sum(end_ms), sum(seq), sum(length(kind)) FROM fact INDEXED BY fact_by_time
       WHERE stream_id = ?`,
    ),
    waitingIn: db.prepare<[{ stream: string; first: number; last: number }], { rows: number }>(
      `SELECT count(*) AS rows FROM log INDEXED BY log_waiting
       WHERE stream_id = @stream AND placed = 0 AND first_seq BETWEEN @first AND @last`,
    ),
  };
}

function problemsOf(db: Database): readonly string[] {
  const verdicts = db.prepare<[], { quick_check: string }>("PRAGMA quick_check(20)").all();
  return verdicts.map(({ quick_check }) => quick_check).filter((verdict) => verdict !== "ok");
}

function rowsAt(looking: Looking, info: StreamInfo, from: number): Piece {
  const { stream } = info;
  const rows = looking.logRowsFrom.all({ stream, from, rows: PIECE_ROWS });
  const isEnd = rows.length < PIECE_ROWS;
  const to = isEnd ? info.newest_seq : Math.min(info.newest_seq, rows.at(-1)?.first_seq ?? from);
  const facts = looking.factsFrom.all({ stream, from, to, rows: ALL });
  mustAscend(rows.map(({ first_seq }) => first_seq));
  mustBeLast(rows, from);
  mustAscend(facts.map(({ seq }) => seq));
  const { spans, damaged_rows, damaged_facts } = readRows(info, rows, facts);
  const [first] = damaged_rows;
  if (first !== undefined && first.first_seq < from && from > info.oldest_seq) {
    // What it held begins before: the piece begins with the row before it.
    return rowsAt(looking, info, Math.max(info.oldest_seq, Math.min(from, first.first_seq) - 1));
  }
  const missing = missingIn(spans, [from, to]).flatMap((range) => unknown(looking, stream, range));
  const found = { kind: "records", part: "rows", info, from, damaged_rows, damaged_facts, missing } as const;
  return [{ ...found, brokenIndexes: () => brokenOf(looking, rows, facts) }, isEnd ? null : to];
}

/** Each fact names the one before it: between the two there was none, unless it was found damaged. */
function factsAt(looking: Looking, info: StreamInfo, from: number): Piece {
  const { stream, oldest_seq } = info;
  const { facts_upto } = looking.factsUpTo.get(stream) ?? { facts_upto: 0 };
  const begin = Math.max(from, facts_upto + 1);
  const facts = looking.factsFrom.all({ stream, from: begin, to: oldest_seq, rows: PIECE_ROWS });
  mustAscend(facts.map(({ seq }) => seq));
  const damaged_facts = facts.filter((row) => ifWhole(unpackFact, row) === undefined);
  // The first that is left names one that was given up.
  let before = Math.max(facts_upto, looking.factBefore.get({ stream, seq: from })?.seq ?? 0);
  const missing: Span[] = [];
  const mustBeBefore = (seq: number): void => {
    if (seq > before) missing.push(...unknown(looking, stream, [seq, seq]));
  };
  for (const row of facts) {
    if (!damaged_facts.includes(row)) mustBeBefore(row.prev);
    before = row.seq;
  }
  const end = facts.length < PIECE_ROWS ? null : (facts.at(-1)?.seq ?? from);
  if (end === null) {
    // A damaged key ends a search too. What follows knows the last one, and so does a search from there.
    mustBeBefore(looking.factAfter.get({ stream, seq: oldest_seq })?.prev ?? 0);
    mustBeBefore(looking.factBefore.get({ stream, seq: oldest_seq + 1 })?.seq ?? 0);
  }
  const found = { kind: "records", part: "facts", info, from, damaged_rows: [], damaged_facts, missing } as const;
  return [{ ...found, brokenIndexes: () => brokenOf(looking, [], facts) }, end];
}

/**
 * What no row leads to. Reports go through the index of facts from one end to the other, over pages that a search for single facts
 * never meets: it is read so once a pass, some 100,000 entries at most.
 */
function beside({ snapshots, throughIndex }: Looking, stream: string): BesideFinding {
  let unreadable: Error | null = null;
  try {
    throughIndex.get(stream);
  } catch (error) {
    unreadable = error instanceof Error ? error : new Error(String(error));
  }
  return { kind: "beside", stream, snapshots: snapshots.damaged(stream), unreadable };
}

/** Parts of the range that aren't noted yet. */
function unknown({ quarantine }: Looking, stream: string, range: Span): Span[] {
  return missingIn(quarantine.known(stream, ...range), range);
}

/** Keys out of order, or one that can't be found again by itself. */
function mustAscend(keys: readonly number[]): void {
  if (keys.some((key, index) => index > 0 && key <= (keys[index - 1] ?? 0))) {
    throw new StoreDamaged("the store is damaged: its rows are out of order");
  }
}

/** The first is the last one that begins at `from` or before: a damaged key among those searched through leads elsewhere. */
function mustBeLast([, second]: readonly LogRow[], from: number): void {
  if (second !== undefined && second.first_seq <= from) {
    throw new StoreDamaged("the store is damaged: a row can't be found by its key");
  }
}

function brokenOf(looking: Looking, rows: readonly LogRow[], facts: readonly FactRow[]): readonly string[] {
  const broken: string[] = [];
  if (!facts.every((row) => looking.indexed.get(row) !== undefined)) broken.push("fact_by_time");
  const first = rows[0];
  const last = rows.at(-1);
  if (first === undefined || last === undefined) return broken;
  const waiting = rows.filter(({ placed }) => placed === 0).length;
  const range = { stream: first.stream_id, first: first.first_seq, last: last.first_seq };
  if (looking.waitingIn.get(range)?.rows !== waiting) broken.push("log_waiting");
  return broken;
}

/** The seqs that are there, and what is damaged. */
function readRows(info: StreamInfo, rows: readonly LogRow[], facts: readonly FactRow[]) {
  const spans: Span[] = [];
  const isOurs = (from: number, to: number): boolean => from <= to && to <= info.newest_seq;
  const damaged_rows = rows.filter((row) => {
    const seqs = isOurs(row.first_seq, row.last_seq) ? ifWhole(seqsOfLog, row) : undefined;
    spans.push(...(seqs ?? []));
    return seqs === undefined;
  });
  const damaged_facts = facts.filter((row) => {
    if (ifWhole(unpackFact, row) === undefined) return true;
    spans.push([row.seq, row.seq]);
    return false;
  });
  return { spans, damaged_rows, damaged_facts };
}
