import type { Placed } from "../core/types/record.ts";
import type { Clock, ServiceTime } from "../ports.ts";
import { ackShape, type AckWire } from "../wire/telemetry.ts";
import { outcomeOf, type AckedBatch } from "./ack-outcome.ts";

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
  /** The service acks after its own commit; without an ack in this time the batch is sent again in a new session. */
  readonly deadline_ms: number;
  /** Resolves with the broker's own refusal of the batch, or null. */
  readonly publish: () => Promise<AckedBatch | null>;
}

/** Publishes and waits for the ack that names this very batch. */
export function exchange({ waiting, stream, records, sent, deadline_ms, publish }: Exchange): Promise<AckedBatch> {
  return new Promise((resolve) => {
    let confirmed = false;
    const late = (): void => entry.settle({ kind: "keep", reason: "no ack in time", is_silent: confirmed });
    const timer = setTimeout(late, deadline_ms);
    const entry: Waiting = {
      stream,
      records,
      sent,
      settle(outcome) {
        clearTimeout(timer);
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

/** An ack moves only the batch it names, and only where the service stored what was sent. */
export function settle(
  parts: { readonly clock: Clock; readonly service_time: ServiceTime },
  waiting: ReadonlySet<Waiting>,
  ack: AckWire,
): void {
  const alone = waiting.size === 1;
  for (const entry of [...waiting]) {
    const outcome = outcomeOf(ack, entry, alone);
    if (outcome === null) continue;
    if (ack.error === "" && ack.server_time !== null) {
      parts.service_time.heard({ time: ack.server_time, sent: entry.sent, received: parts.clock.mono() });
    }
    entry.settle(outcome);
  }
}
