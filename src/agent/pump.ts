import { cursorAt, withAcked } from "../core/cursor.ts";
import { nextLane, oneLane, withBacklog, withSent, type LaneName } from "../core/lanes.ts";
import type { Placed } from "../core/types/record.ts";
import type { Seq, StreamId } from "../core/types/units.ts";
import type { BatchOutcome, Clock, LinkSession, Logger, Store, StreamInfo } from "../ports.ts";
import type { Bell } from "./bell.ts";
import { laneReader, type LaneReader } from "./lane-reader.ts";

export interface PumpParts {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly session: LinkSession;
  readonly generation: number;
  /** Rings after each commit. */
  readonly news: Bell;
  readonly info: () => StreamInfo;
  /** The log's name at the service. */
  readonly stream: StreamId;
  /** Records of the backlog a second at most; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  readonly acked: (info: StreamInfo) => void;
  /** The service will never take some record of ours. */
  readonly refused: () => void;
  /** The service holds another record under that seq, and everything before it is there as it is here. */
  readonly conflict: (seq: Seq) => Promise<void>;
}

/** A session's sending of one stream: what it has under way, and how far the service has come. */
interface Sending {
  readonly parts: PumpParts;
  readonly underway: Set<Promise<void>>;
  cursor: ReturnType<typeof cursorAt>;
  lanes: ReturnType<typeof oneLane>;
  /**
   * One batch at a time until the service is seen to have no more of this stream than was sent: with an old copy of the
   * store put back, what follows a record that differs must not get there under the same name.
   */
  maybe_ahead: boolean;
  failure: Error | null;
}

/**
 * Sends one booth's stream over one session, a few batches under way at once; after an outage what is new goes before what
 * waited. Throws, with the reason, when a batch can't be shown to have arrived: the session is then worth nothing, and all
 * unacked batches go again in the next one.
 */
export async function pump(parts: PumpParts, signal: AbortSignal): Promise<never> {
  const { acked_seq } = parts.info();
  const sending: Sending = {
    parts,
    underway: new Set(),
    cursor: cursorAt(acked_seq),
    lanes: oneLane(acked_seq),
    maybe_ahead: true,
    failure: null,
  };
  const readers: Readonly<Record<LaneName, LaneReader>> = { live: laneReader(parts), backlog: laneReader(parts) };
  let isSplit = false;
  for (;;) {
    signal.throwIfAborted();
    if (sending.failure !== null) throw sending.failure;
    if (sending.underway.size >= (sending.maybe_ahead ? 1 : parts.session.window())) {
      await Promise.race(sending.underway);
      continue;
    }
    const { sendable_seq } = parts.info();
    if (!sending.maybe_ahead && !isSplit) sending.lanes = withBacklog(sending.lanes, sendable_seq);
    isSplit = !sending.maybe_ahead;
    const lane = nextLane(sending.lanes, { sendable_seq, mono: parts.clock.mono() });
    if (lane === null) await waitForTurn(sending, signal);
    else await sendNext(sending, lane, readers[lane]);
  }
}

/** Until something is recorded, or the backlog may go on. */
async function waitForTurn({ lanes, parts }: Sending, signal: AbortSignal): Promise<void> {
  if (lanes.backlog === null) return parts.news.wait(signal);
  await parts.news.wait(signal, Math.max(1, lanes.backlog_at - parts.clock.mono()));
}

async function sendNext(sending: Sending, lane: LaneName, reader: LaneReader): Promise<void> {
  const { parts, underway } = sending;
  const { backlog, live_seq } = sending.lanes;
  const last = lane === "backlog" && backlog !== null ? backlog : { seq: live_seq, end: parts.info().sendable_seq };
  const batch = await reader.next(last.seq, last.end);
  // What is missing before it was given up, which a gap record behind declares: the cursor moves over it.
  const from = last.seq + 1;
  const to = batch.at(-1)?.seq ?? last.seq;
  sending.lanes = withSent(sending.lanes, lane, {
    to,
    records: batch.length,
    mono: parts.clock.mono(),
    rate: parts.backlog_rate,
  });
  const way = exchange(sending, { batch, from, to }).catch((error: unknown) => {
    sending.failure ??= error instanceof Error ? error : new Error(String(error));
    parts.news.ring();
  });
  underway.add(way);
  void way.then(() => underway.delete(way));
}

interface Range {
  readonly batch: readonly Placed[];
  readonly from: Seq;
  readonly to: Seq;
}

/** One batch and what came of it. */
async function exchange(sending: Sending, { batch, from, to }: Range): Promise<void> {
  const { parts } = sending;
  const { stream } = parts.info();
  const outcome = await parts.session.send(parts.stream, parts.generation, batch);
  if (outcome.kind === "conflict" && from <= sending.cursor.acked_seq + 1) {
    parts.acked(await parts.store.ack(stream, outcome.seq - 1));
    await parts.conflict(outcome.seq);
  }
  takeOutcome(parts, outcome);
  const before = sending.cursor.acked_seq;
  sending.cursor = withAcked(sending.cursor, from, to);
  if (outcome.held_seq <= to) sending.maybe_ahead = false;
  if (sending.cursor.acked_seq > before) parts.acked(await parts.store.ack(stream, sending.cursor.acked_seq));
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
