import { jsonOf } from "../../domain/json.ts";
import { hashOf } from "../../contract/hash.ts";
import { ackShape, type AckWire } from "../../contract/telemetry.ts";
import type { LogChunk, Placed } from "../../domain/record.ts";
import type { Milliseconds, Seq } from "../../domain/units.ts";
import type { BatchOutcome, Rejection } from "../port.ts";
import type { MqttSetup } from "./connect.ts";
import type { Connected } from "./dial.ts";
import { type BrokerMessage, publishError, RefusedMessage, withinLimits } from "./publish.ts";
import type { ServiceLinkError } from "../../domain/link-error.ts";
import { say } from "../../domain/sentences.ts";
import { createWaiters, type Waiters } from "../../domain/waiters.ts";
import { errorMessage } from "../../domain/error-message.ts";

/** A batch or a chunk under way. */
export interface Waiting {
  /** What an ack says of it; null: nothing. `alone`: nothing else is under way, so that an ack which names none can be meant for it only. */
  readonly outcome: (ack: AckWire, alone: boolean) => AckedBatch | null;
  /** Mono at which it was handed to the broker. */
  readonly sent: Milliseconds;
  readonly settle: (outcome: AckedBatch) => void;
}

interface SentBatch {
  readonly stream: string;
  readonly records: readonly Placed[];
  /** Of all its records, where it is known already. */
  readonly hash?: string;
}

/** What an ack says of a batch. `unclear`: something was refused, and it may or may not be this one. */
export type AckedBatch = BatchOutcome | { readonly kind: "unclear"; readonly reason: string };

/** What is wrong with a batch itself: sent again as it is it would be refused again. */
const CONTENT_REFUSED = /^(malformed|too_large)/;
/** The service's limit for one message says nothing about the records in it. */
const TOO_LARGE = /^too_large/;

/** What the ack means for this batch. Pure. */
export function outcomeOf(ack: AckWire, batch: SentBatch, alone: boolean): AckedBatch | null {
  if ("chunk" in ack) return null;
  if (ack.error !== "") return refusalOf(ack, batch, alone);
  const { records } = batch;
  const isNamed = ack.st === batch.stream && ack.s0 === firstSeq(batch) && ack.n === records.length;
  if (!isNamed) return null;
  const isWithin = ack.conflict !== null && records.some(({ seq }) => seq === ack.conflict);
  const conflict = isWithin ? ack.conflict : null;
  const rejected = rejectedOf(ack, records.length);
  // From a conflict on nothing of the batch was stored.
  const looked = conflict === null ? records : records.filter(({ seq }) => seq < conflict);
  const stored = looked.filter(({ seq }) => !rejected.has(seq));
  const isAll = stored.length === records.length;
  if (ack.hash !== (isAll ? (batch.hash ?? hashOf(records)) : hashOf(stored)))
    return { kind: "keep", reason: "the service's ack has another hash than what was sent" };
  const proof = {
    rejected: looked.flatMap(({ seq }) => rejected.get(seq) ?? []),
    is_proven: stored.length > 0,
    held_seq: heldSeq(ack),
  };
  return conflict === null ? { kind: "acked", ...proof } : { kind: "conflict", ...proof, seq: conflict };
}

/** A list longer than what was sent makes no sense, and counts as absent. */
function rejectedOf({ reject }: AckWire, records: number): ReadonlyMap<Seq, Rejection> {
  return new Map(reject.length > records ? [] : reject.map((entry) => [entry.seq, entry]));
}

function heldSeq({ newest_seq, acked_seq }: AckWire): Seq {
  return newest_seq ?? acked_seq ?? 0;
}

/** A chunk under way, by what its ack must name. */
interface SentChunk extends Pick<LogChunk, "from" | "to" | "first_seq"> {
  readonly stream: string;
  /** Of the whole message. */
  readonly hash: string;
}

/**
 * What the ack means for this chunk. With a conflict or an error, or where it names another range, nothing of it counts as stored: the hash alone says
 * which message is meant, not what became of it. Pure.
 */
export function chunkOutcomeOf(ack: AckWire, { stream, hash, from, to, first_seq }: SentChunk): AckedBatch | null {
  if (!("chunk" in ack) || ack.chunk !== hash) return null;
  const { error, conflict } = ack;
  if (error !== "") return { kind: "refused", reason: error };
  const held_seq = heldSeq(ack);
  if (conflict !== null) return { kind: "conflict", rejected: [], is_proven: false, held_seq, seq: conflict };
  const records = to - from + 1;
  if (ack.st !== stream || ack.s0 !== first_seq || ack.n !== records)
    return { kind: "refused", reason: "the service's ack of a chunk names another range" };
  const rejected = [...rejectedOf(ack, records).values()].filter(({ seq }) => seq >= from && seq <= to);
  return { kind: "acked", rejected, is_proven: rejected.length < records, held_seq };
}

function refusalOf(ack: Exclude<AckWire, { chunk: string }>, batch: SentBatch, alone: boolean): AckedBatch | null {
  const isOfStream = ack.st === batch.stream;
  if (!isOfStream && ack.st !== "") return null;
  const reason = say("service.took_nothing", { reason: ack.error });
  if (!CONTENT_REFUSED.test(ack.error)) return { kind: "keep", reason };
  const refusal = { kind: TOO_LARGE.test(ack.error) ? "too_long" : "refused", reason: ack.error } as const;
  const namesNone = !isOfStream || ack.s0 === 0;
  if (namesNone) return alone ? refusal : { kind: "unclear", reason };
  return ack.s0 === firstSeq(batch) ? refusal : null;
}

function firstSeq({ records }: SentBatch): number {
  return records[0]?.seq ?? 0;
}

interface Exchange extends Omit<Waiting, "settle"> {
  readonly waiting: Waiters<Waiting>;
  /** The service acks after its own commit; without an ack by then the batch is sent again in a new session. Returns what calls it off. */
  readonly atDeadline: (late: () => void) => () => void;
  /** Resolves with the broker's own refusal of the batch, or null. */
  readonly publish: () => Promise<AckedBatch | null>;
}

/** Publishes and waits for the ack that names this very batch, or chunk. */
export function exchange({ waiting, atDeadline, publish, ...sent }: Exchange): Promise<AckedBatch> {
  return new Promise((resolve) => {
    let confirmed = false;
    const late = (): void => entry.settle({ kind: "keep", reason: say("service.no_ack"), is_silent: confirmed });
    const cancel = atDeadline(late);
    const entry: Waiting = {
      ...sent,
      settle(outcome) {
        cancel();
        leave();
        resolve(outcome);
      },
    };
    const leave = waiting.add(entry);
    publish().then(
      (refusal) => {
        if (refusal === null) confirmed = true;
        else entry.settle(refusal);
      },
      (error: unknown) => entry.settle({ kind: "keep", reason: errorMessage(error) }),
    );
  });
}

/** null: something under our ack topic that is none acks nothing; the batch's deadline answers it. */
export function parseAck(payload: Buffer): AckWire | null {
  return ackShape.safeParse(jsonOf(payload.toString("utf8"))).data ?? null;
}

/** What waits for its ack, how much the service lets be under way, and what it takes. */
export interface Acking {
  readonly waiting: Waiters<Waiting>;
  window: number;
  takes: readonly string[];
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
  { clock, service_time }: Pick<MqttSetup, "clock" | "service_time">,
  acking: Acking,
  payload: Buffer,
): void {
  const ack = parseAck(payload);
  if (ack === null) return;
  const alone = acking.waiting.size === 1;
  for (const entry of acking.waiting.all()) {
    const outcome = entry.outcome(ack, alone);
    if (outcome === null) continue;
    if ((outcome.kind === "acked" || outcome.kind === "conflict") && outcome.is_proven) {
      acking.window = windowAfter(acking.window, ack.window);
      acking.takes = ack.takes;
      if (ack.server_time !== null)
        service_time.heard({ way: "ack", time: ack.server_time, sent: entry.sent, received: clock.mono() });
    }
    entry.settle(outcome);
  }
}

/** A publish that the broker doesn't confirm: the session is dead, whatever TCP says. */
const PUBLISH_DEADLINE_MS = 15_000;

/**
 * What is to be told of a session's end. A promise of the end that each publish were raced against would keep something of
 * all of them for as long as the session lasts.
 */
export type Endings = Waiters<(reason: ServiceLinkError) => void>;

/**
 * QoS 1. Resolves with the broker's PUBACK; rejects with what it says instead, after the deadline, or with the session's end,
 * after which mqtt.js never settles anything.
 */
export function publishOnce(
  connected: Connected,
  message: Pick<BrokerMessage, "topic" | "payload" | "retain">,
  endings: Endings,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { topic, payload, qos, retain } = withinLimits({ ...message, qos: 1 }, connected);
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      leave();
      settle();
    };
    const late = (): void => finish(() => reject(new Error("the broker doesn't confirm")));
    const timer = setTimeout(late, PUBLISH_DEADLINE_MS);
    const end = (reason: ServiceLinkError): void => finish(() => reject(reason));
    const leave = endings.add(end);
    const bytes = typeof payload === "string" ? payload : Buffer.from(payload);
    connected.client.publish(topic, bytes, { qos, retain }, (error) =>
      finish(error ? () => reject(publishError(error, topic)) : resolve),
    );
  });
}

/** Reason codes of a PUBACK (MQTT 5, 3.4.2.1): packet too large, payload format invalid. */
const PACKET_TOO_LARGE = 0x95;
const PAYLOAD_INVALID = 0x99;

/** What a publish that failed means for the batch. A limit of the way is no verdict on its records. */
export function brokerRefusal(error: unknown): Extract<BatchOutcome, { kind: "refused" | "too_long" | "keep" }> {
  const reason = errorMessage(error);
  const code = codeIn(error) ?? (error instanceof Error ? codeIn(error.cause) : null);
  const isTooLong = error instanceof RefusedMessage && error.refusal.kind === "too_long";
  if (isTooLong || code === PACKET_TOO_LARGE) return { kind: "too_long", reason };
  return { kind: code === PAYLOAD_INVALID ? "refused" : "keep", reason };
}

function codeIn(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

/** For those who act together with others, and those who need everybody else to have finished. */
export function readWriteLock() {
  const under_way = createWaiters<Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    async together<T>(act: () => Promise<T>): Promise<T> {
      await last;
      const acting = act();
      const done = Promise.allSettled([acting]);
      void done.then(under_way.add(done));
      return acting;
    },
    alone<T>(act: () => Promise<T>): Promise<T> {
      const acting = last.then(() => Promise.all(under_way.all())).then(act);
      last = acting.catch(() => undefined);
      return acting;
    },
  };
}
