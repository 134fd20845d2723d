/**
 * Terms, live records and backlog: within a session each of them is sent in order of seq, so that batches can be told apart into no
 * more than three rising rows.
 */
const LANES = 3;

/** What a session has sent, by lane: the newest seq of each. */
export type Lanes = readonly number[];

/** The lanes after another batch; null: it is in no order that three lanes could have. */
export function afterBatch(lanes: Lanes, first: number, last: number): Lanes | null {
  const fitting = lanes.filter((newest) => newest < first);
  if (fitting.length === 0) return lanes.length < LANES ? [...lanes, last] : null;
  // The row that comes nearest goes on, so that the others stay open for less.
  const nearest = Math.max(...fitting);
  const at = lanes.indexOf(nearest);
  return lanes.map((newest, index) => (index === at ? last : newest));
}
