import type { Placed } from "../core/types/record.ts";
import type { BatchOutcome, Clock, ServiceTime } from "../ports.ts";
import { hashOf } from "../wire/hash.ts";
import { ackShape, type AckWire } from "../wire/telemetry.ts";

/** The service acks after its own commit; without an ack in this time the batch is sent again in a new session. */
const ACK_DEADLINE_MS = 15_000;

/** A batch under way. */
export interface Waiting {
  readonly stream: string;
  readonly s0: number;
  readonly n: number;
  readonly records: readonly Placed[];
  /** Mono at which it was handed to the broker. */
  readonly sent: number;
  readonly settle: (outcome: BatchOutcome) => void;
}

export interface Exchange {
  readonly waiting: Set<Waiting>;
  readonly stream: string;
  readonly records: readonly Placed[];
  readonly sent: number;
  readonly publish: () => Promise<void>;
}

/** Publishes and waits for the ack that names this very batch. */
export function exchange({ waiting, stream, records, sent, publish }: Exchange): Promise<BatchOutcome> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => entry.settle({ kind: "keep", reason: "no ack in time" }), ACK_DEADLINE_MS);
    const entry: Waiting = {
      stream,
      s0: records[0]?.seq ?? 0,
      n: records.length,
      records,
      sent,
      settle(outcome) {
        clearTimeout(timer);
        waiting.delete(entry);
        resolve(outcome);
      },
    };
    waiting.add(entry);
    publish().catch((error: unknown) =>
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
  for (const entry of waiting) {
    if (ack.error !== "" && (ack.st === entry.stream || ack.st === "")) {
      entry.settle({ kind: "keep", reason: `the service took nothing: ${ack.error}` });
    } else if (entry.stream === ack.st && entry.s0 === ack.s0 && entry.n === ack.n) {
      if (ack.server_time !== null) {
        parts.service_time.heard({ time: ack.server_time, sent: entry.sent, received: parts.clock.mono() });
      }
      entry.settle(outcomeOf(entry, ack));
    }
  }
}

function outcomeOf(entry: Waiting, ack: AckWire): BatchOutcome {
  if (ack.conflict !== null) return { kind: "conflict", seq: ack.conflict };
  const rejected = new Set(ack.reject.map(({ seq }) => seq));
  const stored = entry.records.filter(({ seq }) => !rejected.has(seq));
  return ack.hash === hashOf(stored)
    ? { kind: "acked", rejected: ack.reject, held_seq: ack.acked_seq }
    : { kind: "keep", reason: "the service's ack has another hash than what was sent" };
}
