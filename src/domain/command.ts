import type { HourFact } from "./record.ts";
import type { EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** Consecutive records of a stream, both ends included. */
export interface SeqRange {
  readonly from: Seq;
  readonly to: Seq;
}

/**
 * Returns the ranges in order, with overlapping ranges merged. Ranges that only touch stay separate, because each is counted as one hour in
 * an answer to a digest (hashes of a stream's hours).
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

/** An error: a command could not be carried out. The message is sent to the service. */
export class CommandFailure extends Error {}

/** The service's orders. No part of an order is passed to a shell or used as a path or an address. */
export type CommandOrder =
  /** Sends these records again. `digest`: id of the digest that this order answers; no ranges: both sides hold the same records. */
  | {
      readonly type: "backfill";
      readonly serial: Serial;
      readonly stream_id: StreamId;
      readonly ranges: readonly SeqRange[];
      readonly digest: string | null;
      /** Number of records below the cursor that the service had acked and lacks; null or absent: another reason for the backfill. */
      readonly lacks?: number | null;
    }
  /** Sends the digests of the hours in [start, end). */
  | { readonly type: "digest"; readonly serial: Serial; readonly start: EpochMs; readonly end: EpochMs }
  /** Applies the booth's new configuration at the service, checks that everything still works, and otherwise reverts the change. */
  | {
      readonly type: "config_changed";
      readonly serial: Serial;
      readonly revision: number;
      readonly within_ms: Milliseconds;
    }
  | { readonly type: "rotate_key" }
  /** Binds the gateway to another booth, because it was assigned to the wrong one. */
  | { readonly type: "reassign"; readonly serial: Serial; readonly to_serial: Serial; readonly wrong_serial: boolean }
  /** Releases a booth. A remote command can never decommission it. */
  | { readonly type: "release"; readonly serial: Serial; readonly reason: string };

export interface ServiceCommand {
  /** Id of the command. A command with a repeated id is the same command. */
  readonly id: string;
  /** Time by the service's clock from which the command is refused. */
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
  /** The result as plain data; null: the command isn't done. */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** Text of the error; "": the command hasn't failed or expired. */
  readonly error: string;
}

/** A digest of one hour of records: their number range and a hash. Both sides hold the same records if their hashes are equal. */
export interface DigestHour extends SeqRange {
  /** Start of the hour in corrected time. Records are in seq order, so a record with an earlier time may belong to this hour. */
  readonly hour: EpochMs;
  /** Hash over kind, tag, boot, mono, value and quality of each record, computed like an ack's hash. */
  readonly hash: string;
  /** The gateway's own figures if the hour is finished, else null. */
  readonly figures: Pick<HourFact["value"], "ms_by_mode" | "cycles" | "gas_therm" | "energy_kwh"> | null;
  /** Number of filter changes among the records. */
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
