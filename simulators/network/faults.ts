/**
 * The faults of a line. Every field may be changed at any time and applies from the next piece on. Probabilities are
 * per arriving piece, 0 to 1.
 */
export interface Faults {
  /** Which way is spoilt: what the client sends, what the server answers, or both. */
  direction: "requests" | "answers" | "both";
  /** Each piece is held back for so long. */
  delay_ms: number;
  /** Half open: connections stand, nothing passes, nothing is said. */
  silent: boolean;
  /** New connections are reset at once, those that stand too. */
  refuse: boolean;
  /** Size in bytes of the pieces that are sent separately; null: unchanged. */
  split_bytes: number | null;
  /** The piece never arrives. */
  drop: number;
  /** It arrives twice. */
  duplicate: number;
  /** One byte is changed. */
  corrupt: number;
  /** Its end is missing. */
  truncate: number;
  /** Random bytes stand before it. */
  noise: number;
  /** The connection is reset instead. */
  reset: number;
  /** The sender hears its own bytes, as with an adapter that echoes. */
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

/** Uniform in [0, 1), the same sequence for the same seed (xorshift32). */
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
