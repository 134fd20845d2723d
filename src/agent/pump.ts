import { cutBatches } from "../core/batches.ts";
import { cursorAt, withAcked } from "../core/cursor.ts";
import type { Placed } from "../core/types/record.ts";
import type { Seq, StreamId } from "../core/types/units.ts";
import type { BatchOutcome, LinkSession, Logger, Store, StreamInfo } from "../ports.ts";
import type { Bell } from "./bell.ts";

/** Records read from the store at a time: two batches' worth, so that the window can be filled from one read. */
const READ_LIMIT = 1_000;

export interface PumpParts {
  readonly store: Store;
  readonly log: Logger;
  readonly session: LinkSession;
  readonly generation: number;
  /** Rings after each commit. */
  readonly news: Bell;
  readonly info: () => StreamInfo;
  /** The log's name at the service. */
  readonly stream: StreamId;
  readonly acked: (info: StreamInfo) => void;
  /** The service will never take some record of ours. */
  readonly refused: () => void;
  /** The service holds another record under that seq, and everything before it is there as it is here. */
  readonly conflict: (seq: Seq) => Promise<void>;
}

/**
 * Sends one booth's stream over one session, in seq order, a few batches under way at once. Throws, with the reason, when a
 * batch can't be shown to have arrived: the session is then worth nothing, and all unacked batches go again in the next one.
 */
export async function pump(parts: PumpParts, signal: AbortSignal): Promise<never> {
  const { info, session } = parts;
  let cursor = cursorAt(info().acked_seq);
  let sent: number = cursor.acked_seq;
  // One batch at a time until the service is seen to have no more of this stream than was sent: with an old copy of the store
  // put back, what follows a record that differs must not get there under the same name.
  const ahead = { maybe: true };
  const underway = new Set<Promise<void>>();
  const failed: { reason: Error | null } = { reason: null };
  const send = async (batch: readonly Placed[], from: number): Promise<void> => {
    const to = batch.at(-1)?.seq ?? 0;
    const outcome = await session.send(parts.stream, parts.generation, batch);
    if (outcome.kind === "conflict" && from <= cursor.acked_seq + 1) {
      parts.acked(await parts.store.ack(info().stream, outcome.seq - 1));
      await parts.conflict(outcome.seq);
    }
    takeOutcome(parts, outcome);
    ahead.maybe = outcome.held_seq > sent;
    const before = cursor.acked_seq;
    cursor = withAcked(cursor, from, to);
    if (cursor.acked_seq > before) parts.acked(await parts.store.ack(info().stream, cursor.acked_seq));
  };
  for (;;) {
    signal.throwIfAborted();
    if (failed.reason !== null) throw failed.reason;
    if (sent >= info().sendable_seq) {
      await parts.news.wait(signal);
      continue;
    }
    const records = await parts.store.read(info().stream, sent + 1, READ_LIMIT);
    if (records.length === 0)
      throw new Error(`the store has no record from seq ${(sent + 1).toString()} on, though it should`);
    for (const batch of cutBatches(records)) {
      while (underway.size >= (ahead.maybe ? 1 : session.window())) await Promise.race(underway);
      if (hasFailed(failed)) break;
      // What is missing before it was given up, which a gap record behind declares: the cursor moves over it.
      const from = sent + 1;
      sent = batch.at(-1)?.seq ?? sent;
      const way = send(batch, from).catch((error: unknown) => {
        failed.reason ??= error instanceof Error ? error : new Error(String(error));
        parts.news.ring();
      });
      underway.add(way);
      void way.then(() => underway.delete(way));
    }
  }
}

function takeOutcome(
  parts: PumpParts,
  outcome: BatchOutcome,
): asserts outcome is Extract<BatchOutcome, { kind: "acked" }> {
  if (outcome.kind === "keep") throw new Error(outcome.reason);
  if (outcome.kind === "conflict") {
    throw new Error(
      `the service holds another record under seq ${outcome.seq.toString()} of this stream, as after an old copy of the store was put back: from there on it goes under another name`,
    );
  }
  if (outcome.rejected.length > 0) parts.refused();
  for (const { seq, reason } of outcome.rejected) {
    parts.log.error(
      { event: "rejected", seq, reason },
      `the service will never take record ${seq.toString()}: ${reason}`,
    );
  }
}

/** Asks anew: sending goes on while this loop waits. */
function hasFailed(failed: { readonly reason: Error | null }): boolean {
  return failed.reason !== null;
}
