import { CommandFailure, mergeRanges, type SeqRange } from "../domain/command.ts";
import type { Placed } from "../domain/record.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Seq, StreamId } from "../domain/units.ts";
import type { Store } from "../store/port.ts";
import type { DeliveryGateway } from "./context.ts";
import type { LinkSession, Resend, ResendOrder } from "./port.ts";
import { cutBatches } from "./rules/sending.ts";

/** Maximum number of records read from the store at a time. */
const READ_LIMIT = 1_000;

interface Resending extends Pick<DeliveryGateway, "clock" | "store" | "news" | "backlog_rate"> {
  readonly session: () => LinkSession | null;
}

/**
 * Sends ranges of a booth's log again, one batch at a time. The session's normal sending and its cursor aren't affected. If the session is
 * lost, the resend continues in the next session. Throws a CommandFailure if the log isn't this booth's.
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
        order.progress?.(index, records);
      }
    }
  }
  return sums;
}

/** Returns the number of records in ranges that don't overlap. */
function lengthOf(ranges: readonly SeqRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + Math.max(0, to - from + 1), 0);
}

/** Returns the parts of the ranges within a batch, whose records are consecutive. */
function clipped(ranges: readonly SeqRange[], batch: readonly Placed[]): readonly SeqRange[] {
  const first = batch[0]?.seq ?? 0;
  const last = batch.at(-1)?.seq ?? 0;
  return ranges.map(({ from, to }) => ({ from: Math.max(from, first), to: Math.min(to, last) }));
}

/**
 * Returns the range that may be resent. Under the log's present name it reaches to the log's end; under the previous name, to the end of
 * that name.
 */
function limitsOf({ state, stream }: ResendOrder): SeqRange {
  const { reach } = state.log;
  const label = labelOf(state.binding.row, reach);
  if (stream === label.stream) return { from: label.oldest_seq, to: reach.sendable_seq };
  if (stream !== label.predecessor?.stream_id) throw new CommandFailure(`${stream} isn't this booth's stream`);
  return { from: reach.oldest_seq, to: label.predecessor.last_seq };
}

/** Yields the stored records of a range as batches. */
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

/** Sends a batch until it has an outcome. Returns whether the service refused the batch or a part of it. */
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
      // Waits for the next session, which raises the signal, because the present session is ending.
      await news.wait(signal, 1_000);
      continue;
    }
    if (outcome.kind === "too_long" && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      const isRefused = await send(resending, { order, batch: batch.slice(0, middle) }, signal);
      return (await send(resending, { order, batch: batch.slice(middle) }, signal)) || isRefused;
    }
    if (backlog_rate !== null) await clock.sleep(Math.ceil((batch.length / backlog_rate) * 1000), signal);
    return outcome.kind !== "acked";
  }
}
