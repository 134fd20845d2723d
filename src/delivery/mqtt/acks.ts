import type { Placed } from "../../domain/record.ts";
import type { Clock } from "../../domain/machine.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { ackShape, type AckWire } from "../../contract/telemetry.ts";
import { isProven, outcomeOf, type AckedBatch } from "./ack-outcome.ts";

/** A batch under way. */
export interface Waiting {
  readonly stream: string;
  readonly records: readonly Placed[];
  /** Mono at which it was handed to the broker. */
  readonly sent: number;
  readonly settle: (outcome: AckedBatch) => void;
}

export interface Exchange {
  readonly waiting: Set<Waiting>;
  readonly stream: string;
  readonly records: readonly Placed[];
  readonly sent: number;
  /** The service acks after its own commit; without an ack by then the batch is sent again in a new session. Returns what calls it off. */
  readonly atDeadline: (late: () => void) => () => void;
  /** Resolves with the broker's own refusal of the batch, or null. */
  readonly publish: () => Promise<AckedBatch | null>;
}

/** Publishes and waits for the ack that names this very batch. */
export function exchange({ waiting, stream, records, sent, atDeadline, publish }: Exchange): Promise<AckedBatch> {
  return new Promise((resolve) => {
    let confirmed = false;
    const late = (): void => entry.settle({ kind: "keep", reason: "no ack in time", is_silent: confirmed });
    const cancel = atDeadline(late);
    const entry: Waiting = {
      stream,
      records,
      sent,
      settle(outcome) {
        cancel();
        waiting.delete(entry);
        resolve(outcome);
      },
    };
    waiting.add(entry);
    publish().then(
      (refusal) => {
        if (refusal === null) confirmed = true;
        else entry.settle(refusal);
      },
      (error: unknown) =>
        entry.settle({ kind: "keep", reason: error instanceof Error ? error.message : String(error) }),
    );
  });
}

export function parseAck(payload: Buffer): AckWire | null {
  try {
    const parsed = ackShape.safeParse(JSON.parse(payload.toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    // Something that isn't JSON under our ack topic acks nothing; the batch's deadline answers it.
    return null;
  }
}

/** Batches that wait for their acks, and how many the service lets be under way. */
export interface Acking {
  readonly waiting: Set<Waiting>;
  window: number;
}

const MAX_WINDOW = 4;

/** One batch is always let through: only an ack can say that there may be more again. */
export function windowAfter(before: number, said: number | null): number {
  return said === null ? before : Math.min(MAX_WINDOW, Math.max(1, said));
}

/**
 * What came on down/ack. An ack moves only the batch it names, and only where the service stored what was sent; what else it says is
 * heard where the hash proves that it looked at the batch.
 */
export function heardAck(
  parts: { readonly clock: Clock; readonly service_time: ServiceTime },
  acking: Acking,
  payload: Buffer,
): void {
  const ack = parseAck(payload);
  if (ack === null) return;
  const alone = acking.waiting.size === 1;
  for (const entry of [...acking.waiting]) {
    const outcome = outcomeOf(ack, entry, alone);
    if (outcome === null) continue;
    if (isProven(outcome)) {
      acking.window = windowAfter(acking.window, ack.window);
      if (ack.server_time !== null)
        parts.service_time.heard({ way: "ack", time: ack.server_time, sent: entry.sent, received: parts.clock.mono() });
    }
    entry.settle(outcome);
  }
}
