import type { Span } from "../outcome.ts";
import type { GivenUp } from "../records.ts";
import type { Oracle, OracleRow } from "./oracle.ts";

/** A live lane, one of what waits, one of what is sent once more: so many runs of ascending seqs a stream arrives in. */
const LANES = 3;

/**
 * Each record is held once, every seq is held or declared as dropped, and each lane arrives in order, except while
 * rejected records are offered again.
 */
export function deliveryFaults(
  { rows, gaps, successions, ends }: Pick<Oracle, "rows" | "gaps" | "successions" | "ends">,
  unordered: readonly Span[] = [],
): string[] {
  const ordered = rows.filter(({ received_at: at }) => !unordered.some(({ start, end }) => start <= at && at <= end));
  const streams = [...new Set(rows.map(({ stream }) => stream))];
  return [
    ...twice(rows),
    ...streams.flatMap((stream) => {
      const own = rows.filter((row) => row.stream === stream);
      const given_up = gaps.filter((gap) => gap.stream === stream);
      const before = successions.find((one) => one.stream === stream)?.predecessor_last_seq ?? 0;
      const isOver = ends.some((one) => one.stream === stream);
      return [
        ...(isOver ? [] : holes({ stream, own, gaps: given_up, first: before + 1 })),
        ...disorder(stream, ordered),
      ];
    }),
  ];
}

/**
 * Readings and coverage are of one instant: a second one of the same is the same taken twice, under whatever seq. A poll that wasn't
 * answered in time may end at the very instant of the next one.
 */
function twice(rows: readonly OracleRow[]): string[] {
  const seen = new Map<string, OracleRow>();
  const found: string[] = [];
  for (const row of rows) {
    if (row.kind !== "r" && row.kind !== "h") continue;
    const isSilence = row.kind === "h" && (row.value as { readonly polls: number }).polls === 0;
    const key = `${row.kind} ${row.boot} ${row.mono} ${row.tag}${isSilence ? " unanswered" : ""}`;
    const first = seen.get(key);
    if (first !== undefined) found.push(`${key}: under ${first.stream} ${first.seq} and ${row.stream} ${row.seq}`);
    seen.set(key, row);
  }
  return found;
}

interface Known {
  readonly stream: string;
  readonly own: readonly OracleRow[];
  readonly gaps: readonly GivenUp[];
  readonly first: number;
}

function holes({ stream, own, gaps, first }: Known): string[] {
  const known = [
    ...own.map(({ seq }) => ({ from: seq, to: seq, held: true })),
    ...gaps.map(({ from, to }) => ({ from, to, held: false })),
  ].toSorted((a, b) => a.from - b.from || a.to - b.to);
  const found: string[] = [];
  let next = first;
  let newest = 0;
  for (const { from, to, held } of known) {
    if (held && from === newest) found.push(`${stream}: seq ${from} is there twice`);
    if (from > next) found.push(`${stream}: ${next} to ${from - 1} are neither there nor given up`);
    if (held) newest = from;
    next = Math.max(next, to + 1);
  }
  return found;
}

/** The longest chain of ever lower seqs in order of arrival is the number of ascending runs that it takes to make it up. */
function disorder(stream: string, rows: readonly OracleRow[]): string[] {
  const arrived = rows
    .filter((row) => row.stream === stream)
    .toSorted((a, b) => a.received_at - b.received_at || a.seq - b.seq);
  // The newest seq of each run so far, descending; a seq continues the run with the nearest lower one.
  const runs: number[] = [];
  for (const { seq } of arrived) {
    let low = 0;
    let high = runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((runs[middle] ?? 0) < seq) high = middle;
      else low = middle + 1;
    }
    runs[low] = seq;
  }
  return runs.length > LANES ? [`${stream}: arrived in ${runs.length} runs, not in ${LANES}`] : [];
}
