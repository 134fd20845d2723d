import { REST_MS } from "./rules/refusing.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { SeqRange } from "../domain/command.ts";
import type { Milliseconds, Seq } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { LinkSession } from "./port.ts";
import type { Store } from "../store/port.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import { batchesOf } from "./resend.ts";

/** A service that was out of order is right again within hours; what it refuses for longer is poison. */
const OFFERED_FOR_MS: Milliseconds = 24 * 3_600_000;
/** Tries in a row of which nothing is taken that end a turn: poison costs a little, however much of it lies here. */
const MOST_REFUSED = 20;
/** So far apart two records still go together, with those between, which the service has and knows again: a batch costs as much as these. */
const NEAR = 100;

interface OfferParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly session: Pick<LinkSession, "send">;
  readonly board: BoothState;
}

/** Offers what was refused again, every few minutes for a day: a service may refuse for a while what it takes afterwards. */
export async function secondOffers(parts: OfferParts, signal: AbortSignal): Promise<never> {
  const { clock, board } = parts;
  board.second_offer ??= { due: clock.mono() + REST_MS, up_to: 0 };
  for (;;) {
    signal.throwIfAborted();
    const began = clock.mono();
    const { due, up_to } = board.second_offer;
    if (due > began) await clock.sleep(due - began, signal);
    else {
      const turn = await offerAll(parts, up_to, signal);
      // Where it takes something it may take more: each such turn leaves less to offer.
      const rest_ms = turn.taken.length > 0 ? 0 : REST_MS;
      board.second_offer = { due: began + rest_ms, up_to: isOver(turn) ? turn.up_to : 0 };
    }
  }
}

/** How a turn goes. */
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

/** One turn, from behind `after` on. */
async function offerAll(parts: OfferParts, after: Seq, signal: AbortSignal): Promise<Round> {
  const { clock, store, board } = parts;
  const { oldest_seq } = labelOf(board.row, board.info);
  const ranges = await store.asideSince(board.info.stream, clock.wall() - OFFERED_FOR_MS);
  const all = ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  // What went under another name is another stream's at the service.
  const seqs = all.filter((seq) => seq >= oldest_seq);
  const queue = [seqs.filter((seq) => seq > after), seqs.filter((seq) => seq <= after)];
  const turn: Round = { aside: new Set(seqs), queue, taken: [], refused: 0, records: 1, up_to: 0 };
  try {
    for (let next = queue.shift(); next !== undefined && !isOver(turn); next = queue.shift()) {
      signal.throwIfAborted();
      await offerSome(parts, next, turn);
    }
  } finally {
    if (turn.taken.length > 0) await tellTaken(parts, turn.taken);
  }
  return turn;
}

async function tellTaken({ store, board, log }: OfferParts, taken: readonly Seq[]): Promise<void> {
  board.refused = await store.takenAfterAll(board.info.stream, taken);
  const text = `${board.booth}: the service has taken ${taken.length.toString()} records that it had refused`;
  log.info({ event: "taken_after_all", booth: board.booth, records: taken.length }, text);
  board.news.ring();
}

/**
 * The first ones go ahead of the others, which go only where the service takes one of those; else the last ones do. What it may still
 * take is left in halves: next, where it took something, for then the border to what it refuses lies there; else behind all others,
 * so that tries lie spread over all that is aside.
 */
async function offerSome(parts: OfferParts, seqs: readonly Seq[], turn: Round): Promise<void> {
  const before = turn.taken.length;
  const first = turn.records;
  const unclear = [...(await offer(parts, seqs.slice(0, first), turn))];
  const last = turn.taken.length > before ? first : Math.max(first, seqs.length - turn.records);
  unclear.push(...(await offer(parts, seqs.slice(last), turn)));
  const left = [seqs.slice(first, last), ...unclear].flatMap(halvesOf);
  if (turn.taken.length > before) turn.queue.unshift(...left);
  else turn.queue.push(...left);
}

function halvesOf(seqs: readonly Seq[]): readonly (readonly Seq[])[] {
  const middle = Math.ceil(seqs.length / 2);
  return [seqs.slice(0, middle), seqs.slice(middle)].filter((half) => half.length > 0);
}

/** Returns those that were refused as a whole, though one of them may be to blame. */
async function offer(parts: OfferParts, seqs: readonly Seq[], turn: Round): Promise<readonly (readonly Seq[])[]> {
  const { board, session, store } = parts;
  const { stream } = labelOf(board.row, board.info);
  const unclear: (readonly Seq[])[] = [];
  for (const stretch of stretchesOf(seqs)) {
    for await (const batch of batchesOf(store, board.info.stream, stretch)) {
      const wanted = batch.map(({ seq }) => seq).filter((seq) => turn.aside.has(seq));
      if (isOver(turn) || wanted.length === 0) continue;
      const outcome = await session.send(stream, board.row.generation ?? 0, batch);
      const isNamed = outcome.kind === "acked";
      const rejected = new Set(isNamed ? outcome.rejected.map(({ seq }) => seq) : []);
      const taken = isNamed ? wanted.filter((seq) => !rejected.has(seq)) : [];
      turn.taken.push(...taken);
      turn.refused = taken.length > 0 ? 0 : turn.refused + 1;
      turn.records = isNamed ? 2 * turn.records : 1;
      turn.up_to = wanted.at(-1) ?? turn.up_to;
      if (outcome.kind === "refused" && wanted.length > 1) unclear.push(wanted);
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
