import { CommandFailure, mergeRanges, type SeqRange } from "../domain/command.ts";
import type { Placed } from "../domain/record.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { Store } from "../store/port.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import type { LinkSession, Resend, ResendOrder } from "./port.ts";
import { cutBatches } from "./rules/lanes.ts";
import { REST_MS } from "./rules/belief.ts";

/** Records read from the store at a time. */
const READ_LIMIT = 1_000;

interface Resending extends Pick<DeliveryGateway, "clock" | "store" | "news" | "backlog_rate"> {
  readonly session: () => LinkSession | null;
}

/**
 * Sends ranges of a booth's stream again, one batch at a time beside the live lane; the cursor has no part in it. What a lost
 * session leaves undone goes on in the next. Throws a CommandFailure where the ranges aren't this stream's to send.
 */
export async function resend(resending: Resending, order: ResendOrder, signal: AbortSignal): ReturnType<Resend> {
  const limits = limitsOf(order);
  const sums = order.wanted.map((ranges) => ({ records: 0, batches: 0, missing: lengthOf(ranges), refused: 0 }));
  for (const range of mergeRanges(order.wanted.flat())) {
    const within = { from: Math.max(range.from, limits.from), to: Math.min(range.to, limits.to) };
    for await (const batch of batchesOf(resending.store, order.state.log.reach.stream, within)) {
      const isRefused = await send(resending, { order, batch }, signal);
      for (const [index, sum] of sums.entries()) {
        const records = lengthOf(clipped(order.wanted[index] ?? [], batch));
        if (records === 0) continue;
        sum.records += records;
        sum.missing -= records;
        sum.batches += 1;
        if (isRefused) sum.refused += 1;
      }
    }
  }
  return sums;
}

/** Records in ranges that don't overlap. */
function lengthOf(ranges: readonly SeqRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + Math.max(0, to - from + 1), 0);
}

/** The parts of the ranges that lie within a batch, whose records are consecutive. */
function clipped(ranges: readonly SeqRange[], batch: readonly Placed[]): readonly SeqRange[] {
  const first = batch[0]?.seq ?? 0;
  const last = batch.at(-1)?.seq ?? 0;
  return ranges.map(({ from, to }) => ({ from: Math.max(from, first), to: Math.min(to, last) }));
}

/** Under its present name a log may go to its end, under the one before up to where that one ended. */
function limitsOf({ state, stream }: ResendOrder): SeqRange {
  const { reach } = state.log;
  const label = labelOf(state.binding.row, reach);
  if (stream === label.stream) return { from: label.oldest_seq, to: reach.sendable_seq };
  if (stream !== label.predecessor?.stream_id) throw new CommandFailure(`${stream} isn't this booth's stream`);
  return { from: reach.oldest_seq, to: label.predecessor.last_seq };
}

/** What the store has of a range, cut to go. */
async function* batchesOf(store: Pick<Store, "read">, stream: StreamId, { from, to }: SeqRange) {
  let next: Seq = from;
  while (next <= to) {
    const records = (await store.read(stream, next, READ_LIMIT)).filter(({ seq }) => seq <= to);
    const last = records.at(-1);
    if (last === undefined) return;
    yield* cutBatches(records);
    next = last.seq + 1;
  }
}

/** Whether the service doesn't take it. */
async function send(
  resending: Resending,
  { order, batch }: { readonly order: ResendOrder; readonly batch: readonly Placed[] },
  signal: AbortSignal,
): Promise<boolean> {
  const { clock, news, backlog_rate } = resending;
  const { delivery, binding } = order.state;
  for (;;) {
    signal.throwIfAborted();
    const session = delivery.in_session ? resending.session() : null;
    if (session === null) {
      await news.wait(signal);
      continue;
    }
    const outcome = await session.send(order.stream, binding.row.generation ?? 0, batch);
    if (outcome.kind === "keep") {
      // Its session is over, or about to be: the next one raises it.
      await news.wait(signal, 1_000);
      continue;
    }
    if (outcome.kind === "too_long" && batch.length > 1) {
      const refused = [];
      for (const half of halvesOf(batch)) refused.push(await send(resending, { order, batch: half }, signal));
      return refused.includes(true);
    }
    if (backlog_rate !== null) await clock.sleep(Math.ceil((batch.length / backlog_rate) * 1000), signal);
    return outcome.kind !== "acked";
  }
}

/** A service that was out of order is right again within hours; what it refuses for longer is poison. */
const OFFERED_FOR_MS: Milliseconds = 24 * 3_600_000;
/** Tries in a row of which nothing is taken that end a round: poison costs a little, however much of it lies here. */
const MOST_REFUSED = 20;
/** So far apart two records still go together, with those between, which the service has and knows again: a batch costs as much as these. */
const NEAR = 100;

interface Offering extends Pick<DeliveryGateway, "clock" | "log" | "store"> {
  readonly session: Pick<LinkSession, "send">;
  readonly booth: DeliveredBooth;
}

/** Offers what was refused again, every few minutes for a day: a service may refuse for a while what it takes afterwards. */
export async function secondOffers(offering: Offering, signal: AbortSignal): Promise<never> {
  const { clock, booth } = offering;
  const { delivery } = booth;
  delivery.second_offer ??= { due: clock.mono() + REST_MS, up_to: 0 };
  for (;;) {
    signal.throwIfAborted();
    const began = clock.mono();
    const { due, up_to } = delivery.second_offer;
    if (due > began) await clock.sleep(due - began, signal);
    else {
      const round = await offerAll(offering, up_to, signal);
      // Where it takes something it may take more: each such round leaves less to offer.
      const rest_ms = round.taken.length > 0 ? 0 : REST_MS;
      delivery.second_offer = { due: began + rest_ms, up_to: isOver(round) ? round.up_to : 0 };
    }
  }
}

/** How a round goes. */
interface Round {
  readonly aside: ReadonlySet<Seq>;
  /** What is still to be tried, in this order. */
  readonly queue: (readonly Seq[])[];
  readonly taken: Seq[];
  /** Tries in a row of which nothing was taken. */
  refused: number;
  /** How many are tried at a time: twice as many after each try in which the service named those it refuses, for so it can't hide others. */
  records: number;
  /** The last one that was tried. */
  up_to: Seq;
}

function isOver({ refused }: Round): boolean {
  return refused >= MOST_REFUSED;
}

/** One round, from behind `after` on. */
async function offerAll(offering: Offering, after: Seq, signal: AbortSignal): Promise<Round> {
  const { clock, store, booth } = offering;
  const { reach } = booth.state.log;
  const { oldest_seq } = labelOf(booth.state.binding.row, reach);
  const ranges = await store.asideSince(reach.stream, clock.wall() - OFFERED_FOR_MS);
  const all = ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  // What went under another name is another stream's at the service.
  const seqs = all.filter((seq) => seq >= oldest_seq);
  const queue = [seqs.filter((seq) => seq > after), seqs.filter((seq) => seq <= after)];
  const round: Round = { aside: new Set(seqs), queue, taken: [], refused: 0, records: 1, up_to: 0 };
  try {
    for (let next = queue.shift(); next !== undefined && !isOver(round); next = queue.shift()) {
      signal.throwIfAborted();
      await offerSome(offering, next, round);
    }
  } finally {
    if (round.taken.length > 0) await tellAcked(offering, round.taken);
  }
  return round;
}

async function tellAcked({ store, booth, log }: Offering, taken: readonly Seq[]): Promise<void> {
  const { state, delivery } = booth;
  delivery.refused = await store.takenAfterAll(state.log.reach.stream, taken);
  const text = `${state.booth}: the service has taken ${taken.length} records that it had refused`;
  log.info({ event: "taken_after_all", booth: state.booth, records: taken.length }, text);
  state.news.raise();
}

/**
 * The first ones go ahead of the others, which go only where the service takes one of those; else the last ones do. What it may still
 * take is left in halves: next, where it took something, for then the border to what it refuses lies there; else behind all others,
 * so that tries lie spread over all that is aside.
 */
async function offerSome(offering: Offering, seqs: readonly Seq[], round: Round): Promise<void> {
  const before = round.taken.length;
  const first = round.records;
  const unclear = [...(await offer(offering, seqs.slice(0, first), round))];
  const last = round.taken.length > before ? first : Math.max(first, seqs.length - round.records);
  unclear.push(...(await offer(offering, seqs.slice(last), round)));
  const left = [seqs.slice(first, last), ...unclear].flatMap(halvesOf);
  if (round.taken.length > before) round.queue.unshift(...left);
  else round.queue.push(...left);
}

function halvesOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)].filter((half) => half.length > 0);
}

/** Returns those that were refused as a whole, though one of them may be to blame. */
async function offer(offering: Offering, seqs: readonly Seq[], round: Round): Promise<readonly (readonly Seq[])[]> {
  const { session, store } = offering;
  const { log, binding } = offering.booth.state;
  const { stream } = labelOf(binding.row, log.reach);
  const unclear: (readonly Seq[])[] = [];
  for (const stretch of stretchesOf(seqs)) {
    for await (const batch of batchesOf(store, log.reach.stream, stretch)) {
      const wanted = batch.map(({ seq }) => seq).filter((seq) => round.aside.has(seq));
      if (isOver(round) || wanted.length === 0) continue;
      const outcome = await session.send(stream, binding.row.generation ?? 0, batch);
      const isNamed = outcome.kind === "acked";
      const rejected = new Set(isNamed ? outcome.rejected.map(({ seq }) => seq) : []);
      const taken = isNamed ? wanted.filter((seq) => !rejected.has(seq)) : [];
      round.taken.push(...taken);
      round.refused = taken.length > 0 ? 0 : round.refused + 1;
      round.records = isNamed ? 2 * round.records : 1;
      round.up_to = wanted.at(-1) ?? round.up_to;
      if ((outcome.kind === "refused" || outcome.kind === "too_long") && wanted.length > 1) unclear.push(wanted);
    }
  }
  return unclear;
}

function stretchesOf(seqs: readonly Seq[]): readonly SeqRange[] {
  const stretches: { from: Seq; to: Seq }[] = [];
  for (const seq of seqs) {
    const last = stretches.at(-1);
    if (last !== undefined && seq - last.to <= NEAR) last.to = seq;
    else stretches.push({ from: seq, to: seq });
  }
  return stretches;
}
