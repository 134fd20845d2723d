import type { Database } from "better-sqlite3";
import type { StreamInfo } from "../port.ts";
import { keptSnapshots, type Snapshots } from "../facts/snapshots.ts";
import { mustHoldTogether, StoreDamaged } from "./damage.ts";
import type { GivenUp } from "../retention/evict.ts";
import { missingIn, type Span } from "../log/missing.ts";
import { prepareQuarantine, type QuarantineStatements } from "./quarantine-statements.ts";
import { ifWhole, seqsOfLog, unpackFact, type FactRow, type LogRow } from "../log/rows.ts";

/** Rows looked at in one step of a check. */
const STEP_ROWS = 24;

/** Ranges that people are told of: a disk that rots makes thousands. */
const MOST_TOLD = 5;

const LOST_KEY = "the store is damaged: a row can't be found by its key";

export interface Quarantine {
  /**
   * Looks at the rows from seq on, some at a time: takes damaged ones out and notes which seqs are missing by that.
   * Returns where the next step goes on; null: the end is reached. Idempotent. Throws StoreDamaged where rows are missing
   * though none is damaged: the file hides them, and a salvage may find them.
   */
  step(info: StreamInfo, from: number): number | null;
  /** Checks from seq on until the end, or until the clock says stop. True: reached the end. */
  checkFrom(info: StreamInfo, from: number, until: () => boolean): boolean;
  /** Whether the file's pages hold together. Throws StoreDamaged where they don't; who only looks asks by itself. */
  lookAtPages(): void;
  /** As step, over the facts that have outlived their records. */
  oldFacts(info: StreamInfo, from: number): number | null;
  /**
   * Looks at what no row leads to: the index of facts, which is made anew where it can't be read through, and kept states, of which damaged
   * ones go, so that the next commit keeps another.
   */
  lookBeside(stream: string): void;
  /** Ranges found missing that no gap record tells of yet. */
  undeclared(stream: string): readonly GivenUp[];
  /** They are declared by this commit. */
  declare(stream: string): void;
  /** Ranges of which a gap record tells, or that the service had before they were lost; ascending. */
  declared(stream: string): readonly Span[];
  /** What was lost there stands again. */
  forget(stream: string, range: Span): void;
  /** Records in quarantine. */
  count(stream: string): number;
  /** Where they stood: the newest few ranges, ascending. */
  newest(stream: string): readonly Span[];
}

/** What a look at some rows found wrong. */
export interface Finding {
  readonly stream: string;
  /** First seqs of rows, and seqs of facts. */
  readonly rows: readonly number[];
  readonly facts: readonly number[];
  /** Seqs of kept states. */
  readonly states: readonly number[];
  readonly missing: readonly Span[];
}

const NOTHING_FOUND = { rows: [], facts: [], states: [], missing: [] } as const;

/**
 * `hidden`: what to do about rows that are missing where none is damaged. "note": nothing more can be found, as after a salvage. A
 * function only looks: it is told of every finding, and nothing is changed.
 */
export function createQuarantine(db: Database, hidden: Tools["hidden"] = "throw"): Quarantine {
  const tools: Tools = { db, sql: prepareQuarantine(db), bases: keptSnapshots(db), hidden };
  const { sql } = tools;
  const step = (info: StreamInfo, from: number): number | null => stepRows(tools, info, from);
  return {
    step,
    checkFrom(info, from, until) {
      let at: number | null = from;
      while (at !== null && !until()) {
        const next: number | null = step(info, at);
        // A row that fills a whole step by itself can't be passed by its own first seq.
        at = next !== null && next <= at ? at + 1 : next;
      }
      return at === null;
    },
    lookAtPages() {
      if (typeof hidden === "string") mustHoldTogether(db);
    },
    oldFacts: (info, from) => stepFacts(tools, info, from),
    lookBeside(stream) {
      readIndex(tools, stream);
      lookAtSnapshots(tools, stream);
    },
    undeclared: (stream) => sql.undeclared.all(stream),
    declare: (stream) => void sql.declare.run(stream),
    declared: (stream) => sql.declared.all(stream).map(({ from, to }) => [from, to] as const),
    forget: (stream, [from, to]) => void sql.forget.run({ stream, from, to }),
    count: (stream) => sql.count.get(stream)?.records ?? 0,
    newest: (stream) =>
      sql.newest
        .all(stream, MOST_TOLD)
        .map(({ from, to }) => [from, to] as const)
        .reverse(),
  };
}

interface Tools {
  readonly db: Database;
  readonly sql: QuarantineStatements;
  readonly bases: Pick<Snapshots, "damaged">;
  readonly hidden: "throw" | "note" | ((finding: Finding) => void);
}

function stepRows(tools: Tools, info: StreamInfo, from: number): number | null {
  const { db, sql } = tools;
  const { stream } = info;
  const rows = sql.rows.all({ stream, from, rows: STEP_ROWS });
  const isEnd = rows.length < STEP_ROWS;
  const to = isEnd ? info.newest_seq : Math.min(info.newest_seq, rows.at(-1)?.first_seq ?? from);
  const facts = sql.facts.all({ stream, from, to });
  mustAscend(rows.map(({ first_seq }) => first_seq));
  mustBeLast(rows, from);
  mustAscend(facts.map(({ seq }) => seq));
  const present = spansOf(info, rows, facts);
  const [first] = present.damagedRows;
  if (first !== undefined && first.first_seq < from && from > info.oldest_seq) {
    // What it held begins before: the step begins with the row before it.
    return stepRows(tools, info, Math.max(info.oldest_seq, Math.min(from, first.first_seq) - 1));
  }
  const missing = missingIn(present.spans, [from, to]).flatMap((range) => unknown(tools, stream, range));
  const seen = {
    ...NOTHING_FOUND,
    rows: present.damagedRows.map(({ first_seq }) => first_seq),
    facts: present.damagedFacts.map(({ seq }) => seq),
    missing,
  };
  if (isOnlyLook(tools, stream, seen)) return isEnd ? null : to;
  const isDamaged = present.damagedRows.length + present.damagedFacts.length > 0;
  if (isDamaged) mustHoldTogether(db);
  else if (missing.length > 0) foundHidden(tools, stream, missing);
  db.transaction(() => {
    for (const row of present.damagedRows) mustDrop(sql.dropRow.run({ stream, seq: row.first_seq }).changes);
    for (const fact of present.damagedFacts) mustDrop(sql.dropFact.run({ stream, seq: fact.seq }).changes);
    for (const range of missing) note(tools, stream, range);
    // Among what is lost may be the gap records that told of earlier losses, and nobody has them yet.
    if (missing.some(([, last]) => last > info.acked_seq)) sql.tellAgain.run({ stream, acked: info.acked_seq });
  })();
  mendIndexes(tools, { stream, rows, facts });
  return isEnd ? null : to;
}

/** Each fact names the one before it: between the two there was none, unless it was found damaged. */
function stepFacts(tools: Tools, info: StreamInfo, from: number): number | null {
  const { db, sql } = tools;
  const { stream } = info;
  const { facts_upto } = sql.factsUpTo.get(stream) ?? { facts_upto: 0 };
  const rows = sql.factPage.all({ stream, from: Math.max(from, facts_upto + 1), to: info.oldest_seq, rows: STEP_ROWS });
  mustAscend(rows.map(({ seq }) => seq));
  const damaged = rows.filter((row) => ifWhole(unpackFact, row) === undefined);
  // The first that is left names one that was given up.
  let before = Math.max(facts_upto, sql.factBefore.get({ stream, seq: from })?.seq ?? 0);
  const missing: Span[] = [];
  const mustBeBefore = (seq: number): void => {
    if (seq > before) missing.push(...unknown(tools, stream, [seq, seq]));
  };
  for (const row of rows) {
    if (!damaged.includes(row)) mustBeBefore(row.prev);
    before = row.seq;
  }
  const end = rows.length < STEP_ROWS ? null : (rows.at(-1)?.seq ?? from);
  if (end === null) {
    // A damaged key ends a search too. What follows knows the last one, and so does a search from there.
    mustBeBefore(sql.factAfter.get({ stream, seq: info.oldest_seq })?.prev ?? 0);
    mustBeBefore(sql.factBefore.get({ stream, seq: info.oldest_seq + 1 })?.seq ?? 0);
  }
  if (isOnlyLook(tools, stream, { ...NOTHING_FOUND, facts: damaged.map(({ seq }) => seq), missing })) return end;
  if (damaged.length > 0) mustHoldTogether(db);
  else if (missing.length > 0) foundHidden(tools, stream, missing);
  db.transaction(() => {
    for (const { seq } of damaged) {
      mustDrop(sql.dropFact.run({ stream, seq }).changes);
      note(tools, stream, [seq, seq]);
    }
    for (const range of missing) note(tools, stream, range);
  })();
  mendIndexes(tools, { stream, rows: [], facts: rows });
  return end;
}

function isOnlyLook({ hidden }: Tools, stream: string, seen: Omit<Finding, "stream">): boolean {
  if (typeof hidden === "string") return false;
  if (Object.values(seen).some(({ length }) => length > 0)) hidden({ stream, ...seen });
  return true;
}

function foundHidden({ hidden }: Tools, stream: string, missing: readonly Span[]): void {
  const [from, to] = missing[0] ?? [0, 0];
  if (hidden === "throw") {
    throw new StoreDamaged(
      `the store is damaged: it doesn't show records ${from.toString()} to ${to.toString()} of stream ${stream}`,
    );
  }
}

/** Parts of the range that aren't noted yet. */
function unknown({ sql }: Tools, stream: string, range: Span): Span[] {
  const known = sql.known.all({ stream, from: range[0], to: range[1] });
  return missingIn(
    known.map(({ from, to }) => [from, to] as const),
    range,
  );
}

function note({ sql }: Tools, stream: string, [from, to]: Span): void {
  sql.note.run({ stream, from, to, reason: "damaged in the store" });
}

/** Keys out of order, or one that can't be found again by itself: nothing in the file can be relied on. */
function mustAscend(keys: readonly number[]): void {
  if (keys.some((key, index) => index > 0 && key <= (keys[index - 1] ?? 0))) {
    throw new StoreDamaged("the store is damaged: its rows are out of order");
  }
}

/** The first is the last one that begins at `from` or before: a damaged key among those searched through leads elsewhere. */
function mustBeLast([, second]: readonly LogRow[], from: number): void {
  if (second !== undefined && second.first_seq <= from) throw new StoreDamaged(LOST_KEY);
}

function mustDrop(changes: number): void {
  if (changes !== 1) throw new StoreDamaged(LOST_KEY);
}

/**
 * Reports go through the index from one end to the other, over pages that a search for single facts never meets. It is read so
 * once a pass, some 100,000 entries at most.
 */
function readIndex({ db, sql, hidden }: Tools, stream: string): void {
  try {
    sql.throughIndex.get(stream);
  } catch (error) {
    if (typeof hidden === "function") throw error;
    db.exec("REINDEX fact_by_time");
  }
}

function lookAtSnapshots(tools: Tools, stream: string): void {
  const { db, bases } = tools;
  const states = bases.damaged(stream);
  if (isOnlyLook(tools, stream, { ...NOTHING_FOUND, states }) || states.length === 0) return;
  mustHoldTogether(db);
  const drop = db.prepare<[string, number]>("DELETE FROM base WHERE stream_id = ? AND seq = ?");
  db.transaction(() => {
    for (const seq of states) mustDrop(drop.run(stream, seq).changes);
  })();
}

/** What an index doesn't show is still in the table: the index is made anew. */
function mendIndexes({ db, sql }: Tools, seen: Seen): void {
  const { stream, rows, facts } = seen;
  if (facts.some(({ kind, start_ms, end_ms, seq }) => !sql.indexed.get({ stream, kind, start_ms, end_ms, seq }))) {
    db.exec("REINDEX fact_by_time");
  }
  const [first, last] = [rows[0]?.first_seq, rows.at(-1)?.first_seq];
  if (first === undefined || last === undefined) return;
  const waiting = rows.filter(({ placed }) => placed === 0).length;
  if (sql.waitingIn.get({ stream, first, last })?.rows !== waiting) db.exec("REINDEX log_waiting");
}

interface Seen {
  readonly stream: string;
  readonly rows: readonly LogRow[];
  readonly facts: readonly FactRow[];
}

function spansOf(info: StreamInfo, rows: readonly LogRow[], facts: readonly FactRow[]) {
  const spans: Span[] = [];
  const isOurs = (from: number, to: number): boolean => from <= to && to <= info.newest_seq;
  const damagedRows = rows.filter((row) => {
    const seqs = isOurs(row.first_seq, row.last_seq) ? ifWhole(seqsOfLog, row) : undefined;
    spans.push(...(seqs ?? []));
    return seqs === undefined;
  });
  const damagedFacts = facts.filter((row) => {
    if (ifWhole(unpackFact, row) === undefined) return true;
    spans.push([row.seq, row.seq]);
    return false;
  });
  return { spans, damagedRows, damagedFacts };
}
