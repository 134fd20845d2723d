import { render } from "../domain/messages/render.ts";
import { message } from "../domain/message.ts";
import type { BoothState, LogReach } from "../domain/booth-state.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import { isPlain } from "../domain/provisioning.ts";
import type { LogChunk, Placed } from "../domain/record.ts";
import { labelOf } from "../domain/stream-label.ts";
import { NO_THRIFT } from "../domain/traffic.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import { createWaiters, type Waiters } from "../domain/waiters.ts";
import type { NextChunk } from "../store/port.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import type { BatchOutcome, DeliveredLog, LinkSession } from "./port.ts";
import { type Held, heldOf, logNow, NOTHING_HELD, type Release, releaseAfter } from "./rules/held.ts";
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
  cutBatches,
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

/** A booth's log that is sent over one session. */
interface SentLog {
  readonly gateway: Pick<
    DeliveryGateway,
    "clock" | "log" | "store" | "rename" | "backlog_rate" | "least_backlog" | "thrift" | "turn"
  >;
  readonly booth: DeliveredBooth;
  readonly session: Pick<LinkSession, "send" | "sendChunk" | "takesChunks" | "window">;
  /** Called when the service has acked at least one record. */
  readonly proven: () => void;
}

/**
 * The state of one sender, which sends one booth's log over one session.
 *
 * It exists from the start of the session to its end. `sending` holds all decisions, and each step of `rules/sending.ts` replaces it; this
 * file only carries the decisions out. The cursor in `sending` advances with the acks, which arrive in any order. The cursor passes a
 * record only if the service has stored it, if it was deleted from a full store, or if it was set aside. The store's cursor follows and may
 * lag behind: a crash then causes resends, but no record is lost. Records acked out of order are kept in `delivery.left` for the next
 * session.
 *
 * A failed delivery is stored in `failure`. It ends the loop and the session. The next session sends all unacked batches again.
 */
interface SenderRun extends SentLog {
  readonly generation: number;
  /** The log's name at the service. */
  readonly stream: StreamId;
  /** Pending deliveries, each with the bytes of its chunk (a packed part of the log, sent in its stored form); 0: a batch. */
  readonly under_way: Waiters<{ readonly done: Promise<void>; readonly bytes: number }>;
  /** Returns the ranges of the log, limited to the records that may be sent under that name. */
  readonly reach: () => LogReach;
  readers: ReturnType<typeof laneReaders>;
  readonly nextChunk: ReturnType<typeof chunkReader>;
  readonly moveCursor: () => Promise<void>;
  sending: Sending;
  /** The last release of readings that waited to save the month's data budget; null: nothing has to wait. */
  released: Release | null;
  /** Number of records that recently fitted in a message; null: as many as a batch holds. */
  fits: number | null;
  failure: Error | null;
}

/**
 * Sends one booth's log over one session, with a few pending batches at a time. Throws the reason if it is unknown whether a batch arrived.
 * The session must then end.
 */
export async function runSender(sent: SentLog, signal: AbortSignal): Promise<never> {
  const run = newRun(sent);
  const { delivery } = sent.booth;
  try {
    for (;;) {
      signal.throwIfAborted();
      if (run.failure !== null) throw run.failure;
      const isRetryDue = delivery.retry_at !== null && sent.gateway.clock.mono() >= delivery.retry_at;
      if (delivery.is_resting || isRetryDue) await offerAgain(run, signal);
      else await sendOrWait(run, signal);
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
    nextChunk: chunkReader(gateway.store, reach),
    moveCursor: cursorMover(sent, reach, () => run.sending.cursor.acked_seq),
    sending: sendingFrom(cursor, { silence, waiting: notDue(booth) }),
    released: null,
    fits: null,
    failure: null,
  };
  return run;
}

/** Returns the ranges of the log, limited to the records that this booth may send under the given name. */
function sendable({ log: { reach }, binding: { row } }: BoothState, name: StreamId): LogReach {
  const label = labelOf(row, reach);
  const limits = [
    row.last_seq ?? Infinity,
    (newNameFrom(row, reach) ?? Infinity) - 1,
    label.stream === name ? Infinity : label.oldest_seq - 1,
  ];
  return { ...reach, sendable_seq: Math.min(reach.sendable_seq, ...limits) };
}

/**
 * Returns a function that moves the log's cursor forward to the seq (sequence number) that `ackedTo` returns. Acks that arrive during a
 * move are handled by the next move, because each call wakes the store's thread, which then occupies this thread's core.
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
    if (up_to > acked_seq) noteAcked(gateway, booth, (await gateway.store.ack(stream, up_to)).acked_seq);
  };
  return () => {
    next ??= moving.then(() => (moving = move()));
    return next;
  };
}

function noteAcked(
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

/** Returns the waiting records that are not offered now: they are offered later, or were already offered again. */
function notDue({ delivery }: DeliveredBooth): readonly Seq[] {
  const { waiting, retry_at, retried_to } = delivery;
  return [...waiting.keys()].filter((seq) => retry_at !== null || seq <= retried_to);
}

/**
 * Waits until waiting records are due, then starts at the cursor again. The session stays open meanwhile, because it also sends other
 * booths' logs.
 */
async function offerAgain(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { gateway, booth, reach } = run;
  const { delivery } = booth;
  await Promise.all(run.under_way.all().map(({ done }) => done));
  if (run.failure !== null) return;
  const ms = (delivery.retry_at ?? 0) - gateway.clock.mono();
  if (ms > 0) await gateway.clock.sleep(ms, signal);
  Object.assign(delivery, { retry_at: null, is_resting: false, refusals: 0 });
  const { cursor, silence, has_answered } = run.sending;
  run.sending = { ...sendingFrom(cursor, { silence, waiting: notDue(booth) }), has_answered };
  run.readers = laneReaders(gateway.store, reach);
  delivery.retried_to = 0;
}

/** Stops sending until the next offer of waiting records. */
function rest({ booth, gateway }: SenderRun): void {
  booth.delivery.is_resting = true;
  booth.delivery.retry_at ??= gateway.clock.mono() + RETRY_MS;
}

async function sendOrWait(run: SenderRun, signal: AbortSignal): Promise<void> {
  const { sendable_seq } = run.reach();
  run.sending = splitOnce(run.sending, sendable_seq, run.gateway.least_backlog);
  const next = nextAction(run.sending, { sendable_seq, ...loadOf(run) });
  switch (next.kind) {
    case "acks":
      return Promise.race(run.under_way.all().map(({ done }) => done));
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

/** Returns the pending batches and chunks, and their limits. */
function loadOf(run: SenderRun) {
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

/** Returns the lanes (send queues) that must wait to save the month's data budget. */
function heldNow(run: SenderRun): Held {
  const thrift = run.gateway.thrift?.() ?? NO_THRIFT;
  if (thrift.hold_ms === 0) {
    run.released = null;
    return NOTHING_HELD;
  }
  const reached = { sendable_seq: run.reach().sendable_seq, live_seq: run.sending.lanes.live_seq };
  const now = { ...logNow(run.booth.state.log), ...reached, mono: run.gateway.clock.mono() };
  run.released = releaseAfter(run.released, now, thrift);
  return heldOf(run.released, now, thrift);
}

/** Offers the service's newest record once more. If this store has the same record, the service isn't ahead of this store. */
async function probe(run: SenderRun, seq: Seq): Promise<void> {
  const { gateway, session, stream, generation } = run;
  const [record] = await gateway.store.read(run.reach().stream, seq, 1);
  const outcome = record?.seq === seq ? await session.send(stream, generation, [record]) : null;
  run.sending = afterProbe(run.sending, outcome?.kind ?? "missing");
  if (outcome?.kind === "keep") throw new ServiceLinkError("no_ack", outcome.reason);
}

/** Sends the next part of the backlog in its stored form, if it is stored as a chunk. Otherwise marks the part for sending in batches. */
async function sendChunk(
  run: SenderRun,
  { from, end }: { readonly from: Seq; readonly end: Seq },
  signal: AbortSignal,
): Promise<void> {
  const { chunk, to } = await run.nextChunk(from, end);
  // Lets other work run first, so that a poll waits for one chunk at most. Several chunks may be ready at once.
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
  // Moves the cursor over records missing from the live lane or the backlog. They were deleted from a full store, and a later gap record in
  // the log reports them.
  if (next.batch.length === 0 && lane !== "context") await moveOver(run, next);
}

/** Advances the lane, and starts the delivery if the batch has records. */
function startSending(run: SenderRun, lane: LaneName, next: LaneBatch): void {
  const { gateway, booth, under_way } = run;
  const records = recordsIn(next);
  const sent = { to: next.to, records, mono: gateway.clock.mono(), rate: gateway.backlog_rate };
  run.sending = afterSending(run.sending, lane, sent);
  if (records === 0) return;
  const done = deliver(run, next).catch((error: unknown) => {
    run.failure ??= error instanceof Error ? error : new Error(String(error));
    booth.state.progress.raise();
  });
  void done.then(under_way.add({ done, bytes: next.chunk?.body.length ?? 0 }));
}

function recordsIn({ batch, chunk, from, to }: LaneBatch): number {
  return chunk === undefined ? batch.length : to - from + 1;
}

/** Sends one batch or chunk, and handles the outcome. */
async function deliver(run: SenderRun, next: LaneBatch): Promise<void> {
  const { booth } = run;
  const outcome = await send(run, next);
  const { from, to, chunk } = next;
  const records = recordsIn(next);
  const range = { from, to, records, is_chunk: chunk !== undefined, sendable_seq: run.reach().sendable_seq };
  const { sending, verdict } = verdictOf(run.sending, range, outcome);
  run.sending = sending;
  switch (verdict.kind) {
    case "acked":
      // Lets the next batch have a few more records if a batch of the largest known size was accepted.
      if (run.fits !== null && next.batch.length >= run.fits) run.fits += Math.ceil(run.fits / 8);
      if (records > verdict.refused.length) {
        booth.delivery.refusals = 0;
        run.proven();
      }
      return settle(run, next, verdict.refused);
    case "by_record":
      booth.state.progress.raise();
      return;
    case "halve":
      if (outcome.kind === "too_long") run.fits = Math.ceil(next.batch.length / 2);
      return deliverHalves(run, next);
    case "refused":
      return keepRefused(run, [verdict.refused]);
    case "conflict":
      return handleConflict(run, next, verdict);
    case "end":
      booth.delivery.silence = sending.silence;
      if (verdict.refused !== null) await keepRefused(run, [verdict.refused]);
      throw new ServiceLinkError("no_ack", verdict.reason);
  }
}

async function send(run: SenderRun, { batch, chunk }: LaneBatch): Promise<BatchOutcome> {
  const { gateway, booth, session, stream, generation } = run;
  if (chunk === undefined) return session.send(stream, generation, batch);
  const outcome = await session.sendChunk(stream, generation, chunk);
  // Counts only silence or a rejection as a failed chunk, because a broken connection says nothing about chunks.
  const isFailed = outcome.kind === "keep" ? outcome.is_silent === true : outcome.kind !== "acked";
  if (isFailed) booth.delivery.chunks_at = gateway.clock.mono() + WITHOUT_CHUNKS_MS;
  return outcome;
}

/** Removes the acked records of a range from the waiting records, and moves the cursor. `rejected`: records that the service rejected. */
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
  if (rejected.length > 0) await keepRefused(run, rejected);
  await run.moveCursor();
}

/** Keeps rejected records for the next offer. Records that the service has refused for a day are set aside and count as acked. */
async function keepRefused(run: SenderRun, records: readonly RefusedRecord[]): Promise<void> {
  const { gateway, booth } = run;
  const { delivery } = booth;
  const { row } = booth.state.binding;
  // Notes whether the binding is ending, because the gateway then can't go on offering records for a day.
  const isEnding = row.leaving !== null || row.state === "suspended";
  const now = { mono: gateway.clock.mono(), at: gateway.clock.wall(), isEnding };
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
    // Leaves the other waiting records to the next offer, so that new records are sent now.
    delivery.retried_to = records.at(-1)?.seq ?? 0;
    run.sending = passing(run.sending, [...delivery.waiting.keys()]);
  }
  if (aside.length === 0) return;
  await setAside(gateway, booth, aside);
  for (const { seq } of aside) await moveOver(run, { from: seq, to: seq });
}

async function setAside(
  gateway: Pick<SentLog["gateway"], "store" | "log">,
  booth: DeliveredBooth,
  records: readonly RefusedRecord[],
): Promise<void> {
  const refusals = records.map(({ seq, reason, cause }) => ({
    seq,
    reason: render(reason),
    declare: cause !== "named",
  }));
  booth.delivery.refused = await gateway.store.setAside(booth.state.log.reach.stream, refusals);
  saySetAside(gateway, booth, refusals);
}

/** Sets aside the waiting records of a booth that no longer takes part in sessions, so that its log counts as delivered. */
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
  noteAcked(gateway, booth, (await gateway.store.ack(booth.state.log.reach.stream, acked_seq)).acked_seq);
}

/** Counts a range as acked, because it will never be sent. */
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

/**
 * Pauses delivery after a conflict: the service claims to hold another record under the same seq. If the service claims the same conflict
 * for long enough, the log continues under a new name.
 */
async function handleConflict(
  run: SenderRun,
  { from }: LaneBatch,
  { seq, held_seq, refused }: Extract<SendingVerdict, { kind: "conflict" }>,
): Promise<void> {
  const { gateway, booth } = run;
  const { delivery, state } = booth;
  const now = { mono: gateway.clock.mono(), at: gateway.clock.wall() };
  const before = delivery.conflict;
  const named = conflictAfter(before, { seq, held_seq }, now.mono);
  delivery.conflict = named;
  await settle(run, { from, to: seq - 1 }, refused);
  const due_at = newNameAt(named, state.binding.row.stream, now);
  const seqs = heldSeqs(named);
  if (due_at > now.at || run.reach().acked_seq !== seq - 1) {
    rest(run);
    if (before?.seq !== seq) sayConflict(gateway, booth, { seqs, due_at });
    return;
  }
  delivery.conflict = null;
  await gateway.rename(booth, seq, { at: now.at, seqs });
  sayForked(gateway, booth, { seqs, at: now.at });
  throw new ServiceLinkError("closed", message("log.other_records", { seq }));
}

/** Maximum number of records read from the store at a time. A larger read would delay a poll. */
const READ_LIMIT = 1_000;

/** The next part of a lane. */
interface LaneBatch {
  /** The records; empty if the lane has no records in this range. */
  readonly batch: readonly Placed[];
  /** The chunk, which is sent in its stored form; `batch` is then empty. */
  readonly chunk?: LogChunk;
  /** The sequence range that this part covers. In the live lane and the backlog, missing seqs were deleted from a full store. */
  readonly from: Seq;
  readonly to: Seq;
}

/** Reads the batch of a lane after `after`, up to `end`, with at most `most` records; null: as many as fit. */
type LaneReader = (after: Seq, end: Seq, most?: number | null) => Promise<LaneBatch>;

export function laneReaders(store: DeliveredLog, info: () => LogReach): Readonly<Record<LaneName, LaneReader>> {
  return {
    context: async (after, end, most) => {
      const { records, looked_to } = await store.contextRecords(info().stream, after + 1, end);
      const [cut = []] = cutBatches(records);
      const batch = cut.slice(0, most ?? cut.length);
      return { batch, from: batch[0]?.seq ?? after + 1, to: batch.at(-1)?.seq ?? looked_to };
    },
    live: logReader(store, info),
    backlog: logReader(store, info),
  };
}

/** Returns a function that returns the next part of the backlog in its stored form. It caches parts that were read ahead. */
function chunkReader(store: DeliveredLog, info: () => LogReach): (from: Seq, end: Seq) => Promise<NextChunk> {
  let ready: readonly NextChunk[] = [];
  let readyFrom: Seq = 0;
  return async (from, end) => {
    const [known, ...others] = readyFrom === from ? ready : [];
    const isKnown = known !== undefined && known.to <= end;
    const [next, ...rest] = isKnown ? [known, ...others] : await store.chunks(info().stream, from, end);
    ready = rest;
    readyFrom = next.to + 1;
    return next;
  };
}

/**
 * Returns a reader of all records of a log. The reader rejects if the store lacks records that it should have. A full store may have
 * deleted a whole range, except for records that can't be sent yet. Those wait for a clock sync or belong to the log's next name. The batch
 * up to `end` is then empty.
 */
function logReader(store: DeliveredLog, info: () => LogReach): LaneReader {
  /** Batches read ahead. `readyAfter` is the seq before the first of them. */
  let ready: (readonly Placed[])[] = [];
  let readyAfter: Seq | null = null;
  return async (after, end, most = null) => {
    if (readyAfter !== after || most !== null) ready = [];
    let isFound = ready.length > 0;
    // Reads more if there are fewer than two batches, because the last batch may still grow.
    let isMore = ready.length < 2;
    while (isMore) {
      const records = ready.flat();
      const more = await store.read(info().stream, (records.at(-1)?.seq ?? after) + 1, most ?? READ_LIMIT);
      isFound ||= more.length > 0;
      ready = [...cutBatches([...records, ...more])];
      isMore = most === null && ready.length < 2 && more.length === READ_LIMIT && (more.at(-1)?.seq ?? end) < end;
    }
    const [first = [], ...others] = ready;
    const batch = first.filter(({ seq }) => seq <= end);
    ready = batch.length < first.length ? [first.slice(batch.length), ...others] : others;
    if (batch.length === 0 && !isFound && info().oldest_seq <= end)
      throw new Error(`the store has no record from seq ${after + 1} on, though it should`);
    const to = batch.at(-1)?.seq ?? end;
    readyAfter = most === null ? to : null;
    return { batch, from: after + 1, to };
  };
}
