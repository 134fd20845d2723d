import { stretchOf, type LaneName } from "../core/lanes.ts";
import type { Silence } from "../core/silence.ts";
import { ServiceLinkError } from "../core/service-link-error.ts";
import {
  afterProbe,
  afterSending,
  afterWitness,
  nextTurn,
  sendingFrom,
  splitOnce,
  taken,
  verdictOf,
  type Inherited,
  type Sending,
  type SentRange,
} from "../core/sending.ts";
import type { Milliseconds, Seq, StreamId } from "../core/types/units.ts";
import type { BatchOutcome, Clock, LinkSession, Refusal, Store, StreamInfo } from "../ports.ts";
import type { Bell } from "./bell.ts";
import { laneReaders, type LaneBatch } from "./lane-reader.ts";

export interface PumpParts extends Inherited {
  readonly clock: Clock;
  readonly store: Store;
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
  /** This one ends over it. */
  readonly silent: (silence: Silence | null) => void;
  /** The service will never take these records of ours. */
  readonly refused: (refusals: readonly Refusal[]) => Promise<void>;
  /** The service holds another record under that seq, and everything before it is there as it is here. */
  readonly conflict: (seq: Seq) => Promise<void>;
}

interface Pumping {
  readonly parts: PumpParts;
  readonly under_way: Set<Promise<void>>;
  readonly readers: ReturnType<typeof laneReaders>;
  sending: Sending;
  failure: Error | null;
}

/**
 * Sends one booth's stream over one session, a few batches under way at once; what goes next and what an outcome means
 * core/sending decides. Throws, with the reason, when a batch can't be shown to have arrived: the session is then worth
 * nothing, and all unacked batches go again in the next one.
 */
export async function pump(parts: PumpParts, signal: AbortSignal): Promise<never> {
  const pumping: Pumping = {
    parts,
    under_way: new Set(),
    readers: laneReaders(parts),
    sending: sendingFrom(parts.info().acked_seq, parts),
    failure: null,
  };
  for (;;) {
    signal.throwIfAborted();
    if (pumping.failure !== null) throw pumping.failure;
    await takeTurn(pumping, signal);
  }
}

async function takeTurn(pumping: Pumping, signal: AbortSignal): Promise<void> {
  const { parts, under_way } = pumping;
  const { sendable_seq } = parts.info();
  pumping.sending = splitOnce(pumping.sending, sendable_seq);
  const now = { sendable_seq, mono: parts.clock.mono(), window: parts.session.window(), under_way: under_way.size };
  const turn = nextTurn(pumping.sending, now);
  switch (turn.kind) {
    case "acks":
      return Promise.race(under_way);
    case "news":
      return waitForNews(parts, turn.ms, signal);
    case "probe":
      return offerOnce(pumping, turn.seq, afterProbe);
    case "witness":
      return offerOnce(pumping, turn.seq, afterWitness);
    case "send":
      return sendNext(pumping, turn.lane, turn.limit);
  }
}

/** Offers a record once more that the service should have. */
async function offerOnce(pumping: Pumping, seq: Seq, after: typeof afterProbe): Promise<void> {
  const { parts } = pumping;
  const [record] = await parts.store.read(parts.info().stream, seq, 1);
  if (record?.seq !== seq) {
    pumping.sending = after(pumping.sending, "missing");
    return;
  }
  const outcome = await parts.session.send(parts.stream, parts.generation, [record]);
  pumping.sending = after(pumping.sending, outcome.kind);
  if (outcome.kind !== "keep") return;
  parts.silent(pumping.sending.silence);
  throw new ServiceLinkError("no_ack", outcome.reason);
}

function waitForNews({ news }: PumpParts, ms: Milliseconds | null, signal: AbortSignal): Promise<void> {
  return ms === null ? news.wait(signal) : news.wait(signal, ms);
}

async function sendNext(pumping: Pumping, lane: LaneName, limit: number | null): Promise<void> {
  const { parts, under_way } = pumping;
  const stretch = stretchOf(pumping.sending.lanes, lane, parts.info().sendable_seq);
  if (stretch === null) return;
  const next = await pumping.readers[lane].next(stretch.seq, stretch.end, limit);
  const { batch, to } = next;
  const sent = { to, records: batch.length, mono: parts.clock.mono(), rate: parts.backlog_rate };
  pumping.sending = afterSending(pumping.sending, lane, sent);
  // What a lane of the whole log doesn't have will never be: the gap record that tells of it stands further on.
  if (batch.length === 0) return lane === "terms" ? undefined : passOver(pumping, next);
  const way = deliver(pumping, next).catch((error: unknown) => {
    pumping.failure ??= error instanceof Error ? error : new Error(String(error));
    parts.news.ring();
  });
  under_way.add(way);
  void way.then(() => under_way.delete(way));
}

/** One batch, and what came of it. */
async function deliver(pumping: Pumping, next: LaneBatch, refusals = 0): Promise<void> {
  const { batch, from, to } = next;
  const { parts } = pumping;
  const outcome = await parts.session.send(parts.stream, parts.generation, batch);
  const { sendable_seq } = parts.info();
  const range: SentRange = { from, to, records: batch.length, sendable_seq, refusals };
  const { sending, verdict } = verdictOf(pumping.sending, range, outcome);
  pumping.sending = sending;
  switch (verdict.kind) {
    case "acked":
      await tellRejected(parts, outcome);
      return moveTo(parts, verdict.up_to);
    case "halve":
      return deliverHalves(pumping, next);
    case "again":
      return deliver(pumping, next, refusals + 1);
    case "set_aside":
      await parts.refused([{ seq: to, reason: verdict.reason, declare: true }]);
      return giveUp(pumping, range);
    case "fork":
      await moveTo(parts, verdict.seq - 1);
      await parts.conflict(verdict.seq);
      throw new ServiceLinkError("closed", verdict.reason);
    case "end":
      parts.silent(pumping.sending.silence);
      throw new ServiceLinkError("no_ack", verdict.reason);
  }
}

async function deliverHalves(pumping: Pumping, { batch, from, to }: LaneBatch): Promise<void> {
  const middle = Math.ceil(batch.length / 2);
  const [first, second] = [batch.slice(0, middle), batch.slice(middle)];
  const between = second[0]?.seq ?? to + 1;
  await deliver(pumping, { batch: first, from, to: between - 1 });
  await deliver(pumping, { batch: second, from: between, to });
}

/** A record that was set aside is done with, as an acked one is. */
function giveUp(pumping: Pumping, range: SentRange): Promise<void> {
  pumping.parts.silent(null);
  return passOver(pumping, range);
}

/** What will never be with the service holds nothing up. */
function passOver(pumping: Pumping, range: Pick<SentRange, "from" | "to">): Promise<void> {
  const { sending, verdict } = taken(pumping.sending, range);
  pumping.sending = sending;
  return moveTo(pumping.parts, verdict.up_to);
}

/** Those the service knows of itself. */
async function tellRejected(parts: PumpParts, outcome: BatchOutcome): Promise<void> {
  if (outcome.kind !== "acked" || outcome.rejected.length === 0) return;
  await parts.refused(outcome.rejected.map(({ seq, reason }) => ({ seq, reason, declare: false })));
}

async function moveTo(parts: PumpParts, up_to: Seq): Promise<void> {
  const { stream, acked_seq } = parts.info();
  if (up_to > acked_seq) parts.acked(await parts.store.ack(stream, up_to));
}
