import type { HourFact } from "./record.ts";
import type { EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** Consecutive records of a stream, both ends inclusive. */
export interface SeqRange {
  readonly from: Seq;
  readonly to: Seq;
}

/**
 * Returns the ranges in order, with overlapping ones merged into one. Ranges that only touch stay apart: each range of an answer
 * to a digest is an hour, and hours are counted.
 */
export function mergeRanges(ranges: readonly SeqRange[]): readonly SeqRange[] {
  const merged: SeqRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) };
  }
  return merged;
}

/** A command can't be carried out, for a reason that the service is told. */
export class CommandFailure extends Error {}

/** What the service may order. Nothing of it is ever handed to a shell, and no path or address is among it. */
export type CommandOrder =
  /** Send these records again. `digest`: the answer to the digest of that id; no ranges: both sides hold the same. */
  | {
      readonly type: "backfill";
      readonly serial: Serial;
      readonly stream_id: StreamId;
      readonly ranges: readonly SeqRange[];
      readonly digest: string | null;
    }
  /** Send the digests of the hours that lie in [start, end). */
  | { readonly type: "digest"; readonly serial: Serial; readonly start: EpochMs; readonly end: EpochMs }
  /** The booth's record has another configuration: take it over, prove that all still works, or go back. */
  | {
      readonly type: "config_changed";
      readonly serial: Serial;
      readonly revision: number;
      readonly within_ms: Milliseconds;
    }
  | { readonly type: "rotate_key" }
  /** The gateway stands beside another booth than the office thought. */
  | { readonly type: "reassign"; readonly serial: Serial; readonly to_serial: Serial; readonly wrong_serial: boolean }
  /** A remote command releases a booth at most: it can't decommission it. */
  | { readonly type: "release"; readonly serial: Serial; readonly reason: string };

export interface ServiceCommand {
  /** The same id is the same command, however often it comes. */
  readonly id: string;
  /** By the service's clock; refused from then on. */
  readonly expires_at: EpochMs;
  readonly order: CommandOrder;
}

/** What came as a command: one, or something with an id that is none. */
export type HeardCommand =
  | { readonly kind: "command"; readonly command: ServiceCommand }
  | { readonly kind: "malformed"; readonly id: string; readonly reason: string };

export interface CommandResult {
  readonly cmd_id: string;
  readonly state: "accepted" | "done" | "failed" | "expired";
  /** What came of it, as plain data; null where it isn't done. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** "" unless failed or expired. */
  readonly error: string;
}

/** What one side holds of an hour: two that hold the same have the same hash over the same records. */
export interface DigestHour extends SeqRange {
  /** Its begin, corrected time. Records stand in seq order, so one that was placed earlier belongs to the hour before it. */
  readonly hour: EpochMs;
  /** As an ack's: over kind, tag, boot, mono, value and quality of each. */
  readonly hash: string;
  /** The gateway's own figures, where the hour is finished. */
  readonly figures: Pick<HourFact["value"], "ms_by_mode" | "cycles" | "gas_therm" | "energy_kwh"> | null;
  /** Filter changes among the records. */
  readonly filters: number;
}

export interface Digest {
  readonly id: string;
  readonly serial: Serial;
  readonly stream: StreamId;
  readonly algorithm_version: number;
  readonly hours: readonly DigestHour[];
}

/** What goes up beside batches, hello and heartbeat. */
export type UpMessage =
  { readonly kind: "result"; readonly result: CommandResult } | { readonly kind: "digest"; readonly digest: Digest };
