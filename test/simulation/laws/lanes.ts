/**
 * Context records, live records and backlog: a session sends each of them in order of seq, so its batches form at most
 * three ascending rows.
 */
const LANES = 3;

/** The newest seq sent in each lane of a session. */
type Lanes = readonly number[];

/** Returns the lanes after another batch; null: three lanes can't produce this order. */
function afterBatch(lanes: Lanes, first: number, last: number): Lanes | null {
  const fitting = lanes.filter((newest) => newest < first);
  if (fitting.length === 0) return lanes.length < LANES ? [...lanes, last] : null;
  // The batch continues the lane with the nearest lower seq, so that the other lanes stay open for lower seqs.
  const nearest = Math.max(...fitting);
  const at = lanes.indexOf(nearest);
  return lanes.map((newest, index) => (index === at ? last : newest));
}

/** The batches that a session has sent, and the service's answers. */
export interface Order {
  readonly lanes: Lanes;
  /** The newest record that the service says it has. */
  readonly held_seq: number;
}

export const NEW_SESSION: Order = { lanes: [], held_seq: 0 };

/**
 * Returns the order after another batch; null: three lanes can't produce this order. Records that the service has
 * answered, or that are set aside, belong to no lane: the agent sends them again to check whether the service answers,
 * is ahead of the log, or now accepts rejected records. @param answered seqs of that gateway
 */
export function afterOffer(order: Order, seqs: readonly number[], answered: ReadonlySet<number>): Order | null {
  const first = seqs[0] ?? 0;
  const last = seqs.at(-1) ?? first;
  const isAsked = seqs.every((seq) => answered.has(seq)) || (seqs.length === 1 && first === order.held_seq);
  if (isAsked) return order;
  const lanes = afterBatch(order.lanes, first, last);
  return lanes === null ? null : { ...order, lanes };
}
