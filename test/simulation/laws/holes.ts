import type { GivenUp, Held } from "../records.ts";

/**
 * Between the first and the newest record of a stream nothing is missing without a word. `firsts`: where streams begin that go on
 * from another one.
 */
export function holesIn(
  held: readonly Held[],
  given_up: readonly GivenUp[],
  firsts: ReadonlyMap<string, number>,
): string[] {
  const holes: string[] = [];
  for (const stream of new Set(held.map((record) => record.stream))) {
    const seqs = held.filter((record) => record.stream === stream).map(({ seq }) => seq);
    const gaps = given_up.filter((gap) => gap.stream === stream);
    let next = firsts.get(stream) ?? Math.min(...seqs, ...gaps.map(({ from }) => from));
    for (const seq of seqs) {
      while (next < seq) {
        const at = next;
        const gap = gaps.find(({ from, to }) => from <= at && at <= to);
        if (gap === undefined) {
          holes.push(`${stream}: ${next} to ${seq - 1} are neither there nor given up`);
          break;
        }
        next = gap.to + 1;
      }
      next = Math.max(next, seq + 1);
    }
  }
  return holes;
}
