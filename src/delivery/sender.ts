import { heldSeqs } from "./rules/fork.ts";
import { stretchOf, type LaneName } from "./rules/lanes.ts";
import { REST_MS } from "./rules/refusing.ts";
import type { Silence } from "./rules/silence.ts";
import { ServiceLinkError } from "../domain/service-link-error.ts";
import {
  afterProbe,
  afterSending,
  afterReOffer,
  nextAction,
  sendingFrom,
  splitOnce,
  taken,
  verdictOf,
  type Inherited,
  type Sending,
  type SendingVerdict,
  type SentRange,
} from "./rules/sending.ts";
import type { BatchOutcome, LinkSession, Rejection } from "./port.ts";
import type { HeldSeqs } from "../domain/provisioning.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { Refusal, Store, StreamInfo } from "../store/port.ts";
import type { Signal } from "../domain/signal.ts";
import { laneReaders, type LaneBatch } from "./lane-reader.ts";

export interface SenderParts extends Inherited {
  readonly clock: Clock;
  readonly store: Store;
  readonly session: LinkSession;
  readonly generation: number;
  /** Rings after each commit. */
  readonly news: Signal;
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
  /** The service refuses so many, the first of them `seq`. Whether to set them aside: else they are offered again after a rest. */
  readonly isBelieved: (seq: Seq, records: number) => boolean;
  /**
   * The service holds other records from that seq on, and everything before it is there as it is here. Whether the log goes on under another
   * name: else it is asked again after a rest.
   */
  readonly conflict: (seqs: HeldSeqs) => Promise<boolean>;
  /** It says so, and nothing can prove it. `end`: the session does, so that it is asked in another. */
  readonly doubted: (seq: Seq) => "fork" | "rest" | "end";
  /** Newest record that was handed over and may be with the service, whatever it says. */
  readonly offered_seq: () => Seq;
  readonly offered: (seq: Seq) => void;
}

/** What has come of a batch so far. */
type Asked = Pick<SentRange, "refusals" | "vouched">;
const NOT_YET: Asked = { refusals: 0, vouched: null };

interface SenderRun {
  readonly parts: SenderParts;
  readonly under_way: Set<Promise<void>>;
  readers: ReturnType<typeof laneReaders>;
  sending: Sending;
  /** An answer isn't taken at its word: nothing goes for a while, then all that isn't acked goes again. */
  is_resting: boolean;
  failure: Error | null;
}

/**
 * Sends one booth's stream over one session, a few batches under way at once; what goes next and what an outcome means
 * delivery/rules/sending decides. Throws, with the reason, when a batch can't be shown to have arrived: the session is then worth
 * nothing, and all unacked batches go again in the next one.
 */
export async function runSender(parts: SenderParts, signal: AbortSignal): Promise<never> {
  const pumping: SenderRun = {
    parts,
    under_way: new Set(),
    readers: laneReaders(parts),
    sending: sendingFrom(parts.info().acked_seq, parts),
    is_resting: false,
    failure: null,
  };
  for (;;) {
    signal.throwIfAborted();
    if (pumping.failure !== null) throw pumping.failure;
    await (pumping.is_resting ? rest(pumping, signal) : act(pumping, signal));
  }
}

/** The session stands meanwhile: other booths' logs go over it too. */
async function rest(pumping: SenderRun, signal: AbortSignal): Promise<void> {
  const { parts } = pumping;
  await Promise.all(pumping.under_way);
  if (pumping.failure !== null) return;
  await parts.clock.sleep(REST_MS, signal);
  pumping.sending = sendingFrom(parts.info().acked_seq, { silence: null, first_seq: parts.first_seq });
  pumping.readers = laneReaders(parts);
  pumping.is_resting = false;
}

async function act(pumping: SenderRun, signal: AbortSignal): Promise<void> {
  const { parts, under_way } = pumping;
  const { sendable_seq } = parts.info();
  pumping.sending = splitOnce(pumping.sending, sendable_seq);
  const now = { sendable_seq, mono: parts.clock.mono(), window: parts.session.window(), under_way: under_way.size };
  const turn = nextAction(pumping.sending, now);
  switch (turn.kind) {
    case "acks":
      return Promise.race(under_way);
    case "news":
      return waitForNews(parts, turn.ms, signal);
    case "probe":
      return offerOnce(pumping, turn.seq, afterProbe);
    case "witness":
      return offerOnce(pumping, turn.seq, afterReOffer);
    case "send":
      return sendNext(pumping, turn.lane, turn.limit);
  }
}

/** Offers a record once more that the service should have. */
async function offerOnce(pumping: SenderRun, seq: Seq, after: typeof afterProbe): Promise<void> {
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

function waitForNews({ news }: SenderParts, ms: Milliseconds | null, signal: AbortSignal): Promise<void> {
  return ms === null ? news.wait(signal) : news.wait(signal, ms);
}

async function sendNext(pumping: SenderRun, lane: LaneName, limit: number | null): Promise<void> {
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
async function deliver(pumping: SenderRun, next: LaneBatch, asked = NOT_YET): Promise<void> {
  const { batch, from, to } = next;
  const { parts } = pumping;
  const offered_seq = parts.offered_seq();
  const outcome = await parts.session.send(parts.stream, parts.generation, batch);
  if (outcome.kind !== "conflict") parts.offered(to);
  if (!isBelieved(parts, outcome)) return holdOff(pumping);
  const { sendable_seq } = parts.info();
  const range: SentRange = { from, to, records: batch.length, sendable_seq, offered_seq, ...asked };
  const { sending, verdict } = verdictOf(pumping.sending, range, outcome);
  pumping.sending = sending;
  switch (verdict.kind) {
    case "acked":
      await tellRejected(parts, rejectedIn(outcome));
      return moveTo(parts, verdict.up_to);
    case "halve":
      return deliverHalves(pumping, next);
    case "again":
      return deliver(pumping, next, { ...asked, refusals: asked.refusals + 1 });
    case "set_aside":
      if (!parts.isBelieved(to, 1)) return holdOff(pumping);
      await parts.refused([{ seq: to, reason: verdict.reason, declare: true }]);
      return giveUp(pumping, range);
    case "fork":
      return fork(pumping, verdict);
    case "vouch":
      return vouch(pumping, next, verdict);
    case "doubt":
      return doubt(pumping, verdict);
    case "end":
      parts.silent(pumping.sending.silence);
      throw new ServiceLinkError("no_ack", verdict.reason);
  }
}

function isBelieved(parts: SenderParts, outcome: BatchOutcome): boolean {
  const [first, ...more] = rejectedIn(outcome);
  return first === undefined || parts.isBelieved(first.seq, 1 + more.length);
}

function holdOff(pumping: SenderRun): Promise<void> {
  pumping.is_resting = true;
  return Promise.resolve();
}

type Conflict = Extract<SendingVerdict, { kind: "fork" | "vouch" | "doubt" }>;

async function fork(pumping: SenderRun, conflict: Conflict): Promise<void> {
  const { parts } = pumping;
  await tellRejected(parts, conflict.rejected);
  await moveTo(parts, conflict.seq - 1);
  if (!(await parts.conflict(heldSeqs(conflict)))) return holdOff(pumping);
  throw new ServiceLinkError("closed", conflict.reason);
}

/** A conflict at a batch's first record proves nothing by itself: the service is to show that it has the record before. */
async function vouch(pumping: SenderRun, next: LaneBatch, conflict: Conflict): Promise<void> {
  const { parts } = pumping;
  const before = conflict.seq - 1;
  const [record] = before >= parts.first_seq ? await parts.store.read(parts.info().stream, before, 1) : [];
  const outcome = record?.seq === before ? await parts.session.send(parts.stream, parts.generation, [record]) : null;
  if (outcome?.kind === "acked" && outcome.is_proven)
    return deliver(pumping, next, { ...NOT_YET, vouched: conflict.seq });
  // Neither here any more, nor at the service: nothing is left to ask for.
  const isGone = outcome === null || outcome.kind === "acked" || outcome.kind === "refused";
  if (isGone) return doubt(pumping, conflict);
  throw unproven(conflict);
}

/** Said for long enough it is believed all the same. */
async function doubt(pumping: SenderRun, conflict: Conflict): Promise<void> {
  const belief = pumping.parts.doubted(conflict.seq);
  if (belief === "end") throw unproven(conflict);
  return belief === "fork" ? fork(pumping, conflict) : holdOff(pumping);
}

function unproven({ seq }: Conflict): ServiceLinkError {
  return new ServiceLinkError("no_ack", `the service names a conflict at seq ${seq.toString()}, and doesn't prove it`);
}

async function deliverHalves(pumping: SenderRun, { batch, from, to }: LaneBatch): Promise<void> {
  const middle = Math.ceil(batch.length / 2);
  const [first, second] = [batch.slice(0, middle), batch.slice(middle)];
  const between = second[0]?.seq ?? to + 1;
  await deliver(pumping, { batch: first, from, to: between - 1 });
  if (!pumping.is_resting) await deliver(pumping, { batch: second, from: between, to });
}

/** A record that was set aside is done with, as an acked one is. */
function giveUp(pumping: SenderRun, range: SentRange): Promise<void> {
  pumping.parts.silent(null);
  return passOver(pumping, range);
}

/** What will never be with the service holds nothing up. */
function passOver(pumping: SenderRun, range: Pick<SentRange, "from" | "to">): Promise<void> {
  const { sending, verdict } = taken(pumping.sending, range);
  pumping.sending = sending;
  return moveTo(pumping.parts, verdict.up_to);
}

/** Those the service knows of itself. */
async function tellRejected(parts: SenderParts, rejected: readonly Rejection[]): Promise<void> {
  if (rejected.length === 0) return;
  await parts.refused(rejected.map(({ seq, reason }) => ({ seq, reason, declare: false })));
}

function rejectedIn(outcome: BatchOutcome): readonly Rejection[] {
  return outcome.kind === "acked" || outcome.kind === "conflict" ? outcome.rejected : [];
}

async function moveTo(parts: SenderParts, up_to: Seq): Promise<void> {
  const { stream, acked_seq } = parts.info();
  if (up_to > acked_seq) parts.acked(await parts.store.ack(stream, up_to));
}
