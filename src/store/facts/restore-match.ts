import type { Fact, Placed } from "../../domain/record.ts";
import type { Seq } from "../../domain/units.ts";
import type { Span } from "../log/missing.ts";
import { bagOf, textOf, type Refolded } from "./rebuild-compare.ts";

/** What is known of a stream's facts behind some seq. */
export interface Standing {
  readonly facts: readonly Placed<Fact>[];
  /** Seqs that were lost, ascending; some may have been log records. */
  readonly lost: readonly Span[];
}

/**
 * Lost facts, each under the seq that it had. Seqs were given in the order in which facts were made: those that come out between two
 * that stand are the ones lost between these, if they are as many. Nothing where a standing fact doesn't come out again: then the log
 * has lost what it was made from, or the definitions have changed.
 */
export function lostFacts({ facts, lost }: Standing, refolded: readonly Refolded[]): readonly Placed<Fact>[] {
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
