import type { Database } from "better-sqlite3";
import type { StreamId } from "../../domain/units.ts";
import type { Snapshots } from "./snapshots.ts";
import type { Span } from "../log/missing.ts";
import type { Quarantine } from "../repair/quarantine.ts";
import { startOf } from "./rebuild-start.ts";
import { refoldSlice, sameState, type Refolding, type RefoldTools } from "./refold.ts";
import { lostFacts } from "./restore-match.ts";
import { packFact, unpackFact } from "../log/rows.ts";

export interface RestoreTools extends RefoldTools {
  readonly db: Database;
  readonly bases: Snapshots;
  readonly quarantine: Quarantine;
}

/**
 * Facts that a damaged file has lost are made anew from the log, under the seqs that they had, so that nothing is told to the service
 * again. It is tried for what a gap record tells of, or the service has: what isn't told of yet must stay noted until it is.
 */
export interface Restorer {
  /** Looks for streams that have lost records. true: there are some, and slices to be done. */
  begin(streams: readonly StreamId[]): boolean;
  isBegun(): boolean;
  /** A bounded piece of work; false: nothing is left to do. Throws as the database does. */
  slice(): boolean;
}

export function createRestorer(tools: RestoreTools): Restorer {
  const { quarantine, live } = tools;
  let waiting: readonly StreamId[] = [];
  let job: Refolding | null = null;
  /** What was lost for good isn't tried for each day. */
  const tried = new Set<string>();
  const keyOf = (stream: StreamId, [from]: Span): string => `${stream} ${from.toString()}`;
  const isHopeful = (stream: StreamId, lost: Span): boolean =>
    lost[0] >= live(stream).info.oldest_seq && !tried.has(keyOf(stream, lost));
  const work = (stream: StreamId): boolean => {
    try {
      job ??= jobOf(tools, stream);
      if (!refoldSlice(tools, job)) return true;
      putBack(tools, job);
    } catch (error) {
      // Nothing was changed. A log that can't be folded again stays as it is; file and disk are others' to mend.
      if (error instanceof Error && "code" in error) {
        [waiting, job] = [[], null];
        throw error;
      }
    }
    job = null;
    waiting = waiting.slice(1);
    return waiting.length > 0;
  };
  return {
    begin(streams) {
      // What waits for a sync has no place in time yet, and its facts none either.
      const ready = streams.filter((stream) => live(stream).hold.length === 0);
      waiting = ready.filter((stream) => quarantine.declared(stream).some((lost) => isHopeful(stream, lost)));
      for (const stream of waiting) for (const lost of quarantine.declared(stream)) tried.add(keyOf(stream, lost));
      return waiting.length > 0;
    },
    isBegun: () => waiting.length > 0,
    slice: () => waiting[0] !== undefined && work(waiting[0]),
  };
}

function jobOf(tools: RestoreTools, stream: StreamId): Refolding {
  const base = startOf(tools, stream, tools.live(stream).info.oldest_seq);
  const begun = {
    today: null,
    records: 0,
    last: null,
    facts: [],
    bases: [],
    ahead: [],
    awaited: [],
    moved: null,
    early: null,
  };
  return { stream, from_seq: base.seq + 1, ...base, ...begun };
}

/** Where the fold ends in another state than the one that stands, the log lacks more than facts. */
function putBack(
  { db, sql, fold, live, quarantine }: RestoreTools,
  { stream, from_seq, state, facts }: Refolding,
): void {
  if (!sameState(state, live(stream).fold)) return;
  const standing = sql.standingFacts.all({ stream, from: from_seq }).map(unpackFact);
  const lost = quarantine.declared(stream).filter(([from]) => from >= from_seq);
  const made = lostFacts({ facts: standing, lost }, facts);
  const seqs = new Set(made.map(({ seq }) => seq));
  const whole = lost.filter((range) => isWithin(range, seqs));
  if (whole.length === 0) return;
  db.transaction(() => {
    for (const fact of made.filter(({ seq }) => whole.some(([from, to]) => from <= seq && seq <= to))) {
      const prev = sql.factBefore.get({ stream, seq: fact.seq })?.seq ?? 0;
      sql.addFact.run(packFact(stream, fact, { version: fold.version, prev }));
    }
    for (const range of whole) quarantine.forget(stream, range);
    // Whoever reads goes by this: what was read lacks them.
    sql.countRebuild.run({ stream });
  })();
}

function isWithin([from, to]: Span, seqs: ReadonlySet<number>): boolean {
  for (let seq = from; seq <= to; seq += 1) if (!seqs.has(seq)) return false;
  return true;
}
