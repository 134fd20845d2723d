import type { Fact, Placed } from "../../domain/record.ts";
import type { Seq, StreamId } from "../../domain/units.ts";
import type { OpenStore } from "../log/streams.ts";
import type { Span } from "../log/missing.ts";
import { packFact, unpackFact } from "../log/rows.ts";
import { isSameState } from "./fold.ts";
import { bagOf, type Refolded, textOf } from "./compare.ts";
import { type Refolding, refoldingFrom, refoldSlice } from "./refold.ts";
import { startOf } from "./snapshots.ts";

/**
 * Facts that a damaged file has lost are made anew from the log, under the seqs that they had, so that nothing is told to the service
 * again. It is tried for what a gap record tells of, or the service has: what isn't told of yet must stay noted until it is.
 */
export function createRestorer(store: OpenStore) {
  const { quarantine, live } = store;
  let waiting: readonly StreamId[] = [];
  let job: Refolding | null = null;
  /** What was lost for good isn't tried for each day. */
  const tried = new Set<string>();
  const keyOf = (stream: StreamId, [from]: Span): string => `${stream} ${from}`;
  const isHopeful = (stream: StreamId, lost: Span): boolean =>
    lost[0] >= live(stream).info.oldest_seq && !tried.has(keyOf(stream, lost));
  const work = (stream: StreamId): boolean => {
    try {
      job ??= refoldingFrom(stream, startOf(store, stream, live(stream).info.oldest_seq));
      if (!refoldSlice(store, job)) return true;
      putBack(store, job);
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
    /** Looks for streams that have lost records. true: there are some, and slices to be done. */
    begin(streams: readonly StreamId[]): boolean {
      // What waits for a sync has no place in time yet, and its facts none either.
      const ready = streams.filter((stream) => live(stream).hold.length === 0);
      waiting = ready.filter((stream) => quarantine.declared(stream).some((lost) => isHopeful(stream, lost)));
      for (const stream of waiting) for (const lost of quarantine.declared(stream)) tried.add(keyOf(stream, lost));
      return waiting.length > 0;
    },
    isBegun: (): boolean => waiting.length > 0,
    /** A bounded piece of work; false: nothing is left to do. Throws as the database does. */
    slice: (): boolean => waiting[0] !== undefined && work(waiting[0]),
  };
}

/** Where the fold ends in another state than the one that stands, the log lacks more than facts. */
function putBack({ db, sql, fold, live, quarantine }: OpenStore, { stream, from_seq, state, facts }: Refolding): void {
  if (!isSameState(state, live(stream).state)) return;
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
    for (const range of whole) quarantine.forget(stream, ...range);
    // Whoever reads goes by this: what was read lacks them.
    sql.countRebuild.run(stream);
  })();
}

function isWithin([from, to]: Span, seqs: ReadonlySet<number>): boolean {
  for (let seq = from; seq <= to; seq += 1) if (!seqs.has(seq)) return false;
  return true;
}

/**
 * Lost facts, each under the seq that it had. Seqs were given in the order in which facts were made: those that come out between two
 * that stand are the ones lost between these, if they are as many. Nothing where a standing fact doesn't come out again: then the log
 * has lost what it was made from, or the definitions have changed.
 * `lost`: ascending; some may have been log records.
 */
export function lostFacts(
  { facts, lost }: { readonly facts: readonly Placed<Fact>[]; readonly lost: readonly Span[] },
  refolded: readonly Refolded[],
): readonly Placed<Fact>[] {
  const standing = bagOf(facts, textOf);
  const found: Placed<Fact>[] = [];
  let fresh: Refolded[] = [];
  let before: Seq = 0;
  const close = (next: Seq): void => {
    const seqs = seqsBetween(lost, { before, next, most: fresh.length });
    // The kind goes with the value, as it came out.
    if (seqs.length === fresh.length)
      found.push(...fresh.map(({ fact, time }, index) => ({ ...fact, time, seq: seqs[index] }) as Placed<Fact>));
    fresh = [];
    before = next;
  };
  for (const one of refolded) {
    const same = standing.take(textOf(one.fact));
    if (same === undefined) fresh.push(one);
    else close(same.seq);
  }
  close(Number.MAX_SAFE_INTEGER);
  return standing.rest().length > 0 ? [] : found;
}

/** Lost seqs between two facts; where there are more than `most` one more than that. */
function seqsBetween(
  lost: readonly Span[],
  { before, next, most }: { readonly before: Seq; readonly next: Seq; readonly most: number },
): readonly Seq[] {
  const seqs: Seq[] = [];
  for (const [from, to] of lost) {
    for (let seq = Math.max(from, before + 1); seq <= to && seq < next && seqs.length <= most; seq += 1) seqs.push(seq);
  }
  return seqs;
}
