import { cutBatches } from "./rules/batches.ts";
import type { SeqRange } from "../domain/command.ts";
import type { Placed } from "../domain/record.ts";
import type { Seq, StreamId } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { LinkSession } from "./port.ts";
import type { Store } from "../store/port.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { Signal } from "../domain/signal.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import { CommandFailure } from "../provisioning/commands/accepting.ts";

/** Records read from the store at a time. */
const READ_LIMIT = 1_000;

export interface ResendParts {
  readonly clock: Clock;
  readonly store: Store;
  readonly news: Signal;
  /** Records a second at most; null: as fast as the service acks. */
  readonly backlog_rate: number | null;
  readonly session: () => LinkSession | null;
}

export interface Resend {
  readonly board: BoothState;
  readonly stream: StreamId;
  readonly ranges: readonly SeqRange[];
}

export interface Resent {
  readonly records: number;
  readonly batches: number;
  /** Of what was asked for: neither here any more. */
  readonly missing: number;
  /** Batches that the service doesn't take: it keeps other content, or refuses a record for good. */
  readonly refused: number;
}

/**
 * Sends ranges of a booth's stream again, one batch at a time beside the live lane; the cursor has no part in it. What a lost
 * session leaves undone goes on in the next. Throws a CommandFailure where the ranges aren't this stream's to send.
 */
export async function resend(parts: ResendParts, order: Resend, signal: AbortSignal): Promise<Resent> {
  const limits = limitsOf(order);
  let sum: Resent = { records: 0, batches: 0, missing: 0, refused: 0 };
  for (const range of order.ranges) {
    const wanted = range.to - range.from + 1;
    const before = sum.records;
    const within = { from: Math.max(range.from, limits.from), to: Math.min(range.to, limits.to) };
    for await (const batch of batchesOf(parts.store, order.board.info.stream, within)) {
      const isRefused = await send(parts, { ...order, batch }, signal);
      sum = {
        records: sum.records + batch.length,
        batches: sum.batches + 1,
        missing: sum.missing,
        refused: sum.refused + (isRefused ? 1 : 0),
      };
    }
    sum = { ...sum, missing: sum.missing + wanted - (sum.records - before) };
  }
  return sum;
}

/** Under its present name a log may go to its end, under the one before up to where that one ended. */
function limitsOf({ board, stream }: Resend): SeqRange {
  const label = labelOf(board.row, board.info);
  if (stream === label.stream) return { from: label.oldest_seq, to: board.info.sendable_seq };
  if (stream !== label.predecessor?.stream_id) throw new CommandFailure(`${stream} isn't this booth's stream`);
  return { from: board.info.oldest_seq, to: label.predecessor.last_seq };
}

/** What the store has of a range, cut to go. */
export async function* batchesOf(
  store: Pick<Store, "read">,
  stream: StreamId,
  { from, to }: SeqRange,
): AsyncGenerator<readonly Placed[]> {
  let next: Seq = from;
  while (next <= to) {
    const records = (await store.read(stream, next, READ_LIMIT)).filter(({ seq }) => seq <= to);
    const last = records.at(-1);
    if (last === undefined) return;
    yield* cutBatches(records);
    next = last.seq + 1;
  }
}

interface Sending extends Resend {
  readonly batch: readonly Placed[];
}

/** Whether the service doesn't take it. */
async function send(parts: ResendParts, { board, stream, batch }: Sending, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    signal.throwIfAborted();
    const session = board.in_session ? parts.session() : null;
    if (session === null) {
      await parts.news.wait(signal);
      continue;
    }
    const outcome = await session.send(stream, board.row.generation ?? 0, batch);
    if (outcome.kind === "keep") {
      // Its session is over, or about to be: the next one rings.
      await parts.news.wait(signal, 1_000);
      continue;
    }
    if (parts.backlog_rate !== null)
      await parts.clock.sleep(Math.ceil((batch.length / parts.backlog_rate) * 1000), signal);
    return outcome.kind !== "acked";
  }
}
