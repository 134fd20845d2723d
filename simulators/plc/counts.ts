/** Counters of a server since its start. */
export interface ServerCounts {
  connections: number;
  refused: number;
  requests: number;
  /** Number of registers and bits that were sent. */
  values: number;
  exceptions: number;
  /** Number of requests with a writing function code. */
  writes: number;
  malformed: number;
}

export function noCounts(): ServerCounts {
  return { connections: 0, refused: 0, requests: 0, values: 0, exceptions: 0, writes: 0, malformed: 0 };
}
