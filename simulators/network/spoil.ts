import type { FaultCounts, Faults } from "./faults.ts";

/** The result of the line's faults for one piece. */
export interface Spoilt {
  /** Pieces to send one after the other. */
  readonly pieces: readonly Buffer[];
  /** Bytes that return to the sender. */
  readonly echo: Buffer | null;
  readonly reset: boolean;
  readonly delay_ms: number;
}

export interface Spoiler {
  readonly faults: Faults;
  readonly counts: FaultCounts;
  readonly random: () => number;
}

const MOST_NOISE_BYTES = 8;
const NOTHING: Spoilt = { pieces: [], echo: null, reset: false, delay_ms: 0 };

/** Draws the faults of the line for a piece, and counts them. */
export function spoil(by: Spoiler, bytes: Buffer, way: "requests" | "answers"): Spoilt {
  const { faults, counts } = by;
  const hit = (name: "drop" | "duplicate" | "corrupt" | "truncate" | "noise" | "reset" | "echo"): boolean => {
    const isHit = faults[name] > 0 && by.random() < faults[name];
    if (isHit) counts[name]++;
    return isHit;
  };
  if (faults.direction !== "both" && faults.direction !== way) return { ...NOTHING, pieces: [bytes] };
  if (faults.silent) {
    counts.silent++;
    return NOTHING;
  }
  if (hit("reset")) return { ...NOTHING, reset: true };
  if (hit("drop")) return NOTHING;
  let spoilt = bytes;
  if (hit("corrupt")) spoilt = flipped(spoilt, by.random);
  if (hit("truncate")) spoilt = spoilt.subarray(0, Math.floor(by.random() * spoilt.length));
  if (hit("noise")) spoilt = Buffer.concat([noiseBytes(by.random), spoilt]);
  const whole = hit("duplicate") ? [spoilt, spoilt] : [spoilt];
  if (faults.delay_ms > 0) counts.delay++;
  const size = faults.split_bytes;
  const pieces = size === null ? whole : whole.flatMap((piece) => cut(piece, size));
  return { pieces, echo: hit("echo") ? bytes : null, reset: false, delay_ms: faults.delay_ms };
}

function flipped(bytes: Buffer, random: () => number): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(random() * copy.length);
  copy[at] = (copy[at] ?? 0) ^ (1 + Math.floor(random() * 255));
  return copy;
}

function noiseBytes(random: () => number): Buffer {
  const count = 1 + Math.floor(random() * MOST_NOISE_BYTES);
  return Buffer.from(Array.from({ length: count }, () => Math.floor(random() * 256)));
}

function cut(bytes: Buffer, size: number): readonly Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
