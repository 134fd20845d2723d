import type { Fact, Placed } from "../../domain/record.ts";
import type { Seq, StreamId } from "../../domain/units.ts";
import type { OpenStore } from "../log/streams.ts";
import type { Span } from "../log/missing.ts";
import { packFact, unpackFact } from "../log/rows.ts";
import { isSameState } from "./fold.ts";
import { bagOf, type Refolded, textOf } from "./compare.ts";
import { refold, type Refolding, refoldingFrom } from "./refold.ts";
import { startOf } from "./snapshots.ts";

/**
 * Makes facts that a damaged file has lost again from the log, under their old seqs, so that the service gets nothing twice. Only losses
 * that a gap record reports, or that the service has, are restored: the others must stay noted until they are reported. `tried`: streams
 * and seqs of earlier tries, so that a fact that can't be restored isn't tried every day. Yields after each bounded piece of work. Throws
 * as the database does.
 */
export function* restoreLost(store: OpenStore, streams: readonly StreamId[], tried: Set<string>): Generator<void> {
  const { quarantine, live } = store;
  for (const stream of streams) {
    const { info, hold } = live(stream);
    const keys = quarantine.declared(stream).flatMap(([from]) => (from >= info.oldest_seq ? `${stream} ${from}` : []));
    // Records that wait for a sync have no final time yet, and neither have their facts.
    if (hold.length > 0 || keys.every((key) => tried.has(key))) continue;
    for (const key of keys) tried.add(key);
    yield;
    try {
      const job = refoldingFrom(stream, startOf(store, stream, info.oldest_seq));
      yield* refold(store, job);
      storeLost(store, job);
    } catch (error) {
      // The store is unchanged. A log that can't be folded again stays as it is. Errors of file and disk have a code.
      if (error instanceof Error && "code" in error) throw error;
    }
  }
}

/** Stores the lost facts, unless the fold ends in another state than the stored one: then the log lacks more than facts. */
function storeLost(
  { db, sql, fold, live, quarantine }: OpenStore,
  { stream, from_seq, state, facts }: Refolding,
): void {
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
    // Tells readers that what they keep in memory lacks these facts.
    sql.countRebuild.run(stream);
  })();
}

function isWithin([from, to]: Span, seqs: ReadonlySet<number>): boolean {
  for (let seq = from; seq <= to; seq += 1) if (!seqs.has(seq)) return false;
  return true;
}

/**
 * Returns the lost facts, each under its old seq. Seqs were assigned in the order in which facts were made. So facts that are made between
 * two stored ones are the ones lost between these, if their number fits. Returns nothing if a stored fact isn't made again: then the log
 * has lost its source, or the definitions have changed. `lost`: ascending; some may have been log records.
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
    // Kind and value are of the same fact.
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

/** Returns lost seqs between two facts, but not more than `most` + 1. */
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
