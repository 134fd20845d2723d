/** Ratio of the upper bounds of latency classes, from 1 ms to two minutes. */
const STEP = 1.1;
const BUCKETS = Math.ceil(Math.log(120_000) / Math.log(STEP)) + 1;

/** Durations until acks, in a fixed amount of memory. */
export interface Latencies {
  add(ms: number): void;
  /** Returns the numbers of latencies by class, to be merged into others. */
  counts(): readonly number[];
  merge(counts: readonly number[]): void;
  /** Returns the upper bound of that share of the latencies; 0: there are none. */
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
    counts: () => counts,
    merge(others) {
      for (const [bucket, more] of others.entries()) {
        counts[bucket] = (counts[bucket] ?? 0) + more;
        count += more;
      }
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
  /** Number of sessions, and of failed connection attempts. */
  sessions: number;
  failed_connects: number;
  /** Number of batches and chunks that were sent, acked, and not acked in time. */
  sent: number;
  /** Number of sent chunks. */
  chunks: number;
  acked: number;
  unanswered: number;
  conflicts: number;
  /** Number of acked records, and of the readings among them. */
  records: number;
  readings: number;
  readonly all: Latencies;
  /** Latencies since the last call. */
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
