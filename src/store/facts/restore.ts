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
 * Makes facts again that were lost in a damaged file, under their old sequence numbers (seqs), so that the service gets nothing twice.
 * Restores only losses that a gap record reports or that the service already stored. Other losses must stay noted until a gap record
 * reports them. `tried` holds the streams and seqs of earlier attempts, so that a hopeless attempt isn't repeated every day. Yields after
 * each bounded piece of work. Throws the database's errors.
 */
export function* restoreLost(store: OpenStore, streams: readonly StreamId[], tried: Set<string>): Generator<void> {
  const { quarantine, live } = store;
  for (const stream of streams) {
    const { info, hold } = live(stream);
    const keys = quarantine.declared(stream).flatMap(([from]) => (from >= info.oldest_seq ? `${stream} ${from}` : []));
    // Skips a stream with records that wait for a clock sync, because the final times of their facts aren't known yet.
    if (hold.length > 0 || keys.every((key) => tried.has(key))) continue;
    for (const key of keys) tried.add(key);
    yield;
    try {
      const job = refoldingFrom(stream, startOf(store, stream, info.oldest_seq));
      yield* refold(store, job);
      storeLost(store, job);
    } catch (error) {
      // Rethrows only errors of the file and the disk, which have a code. If a log can't be folded again, the store stays unchanged.
      if (error instanceof Error && "code" in error) throw error;
    }
  }
}

/** Stores the lost facts. Does nothing if the fold doesn't end in the stored state, because the log then lacks more than facts. */
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
    // Makes readers drop their cached facts, because the restored facts are missing there.
    sql.countRebuild.run(stream);
  })();
}

function isWithin([from, to]: Span, seqs: ReadonlySet<number>): boolean {
  for (let seq = from; seq <= to; seq += 1) if (!seqs.has(seq)) return false;
  return true;
}

/**
 * Returns the lost facts, each under its old seq. Facts got their seqs in the order in which they were made. So new facts made between two
 * stored facts are the lost ones, if their number equals the number of lost seqs. Returns nothing if a stored fact isn't made again: the
 * log has then lost the fact's source, or the definitions have changed. `lost` is ascending and may include seqs of log records.
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
    // TypeScript can't see that kind and value belong to the same fact.
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

/** Returns the lost seqs between two facts, at most `most` + 1 of them. */
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
