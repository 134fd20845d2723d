import type { BoothState, LogReach } from "../domain/booth-state.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { isPlain } from "../domain/provisioning.ts";
import { say } from "../domain/sentences.ts";
import { labelOf } from "../domain/stream-label.ts";
import { NO_THRIFT } from "../domain/traffic.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import { createWaiters, type Waiters } from "../domain/waiters.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import { chunkReader, type LaneBatch, laneReaders } from "./lane-reader.ts";
import type { BatchOutcome, LinkSession } from "./port.ts";
import { type Held, heldOf, type LetGo, letGo, logNow, NOTHING_HELD } from "./rules/held.ts";
import {
  conflictAfter,
  heldSeqs,
  isRefusedForGood,
  MOST_REFUSALS,
  MOST_WAITING,
  newNameAt,
  newNameFrom,
  type RefusedRecord,
  RETRY_MS,
  waitingAfter,
  WITHOUT_CHUNKS_MS,
} from "./rules/refusals.ts";
import {
  afterProbe,
  afterSending,
  byRecord,
  type Cursor,
  type LaneName,
  nextAction,
  openStretch,
  passing,
  type Sending,
  sendingFrom,
  type SendingVerdict,
  type SentRange,
  soonest,
  splitOnce,
  stretchOf,
  taken,
  verdictOf,
  withAcked,
} from "./rules/sending.ts";
import { sayConflict, sayForked, sayRefused, saySetAside } from "./service-words.ts";

/** A booth's log on its way over one session. */
interface SentLog {
  readonly gateway: Pick<
    DeliveryGateway,
    "clock" | "log" | "store" | "rename" | "backlog_rate" | "least_backlog" | "thrift" | "turn"
  >;
  readonly booth: DeliveredBooth;
  readonly session: Pick<LinkSession, "send" | "sendChunk" | "takesChunks" | "window">;
  /** Called when the service has taken something. */
  readonly proven: () => void;
}

interface SenderRun extends SentLog {
  readonly generation: number;
  /** The log's name at the service. */
  readonly stream: StreamId;
  /** Each with the bytes of the chunk that it carries, 0 of a batch. */
  readonly under_way: Waiters<{ readonly way: Promise<void>; readonly bytes: number }>;
  /** How far the log goes under that name. */
  readonly reach: () => LogReach;
  readers: ReturnType<typeof laneReaders>;
  readonly chunks: ReturnType<typeof chunkReader>;
  readonly moveCursor: () => Promise<void>;
  sending: Sending;
  /** null: the month's budget holds nothing. */
  gone: LetGo | null;
  /** Records that fit in a message of late; null: as many as a batch holds. */
  fits: number | null;
  failure: Error | null;
}

/**
 * Sends one booth's stream over one session, a few batches under way at once; rules/sending.ts decides what to send next and what an
 * outcome means. Throws, with the reason, if it is unknown whether a batch arrived: the session is then worth nothing, and all unacked
 * batches are sent again in the next one.
 */
export async function runSender(sent: SentLog, signal: AbortSignal): Promise<never> {
  const run = newRun(sent);
  const { delivery } = sent.booth;
  try {
    for (;;) {
      signal.throwIfAborted();
      if (run.failure !== null) throw run.failure;
      if (delivery.is_resting || isRetryDue(run)) await offerAgain(run, signal);
      else await act(run, signal);
    }
  } finally {
    const { stream, generation, sending } = run;
    delivery.left = { stream, generation, ...sending.cursor };
  }
}

function newRun(sent: SentLog): SenderRun {
  const { gateway, booth } = sent;
  const { row } = booth.state.binding;
  const { stream } = labelOf(row, booth.state.log.reach);
  const generation = row.generation ?? 0;
  const reach = (): LogReach => sendable(booth.state, stream);
  const { silence, left } = booth.delivery;
  const { acked_seq } = reach();
  const isSame = left?.stream === stream && left.generation === generation && left.acked_seq === acked_seq;
  const cursor: Cursor = { acked_seq, ahead: isSame ? left.ahead : [] };
  const run: SenderRun = {
    ...sent,
    generation,
    stream,
    reach,
    under_way: createWaiters(),
    readers: laneReaders(gateway.store, reach),
    chunks: chunkReader(gateway.store, reach),
    moveCursor: cursorMover(sent, reach, () => run.sending.cursor.acked_seq),
    sending: sendingFrom(cursor, { silence, waiting: notDue(booth) }),
    gone: null,
    fits: null,
    failure: null,
  };
  return run;
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

/**
 * Returns a function that moves the log's cursor up to the seq that `ackedTo` tells, never back. Acks that come during a move go
 * together with the next one: each call wakes the store's thread, which takes this thread's core for it.
 */
function cursorMover(
  { gateway, booth }: Pick<SentLog, "gateway" | "booth">,
  reach: () => LogReach,
  ackedTo: () => Seq,
): () => Promise<void> {
  let moving = Promise.resolve();
  let next: Promise<void> | null = null;
  const move = async (): Promise<void> => {
    next = null;
    const { stream, acked_seq } = reach();
    const up_to = ackedTo();
    if (up_to > acked_seq) tellAcked(gateway, booth, (await gateway.store.ack(stream, up_to)).acked_seq);
  };
  return () => {
    next ??= moving.then(() => (moving = move()));
    return next;
  };
}

function tellAcked(
  { log: logger }: Pick<SentLog["gateway"], "log">,
  { state, delivery }: DeliveredBooth,
  acked_seq: Seq,
): void {
  const { booth, log, binding, progress } = state;
  const before = log.reach.acked_seq;
  if (before === 0 && acked_seq > 0) {
    const how = isPlain(binding.row) ? "handed to the broker" : "acked by the service";
    const text = `${booth}: first records ${how}, up to ${acked_seq}`;
    logger.info({ event: "first_acked", booth, acked_seq }, text);
  }
  log.cursorMoved(Math.max(before, acked_seq));
  if (delivery.conflict !== null && acked_seq >= delivery.conflict.seq) delivery.conflict = null;
  progress.raise();
}

/** Returns the waiting records that aren't offered again yet, or were already. */
function notDue({ delivery }: DeliveredBooth): readonly Seq[] {
  const { waiting, retry_at, retried_to } = delivery;
  return [...waiting.keys()].filter((seq) => retry_at !== null || seq <= retried_to);
}

function isRetryDue({ booth: { delivery }, gateway }: SenderRun): boolean {
  return delivery.retry_at !== null && gateway.clock.mono() >= delivery.retry_at;
}

/** Waits until waiting records are due, then begins again at the cursor. The session goes on: it sends other booths' logs too. */
async function offerAgain(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { gateway, booth, reach } = run;
  const { delivery } = booth;
  await Promise.all(run.under_way.all().map(({ way }) => way));
  if (run.failure !== null) return;
  const ms = (delivery.retry_at ?? 0) - gateway.clock.mono();
  if (ms > 0) await gateway.clock.sleep(ms, signal);
  Object.assign(delivery, { retry_at: null, is_resting: false, refusals: 0 });
  const { cursor, silence, has_answered } = run.sending;
  run.sending = { ...sendingFrom(cursor, { silence, waiting: notDue(booth) }), has_answered };
  run.readers = laneReaders(gateway.store, reach);
  delivery.retried_to = 0;
}

/** Nothing is sent before the next offer. */
function rest({ booth, gateway }: SenderRun): void {
  booth.delivery.is_resting = true;
  booth.delivery.retry_at ??= gateway.clock.mono() + RETRY_MS;
}

async function act(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { sendable_seq } = run.reach();
  run.sending = splitOnce(run.sending, sendable_seq, run.gateway.least_backlog);
  const next = nextAction(run.sending, { sendable_seq, ...roomOf(run) });
  switch (next.kind) {
    case "acks":
      return Promise.race(run.under_way.all().map(({ way }) => way));
    case "news":
      return waitForNews(run, next.ms, signal);
    case "probe":
      return probe(run, next.seq);
    case "chunk":
      return sendChunk(run, next, signal);
    case "send":
      return sendNext(run, next.lane, next.limit);
  }
}

function waitForNews({ booth, gateway }: SenderRun, ms: Milliseconds | null, signal: AbortSignal): Promise<void> {
  const { retry_at } = booth.delivery;
  const retry_ms = retry_at === null ? null : Math.max(1, retry_at - gateway.clock.mono());
  return booth.state.progress.wait(signal, soonest(ms, retry_ms) ?? undefined);
}

/** What is under way, and may be. */
function roomOf(run: SenderRun) {
  const { gateway, booth, session, under_way } = run;
  const mono = gateway.clock.mono();
  const sizes = under_way.all().map(({ bytes }) => bytes);
  const chunks = sizes.filter((bytes) => bytes > 0);
  const mayTry = session.takesChunks() && mono >= booth.delivery.chunks_at;
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

/** Offers the service's newest record once more: if it is the same here, the service isn't ahead of this store. */
async function probe(run: SenderRun, seq: Seq): Promise<void> {
  const { gateway, session, stream, generation } = run;
  const [record] = await gateway.store.read(run.reach().stream, seq, 1);
  const outcome = record?.seq === seq ? await session.send(stream, generation, [record]) : null;
  run.sending = afterProbe(run.sending, outcome?.kind ?? "missing");
  if (outcome?.kind === "keep") throw new ServiceLinkError("no_ack", outcome.reason);
}

/** Sends a part of the backlog as it is stored, if it is stored as a chunk. */
async function sendChunk(
  run: SenderRun,
  { from, end }: { readonly from: Seq; readonly end: Seq },
  signal: AbortSignal,
): Promise<void> {
  const { chunk, to } = await run.chunks(from, end);
  // Several are ready at once, and a poll waits for no more than one of them.
  await run.gateway.turn?.();
  signal.throwIfAborted();
  if (chunk === null) run.sending = byRecord(run.sending, { from, to });
  else startSending(run, "backlog", { batch: [], chunk, from, to });
}

async function sendNext(run: SenderRun, lane: LaneName, limit: number | null): Promise<void> {
  const stretch = stretchOf(run.sending.lanes, lane, run.reach().sendable_seq);
  if (stretch === null) return;
  const { acked_to, end } = openStretch(run.sending, stretch.seq, stretch.end);
  if (acked_to !== null) {
    startSending(run, lane, { batch: [], from: stretch.seq + 1, to: acked_to });
    return;
  }
  const next = await run.readers[lane](stretch.seq, end, soonest(limit, run.fits));
  startSending(run, lane, next);
  // What a lane of the whole log doesn't hold was given up: a gap record later in the log says so.
  if (next.batch.length === 0 && lane !== "context") await moveOver(run, next);
}

/** Advances the lane, and starts the delivery if there is something to send. */
function startSending(run: SenderRun, lane: LaneName, next: LaneBatch): void {
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

/** Sends one batch or chunk, and acts on the outcome. */
async function deliver(run: SenderRun, next: LaneBatch): Promise<void> {
  const { booth } = run;
  const outcome = await send(run, next);
  const { sending, verdict } = verdictOf(run.sending, rangeOf(run, next), outcome);
  run.sending = sending;
  switch (verdict.kind) {
    case "acked":
      return acked(run, next, verdict.refused);
    case "by_record":
      booth.state.progress.raise();
      return;
    case "halve":
      if (outcome.kind === "too_long") run.fits = Math.ceil(next.batch.length / 2);
      return deliverHalves(run, next);
    case "refused":
      return refused(run, [verdict.refused]);
    case "conflict":
      return conflict(run, next, verdict);
    case "end":
      booth.delivery.silence = sending.silence;
      if (verdict.refused !== null) await refused(run, [verdict.refused]);
      throw new ServiceLinkError("no_ack", verdict.reason);
  }
}

function rangeOf(run: SenderRun, next: LaneBatch): SentRange {
  const { sendable_seq } = run.reach();
  return { from: next.from, to: next.to, records: recordsIn(next), is_chunk: next.chunk !== undefined, sendable_seq };
}

async function send(run: SenderRun, { batch, chunk }: LaneBatch): Promise<BatchOutcome> {
  const { gateway, booth, session, stream, generation } = run;
  if (chunk === undefined) return session.send(stream, generation, batch);
  const outcome = await session.sendChunk(stream, generation, chunk);
  // A connection that broke says nothing about chunks.
  const isFailed = outcome.kind === "keep" ? outcome.is_silent === true : outcome.kind !== "acked";
  if (isFailed) booth.delivery.chunks_at = gateway.clock.mono() + WITHOUT_CHUNKS_MS;
  return outcome;
}

async function acked(run: SenderRun, next: LaneBatch, rejected: readonly RefusedRecord[]): Promise<void> {
  // After a batch with as many records as fit, a few more are tried.
  if (run.fits !== null && next.batch.length >= run.fits) run.fits += Math.ceil(run.fits / 8);
  if (recordsIn(next) > rejected.length) {
    run.booth.delivery.refusals = 0;
    run.proven();
  }
  await settle(run, next, rejected);
}

/** Forgets what waited of an acked range, and moves the cursor. `rejected`: its records that the service didn't take. */
async function settle(
  run: SenderRun,
  { from, to }: Pick<SentRange, "from" | "to">,
  rejected: readonly RefusedRecord[] = [],
): Promise<void> {
  const { delivery } = run.booth;
  const { waiting } = delivery;
  const kept = new Set(rejected.map(({ seq }) => seq));
  for (const seq of waiting.keys()) if (seq >= from && seq <= to && !kept.has(seq)) waiting.delete(seq);
  if (waiting.size === 0 && !delivery.is_resting) delivery.retry_at = null;
  if (rejected.length > 0) await refused(run, rejected);
  await run.moveCursor();
}

/** Keeps records that the service didn't take for the next offer. Those that it has refused for a day are set aside and count as acked. */
async function refused(run: SenderRun, records: readonly RefusedRecord[]): Promise<void> {
  const { gateway, booth } = run;
  const { delivery } = booth;
  const now = { mono: gateway.clock.mono(), at: gateway.clock.wall(), isEnding: isEnding(booth) };
  const added: RefusedRecord[] = [];
  const aside: RefusedRecord[] = [];
  for (const record of records) {
    const before = delivery.waiting.get(record.seq);
    const after = waitingAfter(before, record, now);
    delivery.waiting.set(record.seq, after);
    if (before === undefined) added.push(record);
    if (isRefusedForGood(after, now)) aside.push(record);
  }
  delivery.retry_at ??= now.mono + RETRY_MS;
  delivery.refusals += 1;
  if (added.length > 0) {
    if (delivery.refusals >= MOST_REFUSALS || delivery.waiting.size > MOST_WAITING) rest(run);
    sayRefused(gateway, booth, added);
  } else if (delivery.refusals >= MOST_REFUSALS) {
    // The other waiting records are left to the next offer, so that new ones go on.
    delivery.retried_to = records.at(-1)?.seq ?? 0;
    run.sending = passing(run.sending, [...delivery.waiting.keys()]);
  }
  if (aside.length === 0) return;
  await setAside(gateway, booth, aside);
  for (const { seq } of aside) await moveOver(run, { from: seq, to: seq });
}

/** The service ends the binding or is asked to: it won't be asked for a day. */
function isEnding({ state: { binding } }: DeliveredBooth): boolean {
  return binding.row.leaving !== null || binding.row.state === "suspended";
}

async function setAside(
  gateway: Pick<SentLog["gateway"], "store" | "log">,
  booth: DeliveredBooth,
  records: readonly RefusedRecord[],
): Promise<void> {
  const refusals = records.map(({ seq, reason, cause }) => ({ seq, reason, declare: cause !== "named" }));
  booth.delivery.refused = await gateway.store.setAside(booth.state.log.reach.stream, refusals);
  saySetAside(gateway, booth, refusals);
}

/** Sets the waiting records of a booth aside that no session speaks for any more, so that its log counts as delivered. */
export async function setWaitingAside(
  gateway: Pick<SentLog["gateway"], "store" | "log">,
  booth: DeliveredBooth,
): Promise<void> {
  const { waiting, left } = booth.delivery;
  const refused = [...waiting.values()].filter(({ cause }) => cause !== "too_long");
  if (refused.length === 0 || left === null) return;
  await setAside(gateway, booth, refused);
  waiting.clear();
  const { acked_seq } = withAcked(left, ...refused.map(({ seq }) => [seq, seq] as const));
  tellAcked(gateway, booth, (await gateway.store.ack(booth.state.log.reach.stream, acked_seq)).acked_seq);
}

/** Nothing of the range will be sent: it counts as acked. */
function moveOver(run: SenderRun, range: Pick<SentRange, "from" | "to">): Promise<void> {
  run.sending = taken(run.sending, range);
  return settle(run, range);
}

async function deliverHalves(run: SenderRun, { batch, from, to }: LaneBatch): Promise<void> {
  const middle = Math.ceil(batch.length / 2);
  const between = batch[middle]?.seq ?? to + 1;
  await deliver(run, { batch: batch.slice(0, middle), from, to: between - 1 });
  if (!run.booth.delivery.is_resting) await deliver(run, { batch: batch.slice(middle), from: between, to });
}

/** Rests, and asks again at the next offer. If the service names the same conflict for long enough, the log goes on under a new name. */
async function conflict(
  run: SenderRun,
  { from }: LaneBatch,
  { seq, held_seq, refused: rejected }: Extract<SendingVerdict, { kind: "conflict" }>,
): Promise<void> {
  const { gateway, booth } = run;
  const { delivery, state } = booth;
  const now = { mono: gateway.clock.mono(), at: gateway.clock.wall() };
  const before = delivery.conflict;
  const named = conflictAfter(before, { seq, held_seq }, now.mono);
  delivery.conflict = named;
  await settle(run, { from, to: seq - 1 }, rejected);
  const due_at = newNameAt(named, state.binding.row.stream, now);
  if (due_at > now.at || run.reach().acked_seq !== seq - 1) {
    rest(run);
    if (before?.seq !== seq) sayConflict(gateway, booth, { seqs: heldSeqs(named), due_at });
    return;
  }
  const seqs = heldSeqs(named);
  delivery.conflict = null;
  await gateway.rename(booth, seq, { at: now.at, seqs });
  sayForked(gateway, booth, { seqs, at: now.at });
  throw new ServiceLinkError("closed", say("log.other_records", { seq }));
}
