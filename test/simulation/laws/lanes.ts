/**
 * Terms, live records and backlog: within a session each of them is sent in order of seq, so that batches can be told apart into no
 * more than three rising rows.
 */
const LANES = 3;

/** The newest sent seq of each lane of a session. */
type Lanes = readonly number[];

/** The lanes after another batch; null: it is in no order that three lanes could have. */
function afterBatch(lanes: Lanes, first: number, last: number): Lanes | null {
  const fitting = lanes.filter((newest) => newest < first);
  if (fitting.length === 0) return lanes.length < LANES ? [...lanes, last] : null;
  // The nearest lane continues, so that the others stay open for lower seqs.
  const nearest = Math.max(...fitting);
  const at = lanes.indexOf(nearest);
  return lanes.map((newest, index) => (index === at ? last : newest));
}

/** The batches that a session has sent, and the service's answers. */
export interface Order {
  readonly lanes: Lanes;
  /** Newest record that the service has, as it says. */
  readonly held_seq: number;
}

export const NEW_SESSION: Order = { lanes: [], held_seq: 0 };

/**
 * The order after another batch; null: it is in none. What the service has answered for, or what is set aside, is in no lane: offered once
 * more it asks whether the service answers, whether it is ahead of the log, or whether it takes now what it refused.
 * @param answered seqs of that gateway
 */
export function afterOffer(order: Order, seqs: readonly number[], answered: ReadonlySet<number>): Order | null {
  const first = seqs[0] ?? 0;
  const last = seqs.at(-1) ?? first;
  const isAsked = seqs.every((seq) => answered.has(seq)) || (seqs.length === 1 && first === order.held_seq);
  if (isAsked) return order;
  const lanes = afterBatch(order.lanes, first, last);
  return lanes === null ? null : { ...order, lanes };
}
