/** A range of sequence numbers (seqs), both ends included. */
export type Span = readonly [from: number, to: number];

/** Returns the ranges of seqs within [from, to] that no span covers. */
export function missingIn(spans: readonly Span[], [from, to]: Span): Span[] {
  const missing: Span[] = [];
  let next = from;
  for (const [first, last] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (first > to) break;
    if (first > next) missing.push([next, first - 1]);
    next = Math.max(next, last + 1);
  }
  if (next <= to) missing.push([next, to]);
  return missing;
}
