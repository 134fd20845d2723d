import type { BoothState, LogReach } from "../domain/booth-state.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import { chunkReader, type LaneBatch, laneReaders } from "./lane-reader.ts";
import { cursorMover } from "./cursor.ts";
import type { BatchOutcome, LinkSession, Rejection } from "./port.ts";
import { afterFailedChunk, heldSeqs, mayTryChunks, newNameFrom, REST_MS } from "./rules/belief.ts";
import { type Held, heldOf, type LetGo, letGo, logNow, NOTHING_HELD } from "./rules/held.ts";
import { stretchOf, type LaneName } from "./rules/lanes.ts";
import { NO_THRIFT } from "../domain/traffic.ts";
import {
  afterProbe,
  afterReOffer,
  afterSending,
  aheadOf,
  byRecord,
  nextAction,
  openStretch,
  sendingFrom,
  splitOnce,
  taken,
  verdictOf,
  type NamedConflict,
  type Sending,
  type SentRange,
} from "./rules/sending.ts";
import { doubted, nameAnew, refusalsBelieved, setAside } from "./service-words.ts";
import { say } from "../domain/sentences.ts";
import { createWaiters, type Waiters } from "../domain/waiters.ts";

/** A booth's log on its way over one session. */
interface SentLog {
  readonly gateway: Pick<
    DeliveryGateway,
    "clock" | "log" | "store" | "rename" | "backlog_rate" | "least_backlog" | "thrift" | "turn"
  >;
  readonly booth: DeliveredBooth;
  readonly session: Pick<LinkSession, "send" | "sendChunk" | "takesChunks" | "window">;
  /** Called at each ack. */
  readonly proven: () => void;
}

/** What has come of a batch so far. */
type Asked = Pick<SentRange, "refusals" | "vouched">;
const NOT_YET: Asked = { refusals: 0, vouched: null };

interface SenderRun extends SentLog {
  readonly generation: number;
  /** The log's name at the service. */
  readonly stream: StreamId;
  /** Oldest record that goes under it: those before it are another stream's at the service. */
  readonly first_seq: Seq;
  /** Each with the bytes of the chunk that it carries, 0 of a batch. */
  readonly under_way: Waiters<{ readonly way: Promise<void>; readonly bytes: number }>;
  /** How far the log goes under that name. */
  readonly reach: () => LogReach;
  readers: ReturnType<typeof laneReaders>;
  readonly chunks: ReturnType<typeof chunkReader>;
  readonly moveTo: ReturnType<typeof cursorMover>;
  sending: Sending;
  /** An answer isn't taken at its word: nothing goes for a while, then all that isn't acked goes again. */
  is_resting: boolean;
  /** null: the month's budget holds nothing. */
  gone: LetGo | null;
  /** Records that are longer than a message may be, by their seq. They stay unacked, and are tried again now and then. */
  readonly waiting: Map<Seq, LaneBatch>;
  /** Mono at which they are tried again. */
  waiting_until: Milliseconds;
  /** Records that fit in a message of late; null: as many as a batch holds. */
  fits: number | null;
  failure: Error | null;
}

/**
 * Sends one booth's stream over one session, a few batches under way at once; what goes next and what an outcome means
 * rules/sending.ts decides. Throws, with the reason, when a batch can't be shown to have arrived: the session is then worth
 * nothing, and all unacked batches go again in the next one.
 */
export async function runSender(sent: SentLog, signal: AbortSignal): Promise<never> {
  const { gateway, booth } = sent;
  const { row } = booth.state.binding;
  const { stream, oldest_seq: first_seq } = labelOf(row, booth.state.log.reach);
  const reach = (): LogReach => sendable(booth.state, stream);
  const { silence, left_ahead } = booth.delivery;
  const generation = row.generation ?? 0;
  const isSame = left_ahead?.stream === stream && left_ahead.generation === generation;
  const ahead = isSame ? aheadOf(left_ahead, reach().acked_seq) : [];
  const run: SenderRun = {
    ...sent,
    generation,
    stream,
    first_seq,
    reach,
    waiting: new Map(),
    waiting_until: 0,
    fits: null,
    under_way: createWaiters(),
    readers: laneReaders(gateway.store, reach),
    chunks: chunkReader(gateway.store, reach),
    moveTo: cursorMover({ ...sent, reach }),
    sending: sendingFrom(reach().acked_seq, { silence, first_seq, ahead }),
    is_resting: false,
    gone: null,
    failure: null,
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      if (run.failure !== null) throw run.failure;
      await (run.is_resting ? rest(run, signal) : act(run, signal));
    }
  } finally {
    booth.delivery.left_ahead = run.waiting.size === 0 ? null : { stream, generation, ...run.sending.cursor };
    booth.delivery.too_long = null;
  }
}

/** The log as far as it is this booth's to send under that name. */
function sendable({ log, binding: { row } }: BoothState, name: StreamId): LogReach {
  const { reach } = log;
  const label = labelOf(row, reach);
  const limits = [
    row.last_seq ?? reach.sendable_seq,
    (newNameFrom(row, reach) ?? Infinity) - 1,
    label.stream === name ? reach.sendable_seq : label.oldest_seq - 1,
  ];
  return { ...reach, sendable_seq: Math.min(reach.sendable_seq, ...limits) };
}

/** The session stands meanwhile: other booths' logs go over it too. */
async function rest(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { gateway, reach, first_seq } = run;
  await Promise.all(run.under_way.all().map(({ way }) => way));
  if (run.failure !== null) return;
  await gateway.clock.sleep(REST_MS, signal);
  run.sending = sendingFrom(reach().acked_seq, { silence: null, first_seq });
  run.readers = laneReaders(gateway.store, reach);
  run.is_resting = false;
}

async function act(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { sendable_seq } = run.reach();
  if (waitingIsDue(run)) return offerWaiting(run);
  run.sending = splitOnce(run.sending, sendable_seq, run.gateway.least_backlog);
  const next = nextAction(run.sending, { sendable_seq, ...roomOf(run) });
  switch (next.kind) {
    case "acks":
      return Promise.race(run.under_way.all().map(({ way }) => way));
    case "news":
      return waitForNews(run, next.ms, signal);
    case "probe":
      return offerOnce(run, next.seq, afterProbe);
    case "re-offer":
      return offerOnce(run, next.seq, afterReOffer);
    case "chunk":
      return sendChunk(run, next, signal);
    case "send":
      return sendNext(run, next.lane, next.limit);
  }
}

function waitForNews(
  { booth, waiting, waiting_until, gateway }: SenderRun,
  ms: Milliseconds | null,
  signal: AbortSignal,
) {
  const { progress } = booth.state;
  const retry_ms = waiting.size === 0 ? null : Math.max(1, waiting_until - gateway.clock.mono());
  const soonest = ms === null || retry_ms === null ? (ms ?? retry_ms) : Math.min(ms, retry_ms);
  return soonest === null ? progress.wait(signal) : progress.wait(signal, soonest);
}

function waitingIsDue({ waiting, waiting_until, gateway, sending }: SenderRun): boolean {
  return waiting.size > 0 && gateway.clock.mono() >= waiting_until && !sending.is_over;
}

/** Offers the records that were too long again: the limit may be another one now, or the answer was wrong. */
async function offerWaiting(run: SenderRun): Promise<void> {
  run.waiting_until = run.gateway.clock.mono() + REST_MS;
  for (const next of [...run.waiting.values()]) {
    if (run.is_resting) return;
    await deliver(run, next);
  }
}

/** More of them, and hardly anything fits: the session is then worth nothing. */
const MOST_WAITING = 200;

/** A record alone is longer than a message may be: that is no verdict on it. It stays unacked, and what follows goes on. */
function wait(run: SenderRun, next: LaneBatch, reason: string): void {
  const { waiting, booth, gateway } = run;
  const isNew = !waiting.has(next.to);
  if (waiting.size === 0) run.waiting_until = gateway.clock.mono() + REST_MS;
  waiting.set(next.to, next);
  tellTooLong(run, { seq: next.to, reason });
  if (waiting.size > MOST_WAITING) throw new ServiceLinkError("limit", reason);
  if (!isNew) return;
  const text = `${booth.state.booth}: record ${next.to} waits: ${reason}; ${say("log.too_long_todo")}`;
  if (waiting.size === 1) gateway.log.warn({ event: "record_too_long", booth: booth.state.booth, seq: next.to }, text);
}

function tellTooLong(
  { booth, waiting }: SenderRun,
  newest: { readonly seq: Seq; readonly reason: string } | null,
): void {
  const { delivery } = booth;
  const last = newest ?? delivery.too_long?.newest ?? null;
  delivery.too_long = waiting.size === 0 || last === null ? null : { count: waiting.size, newest: last };
}

/** What is under way, and may be. */
function roomOf(run: SenderRun) {
  const { gateway, booth, session, under_way } = run;
  const mono = gateway.clock.mono();
  const sizes = under_way.all().map(({ bytes }) => bytes);
  const chunks = sizes.filter((bytes) => bytes > 0);
  const mayTry = session.takesChunks() && mayTryChunks(booth.delivery.failed_chunks, mono);
  return {
    mono,
    window: session.window(),
    under_way: sizes.length - chunks.length,
    chunks: mayTry ? { under_way: chunks.length, bytes: chunks.reduce((sum, bytes) => sum + bytes, 0) } : null,
    held: heldNow(run),
  };
}

/** What waits to spare the month's budget. */
function heldNow(run: SenderRun): Held {
  const thrift = run.gateway.thrift?.() ?? NO_THRIFT;
  if (thrift.hold_ms === 0) {
    run.gone = null;
    return NOTHING_HELD;
  }
  const { log } = run.booth.state;
  const reached = { sendable_seq: run.reach().sendable_seq, live_seq: run.sending.lanes.live_seq };
  const now = { ...logNow(log), ...reached, mono: run.gateway.clock.mono() };
  run.gone = letGo(run.gone, now, thrift);
  return heldOf(run.gone, now, thrift);
}

/** Offers a record once more that the service should have. */
async function offerOnce(run: SenderRun, seq: Seq, after: typeof afterProbe): Promise<void> {
  const { gateway, booth, session, stream, generation } = run;
  const [record] = await gateway.store.read(run.reach().stream, seq, 1);
  if (record?.seq !== seq) {
    run.sending = after(run.sending, "missing");
    return;
  }
  const outcome = await session.send(stream, generation, [record]);
  run.sending = after(run.sending, outcome.kind);
  if (outcome.kind !== "keep") return;
  booth.delivery.silence = run.sending.silence;
  throw new ServiceLinkError("no_ack", outcome.reason);
}

/** What waited goes as it stands in the store, where it can. */
async function sendChunk(
  run: SenderRun,
  { from, end }: { readonly from: Seq; readonly end: Seq },
  signal: AbortSignal,
): Promise<void> {
  const { chunk, to } = await run.chunks(from, end);
  // Several are ready at once, and polls wait for no more than one of them.
  await run.gateway.turn?.();
  signal.throwIfAborted();
  if (chunk === null) run.sending = byRecord(run.sending, { from, to });
  else put(run, "backlog", { batch: [], chunk, from, to });
}

async function sendNext(run: SenderRun, lane: LaneName, limit: number | null): Promise<void> {
  const stretch = stretchOf(run.sending.lanes, lane, run.reach().sendable_seq);
  if (stretch === null) return;
  const { acked_to, end } = openStretch(run.sending, stretch.seq, stretch.end);
  if (acked_to !== null) {
    put(run, lane, { batch: [], from: stretch.seq + 1, to: acked_to });
    return;
  }
  const most = limit === null || run.fits === null ? (limit ?? run.fits) : Math.min(limit, run.fits);
  const next = await run.readers[lane](stretch.seq, end, most);
  put(run, lane, next);
  // What a lane of the whole log doesn't have will never be: the gap record that tells of it stands further on.
  if (next.batch.length === 0 && lane !== "context") await passOver(run, next);
}

/** On its way, where it is something. */
function put(run: SenderRun, lane: LaneName, next: LaneBatch): void {
  const { gateway, booth, under_way } = run;
  const records = recordsIn(next);
  const sent = { to: next.to, records, mono: gateway.clock.mono(), rate: gateway.backlog_rate };
  run.sending = afterSending(run.sending, lane, sent);
  if (records === 0) return;
  const way = deliver(run, next).catch((error: unknown) => {
    run.failure ??= error instanceof Error ? error : new Error(String(error));
    booth.state.progress.raise();
  });
  void way.then(under_way.add({ way, bytes: next.chunk?.body.length ?? 0 }));
}

function recordsIn({ batch, chunk, from, to }: LaneBatch): number {
  return chunk === undefined ? batch.length : to - from + 1;
}

/** One batch or chunk, and what came of it. */
async function deliver(run: SenderRun, next: LaneBatch, asked = NOT_YET): Promise<void> {
  const { gateway, booth } = run;
  const { delivery } = booth;
  const { offered_seq } = delivery;
  const outcome = await send(run, next);
  if (outcome.kind !== "conflict") delivery.offered_seq = Math.max(delivery.offered_seq, next.to);
  const rejected = outcome.kind === "acked" || outcome.kind === "conflict" ? outcome.rejected : [];
  if (!refusalsBelieved(gateway, booth, rejected)) return holdOff(run);
  const range: SentRange = { ...rangeOf(next), sendable_seq: run.reach().sendable_seq, offered_seq, ...asked };
  const { sending, verdict } = verdictOf(run.sending, range, outcome);
  run.sending = sending;
  switch (verdict.kind) {
    case "acked":
      grow(run, next);
      if (run.waiting.delete(next.to)) tellTooLong(run, null);
      await setRejectedAside(run, rejected);
      return run.moveTo(verdict.up_to);
    case "by_record":
      booth.state.progress.raise();
      return;
    case "halve":
      if (outcome.kind === "too_long") run.fits = Math.ceil(next.batch.length / 2);
      return deliverHalves(run, next);
    case "waits":
      wait(run, next, verdict.reason);
      return;
    case "again":
      return deliver(run, next, { ...asked, refusals: asked.refusals + 1 });
    case "set_aside":
      if (!refusalsBelieved(gateway, booth, [{ seq: next.to }])) return holdOff(run);
      await setAside(gateway, booth, [{ seq: next.to, reason: verdict.reason, declare: true }]);
      // A record that was set aside is done with, as an acked one is.
      delivery.silence = null;
      return passOver(run, next);
    case "fork":
      return fork(run, verdict);
    case "vouch":
      return vouch(run, next, verdict);
    case "doubt":
      return doubt(run, verdict);
    case "end":
      delivery.silence = run.sending.silence;
      throw new ServiceLinkError("no_ack", verdict.reason);
  }
}

/** After a batch that went through with as many records as fit, a few more are tried. */
function grow(run: SenderRun, { batch }: LaneBatch): void {
  if (run.fits !== null && batch.length >= run.fits) run.fits += Math.ceil(run.fits / 8);
}

function rangeOf(next: LaneBatch): Pick<SentRange, "from" | "to" | "records" | "is_chunk"> {
  return { from: next.from, to: next.to, records: recordsIn(next), is_chunk: next.chunk !== undefined };
}

async function send(run: SenderRun, { batch, chunk }: LaneBatch): Promise<BatchOutcome> {
  const { gateway, booth, session, stream, generation } = run;
  if (chunk === undefined) return session.send(stream, generation, batch);
  const outcome = await session.sendChunk(stream, generation, chunk);
  const { delivery } = booth;
  // Of several that go unanswered in one session the first alone counts; what a broken connection took with it tells nothing.
  const isFailed = outcome.kind !== "keep" || (outcome.is_silent === true && !run.sending.is_over);
  if (outcome.kind === "acked") delivery.failed_chunks = null;
  else if (isFailed) delivery.failed_chunks = afterFailedChunk(delivery.failed_chunks, gateway.clock.mono());
  return outcome;
}

function holdOff(run: SenderRun): Promise<void> {
  run.is_resting = true;
  return Promise.resolve();
}

async function fork(run: SenderRun, conflict: NamedConflict): Promise<void> {
  await setRejectedAside(run, conflict.rejected);
  await run.moveTo(conflict.seq - 1);
  if (!(await nameAnew(run.gateway, run.booth, heldSeqs(conflict)))) return holdOff(run);
  throw new ServiceLinkError("closed", conflict.reason);
}

/** A conflict at a batch's first record proves nothing by itself: the service is to show that it has the record before. */
async function vouch(run: SenderRun, next: LaneBatch, conflict: NamedConflict): Promise<void> {
  const { gateway, session, stream, generation } = run;
  const before = conflict.seq - 1;
  const [record] = before >= run.first_seq ? await gateway.store.read(run.reach().stream, before, 1) : [];
  const outcome = record?.seq === before ? await session.send(stream, generation, [record]) : null;
  if (outcome?.kind === "acked" && outcome.is_proven) return deliver(run, next, { ...NOT_YET, vouched: conflict.seq });
  // Neither here any more, nor at the service: nothing is left to ask for.
  const isGone = outcome === null || outcome.kind === "acked" || outcome.kind === "refused";
  if (isGone) return doubt(run, conflict);
  throw unproven(conflict);
}

/** Said for long enough it is believed all the same. */
async function doubt(run: SenderRun, conflict: NamedConflict): Promise<void> {
  const word = doubted(run.gateway, run.booth, conflict.seq);
  if (word === "new") throw unproven(conflict);
  return word === "believed" ? fork(run, conflict) : holdOff(run);
}

function unproven({ seq }: NamedConflict): ServiceLinkError {
  return new ServiceLinkError("no_ack", say("service.unproven_conflict", { seq }));
}

async function deliverHalves(run: SenderRun, { batch, from, to }: LaneBatch): Promise<void> {
  const middle = Math.ceil(batch.length / 2);
  const between = batch[middle]?.seq ?? to + 1;
  await deliver(run, { batch: batch.slice(0, middle), from, to: between - 1 });
  if (!run.is_resting) await deliver(run, { batch: batch.slice(middle), from: between, to });
}

/** What will never be with the service holds nothing up. */
function passOver(run: SenderRun, range: Pick<SentRange, "from" | "to">): Promise<void> {
  const { sending, verdict } = taken(run.sending, range);
  run.sending = sending;
  return run.moveTo(verdict.up_to);
}

/** Those the service knows of itself. */
async function setRejectedAside({ gateway, booth }: SenderRun, rejected: readonly Rejection[]): Promise<void> {
  const refusals = rejected.map(({ seq, reason }) => ({ seq, reason, declare: false }));
  if (refusals.length > 0) await setAside(gateway, booth, refusals);
}
