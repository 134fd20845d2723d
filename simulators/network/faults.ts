/**
 * The faults of a line. A test may change every field at any time; the change applies from the next piece on.
 * Probabilities are per arriving piece, 0 to 1.
 */
export interface Faults {
  /** Direction with faults: the client's bytes, the server's bytes, or both. */
  direction: "requests" | "answers" | "both";
  /** Delay of each piece. */
  delay_ms: number;
  /** Half-open: connections stay open, but no bytes pass. */
  silent: boolean;
  /** New and open connections are reset at once. */
  refuse: boolean;
  /** Size in bytes of the pieces that are sent separately; null: unchanged. */
  split_bytes: number | null;
  /** The piece never arrives. */
  drop: number;
  /** The piece arrives twice. */
  duplicate: number;
  /** A byte is changed. */
  corrupt: number;
  /** The end of the piece is missing. */
  truncate: number;
  /** Random bytes precede the piece. */
  noise: number;
  /** The connection is reset instead of the transfer. */
  reset: number;
  /** The sender gets its own bytes back, as with an adapter that echoes. */
  echo: number;
}

export type FaultCounts = ReturnType<typeof noCounts>;

export function noFaults(): Faults {
  return {
    direction: "both",
    delay_ms: 0,
    silent: false,
    refuse: false,
    split_bytes: null,
    drop: 0,
    duplicate: 0,
    corrupt: 0,
    truncate: 0,
    noise: 0,
    reset: 0,
    echo: 0,
  };
}

export function noCounts() {
  return { drop: 0, duplicate: 0, corrupt: 0, truncate: 0, noise: 0, reset: 0, echo: 0, silent: 0, delay: 0 };
}

/** Returns a generator of numbers in [0, 1) with the same sequence for the same seed (xorshift32). */
export function seededSequence(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
