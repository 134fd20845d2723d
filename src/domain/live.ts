import type { Quality, TagValue } from "./booth.ts";
import type { BoothId, Milliseconds, TagName } from "./units.ts";

/** What the last poll said of a tag; taken, perhaps not yet durable. */
export interface LiveReading {
  readonly tag: TagName;
  /** As people call it; the tag's name where the profile gives no label. */
  readonly label: string;
  readonly unit: string;
  readonly group: string;
  readonly value: TagValue;
  /** null: not read yet. */
  readonly quality: Quality | null;
  /** Why there is no usable value; "" where there is one. */
  readonly reason: string;
  /** Since the poll; null: not read yet. */
  readonly age_ms: Milliseconds | null;
}

/** Requests to a device since the agent's start. */
export interface RequestCounts {
  readonly asked: number;
  /** Those without a right answer: what a repetition brought isn't missing from a poll, but the line is no better for it. */
  readonly missed: number;
}

/** Counts since the agent's start, for whoever watches from outside. */
export interface BoothCounts {
  readonly booth: BoothId;
  readonly polls_answered: number;
  readonly polls_failed: number;
  /** asked 0: its driver doesn't count them. */
  readonly requests: RequestCounts;
  /** How late polls began after they were due: one count per bound, each including those below, the last for all. */
  readonly late: readonly { readonly within_ms: number; readonly polls: number }[];
  readonly late_sum_ms: Milliseconds;
  readonly commits: number;
  readonly open_incidents: number;
}
