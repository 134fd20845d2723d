import type { Span } from "../outcome.ts";
import type { GivenUp } from "../records.ts";
import type { Oracle, OracleRow } from "./oracle.ts";

/** Runs of ascending seqs in which a stream may arrive: a live lane, a backlog lane and a lane of resent records. */
const LANES = 3;

/**
 * Checks that the service has each record once, that every seq is stored or declared as dropped, and that each lane
 * arrives in order, except while rejected records are sent again.
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
 * Finds records that were taken twice: two readings or coverage records of the same instant, under any seqs. A poll
 * that timed out may end at the very instant of the next poll.
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

/**
 * Finds streams with too many ascending runs. Their number is the length of the longest descending chain of seqs in
 * order of arrival.
 */
function disorder(stream: string, rows: readonly OracleRow[]): string[] {
  const arrived = rows
    .filter((row) => row.stream === stream)
    .toSorted((a, b) => a.received_at - b.received_at || a.seq - b.seq);
  // The newest seq of each run so far, in descending order. A seq continues the run with the nearest lower seq.
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
