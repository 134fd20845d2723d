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

/** A failure to carry out a command. Its message is sent to the service. */
export class CommandFailure extends Error {}

/** The service's orders. No part of an order is passed to a shell, and none is a path or an address. */
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
  /** Binds the gateway to another booth, because it was assigned to the wrong one. */
  | { readonly type: "reassign"; readonly serial: Serial; readonly to_serial: Serial; readonly wrong_serial: boolean }
  /** A remote command releases a booth at most: it can't decommission it. */
  | { readonly type: "release"; readonly serial: Serial; readonly reason: string };

export interface ServiceCommand {
  /** Identifies the command. A repeated id is the same command. */
  readonly id: string;
  /** By the service's clock; refused from then on. */
  readonly expires_at: EpochMs;
  readonly order: CommandOrder;
}

/** A received command, or a message with an id that is not a valid command. */
export type HeardCommand =
  | { readonly kind: "command"; readonly command: ServiceCommand }
  | { readonly kind: "malformed"; readonly id: string; readonly reason: string };

export interface CommandResult {
  readonly cmd_id: string;
  readonly state: "accepted" | "done" | "failed" | "expired";
  /** The result as plain data; null unless the command is done. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** "" unless failed or expired. */
  readonly error: string;
}

/** A digest of one hour of records. Both sides hold the same records if their hashes are equal. */
export interface DigestHour extends SeqRange {
  /**
   * Start of the hour in corrected time. Records are in seq order, so a record that was placed earlier belongs to the hour before.
   */
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

/** A message to the service other than a batch, a hello or a heartbeat. */
export type UpMessage =
  { readonly kind: "result"; readonly result: CommandResult } | { readonly kind: "digest"; readonly digest: Digest };
