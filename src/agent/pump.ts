import { cutBatches } from "../core/batches.ts";
import { cursorAt, withAcked } from "../core/cursor.ts";
import { namedParts, partAt, type NamedPart } from "../core/stream-names.ts";
import type { Placed } from "../core/types/record.ts";
import type { BatchOutcome, LinkSession, Logger, Store, StreamInfo } from "../ports.ts";
import type { Bell } from "./bell.ts";

/** Records read from the store at a time: two batches' worth, so that the window can be filled from one read. */
const READ_LIMIT = 1_000;

export interface PumpParts {
  readonly store: Store;
  readonly log: Logger;
  readonly session: LinkSession;
  readonly generation: number;
  /** Rings after each commit. */
  readonly news: Bell;
  readonly info: () => StreamInfo;
  readonly acked: (info: StreamInfo) => void;
}

/**
 * Sends one booth's stream over one session, in seq order, a few batches under way at once. Throws, with the reason, when a
 * batch can't be shown to have arrived: the session is then worth nothing, and all unacked batches go again in the next one.
 */
export async function pump(parts: PumpParts, signal: AbortSignal): Promise<never> {
  const { info, session } = parts;
  let cursor = cursorAt(info().acked_seq);
  let sent: number = cursor.acked_seq;
  const underway = new Set<Promise<void>>();
  const failed: { reason: Error | null } = { reason: null };
  const send = async (batch: readonly Placed[], from: number): Promise<void> => {
    const to = batch.at(-1)?.seq ?? 0;
    const name = partAt(partsOf(info()), batch[0]?.seq ?? 0).name;
    const outcome = await session.send(name, parts.generation, batch);
    takeOutcome(parts, outcome);
    const before = cursor.acked_seq;
    cursor = withAcked(cursor, from, to);
    if (cursor.acked_seq > before) parts.acked(await parts.store.ack(info().stream, cursor.acked_seq));
  };
  for (;;) {
    signal.throwIfAborted();
    if (failed.reason !== null) throw failed.reason;
    if (sent >= info().sendable_seq) {
      await parts.news.wait(signal);
      continue;
    }
    const records = await parts.store.read(info().stream, sent + 1, READ_LIMIT);
    if (records.length === 0)
      throw new Error(`the store has no record from seq ${(sent + 1).toString()} on, though it should`);
    for (const batch of underOneName(info(), records).flatMap((some) => cutBatches(some))) {
      while (underway.size >= session.window()) await Promise.race(underway);
      if (hasFailed(failed)) break;
      // What is missing before it was given up, which a gap record behind declares: the cursor moves over it.
      const from = sent + 1;
      sent = batch.at(-1)?.seq ?? sent;
      const way = send(batch, from).catch((error: unknown) => {
        failed.reason ??= error instanceof Error ? error : new Error(String(error));
        parts.news.ring();
      });
      underway.add(way);
      void way.then(() => underway.delete(way));
    }
  }
}

function partsOf({ stream, names }: StreamInfo): readonly NamedPart[] {
  return namedParts(stream, names ?? []);
}

/** A batch is of one name. */
function underOneName(info: StreamInfo, records: readonly Placed[]): readonly (readonly Placed[])[] {
  const parts = partsOf(info);
  return parts.length === 1 ? [records] : [...Map.groupBy(records, ({ seq }) => partAt(parts, seq)).values()];
}

function takeOutcome(parts: PumpParts, outcome: BatchOutcome): void {
  if (outcome.kind === "keep") throw new Error(outcome.reason);
  if (outcome.kind === "conflict") {
    throw new Error(
      `the service holds another record under seq ${outcome.seq.toString()} of this stream: was an old copy of the store put back?`,
    );
  }
  for (const { seq, reason } of outcome.rejected) {
    parts.log.error(
      { event: "rejected", seq, reason },
      `the service will never take record ${seq.toString()}: ${reason}`,
    );
  }
}

/** Asks anew: sending goes on while this loop waits. */
function hasFailed(failed: { readonly reason: Error | null }): boolean {
  return failed.reason !== null;
}
