import type { LogRecord, Placed } from "../../src/domain/record.ts";
import type { TagValue } from "../../src/domain/booth.ts";

/** Wall clock at mono 0 of these records: 2026-03-02T08:00:00Z. */
export const T0 = Date.UTC(2026, 2, 2, 8);

const base = (mono: number, boot: string) => ({ boot, mono, at: T0 + mono, quality: "good" }) as const;

export function reading(mono: number, tag: string, value: TagValue): LogRecord {
  return { kind: "r", ...base(mono, "b1"), tag, value };
}

export function coverage(from: number, to: number, boot = "b1"): LogRecord {
  const value = { group: "fast", from, to, polls: Math.floor((to - from) / 1000) + 1, max_interval_ms: 1000 };
  return { kind: "h", ...base(from, boot), tag: "fast", value };
}

export function clockRecord(mono: number, boot = "b1"): LogRecord {
  return { kind: "t", ...base(mono, boot), tag: "", value: { wall: T0 + mono, state: "synced" } };
}

/** A batch of three records of stream "s". */
export const THREE_RECORDS = [1, 2, 3].map((seq): Placed => ({
  ...reading(seq * 1000, "mode", seq),
  seq,
  time: T0 + seq * 1000,
}));
