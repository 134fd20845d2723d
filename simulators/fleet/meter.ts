/** Upper bounds of latencies, ms: a tenth apart, from 1 ms to two minutes. */
const STEP = 1.1;
const BUCKETS = Math.ceil(Math.log(120_000) / Math.log(STEP)) + 1;

/** How long acks took, in a fixed room. */
interface Latencies {
  add(ms: number): void;
  /** The bound below which that part of them lies; 0: there were none. */
  quantile(part: number): number;
  readonly count: number;
}

export function latencies(): Latencies {
  const counts = new Array<number>(BUCKETS).fill(0);
  let count = 0;
  return {
    add(ms) {
      const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log(Math.max(1, ms)) / Math.log(STEP))));
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      count += 1;
    },
    quantile(part) {
      let left = part * count;
      if (count === 0) return 0;
      for (const [bucket, inIt] of counts.entries()) {
        left -= inIt;
        if (left <= 0) return Math.round(STEP ** bucket);
      }
      return Math.round(STEP ** (BUCKETS - 1));
    },
    get count() {
      return count;
    },
  };
}

/** Counters of a fleet since its start. */
export interface Meter {
  connected: number;
  /** Sessions that stood, and tries that didn't come to one. */
  sessions: number;
  failed_connects: number;
  /** Batches and chunks that went to the service, those that it acked, and those whose ack didn't come. */
  sent: number;
  /** Sent messages that are chunks. */
  chunks: number;
  acked: number;
  unanswered: number;
  conflicts: number;
  /** Acked records; readings are some of them. */
  records: number;
  readings: number;
  readonly all: Latencies;
  /** Since it was looked at last. */
  recent: Latencies;
  /** Number of log lines by event. */
  readonly events: Map<string, number>;
}

export function newMeter(): Meter {
  return {
    connected: 0,
    sessions: 0,
    failed_connects: 0,
    sent: 0,
    chunks: 0,
    acked: 0,
    unanswered: 0,
    conflicts: 0,
    records: 0,
    readings: 0,
    all: latencies(),
    recent: latencies(),
    events: new Map(),
  };
}
