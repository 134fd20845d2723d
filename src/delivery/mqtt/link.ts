import { message, type Text } from "../../domain/message.ts";
import { randomUUID } from "node:crypto";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, deflateRaw, deflateRawSync, gzip, gzipSync, zstdCompress, zstdCompressSync } from "node:zlib";
import { chunkMessage, factLines } from "../../contract/chunk.ts";
import { parseCommand, upMessageOf } from "../../contract/commands.ts";
import { hashOf, recordHash, sha256 } from "../../contract/hash.ts";
import { ackShape, type AckWire, batchOf, heartbeatText, helloText, TAKES, TOPICS } from "../../contract/telemetry.ts";
import type { HeardCommand, UpMessage } from "../../domain/command.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { jsonOf } from "../../domain/json.ts";
import { ServiceLinkError } from "../../domain/link-error.ts";
import type { LogChunk, Placed } from "../../domain/record.ts";
import type { KnownCertificate } from "../../domain/status.ts";
import type { Milliseconds, Seq } from "../../domain/units.ts";
import { createWaiters, type Waiters } from "../../domain/waiters.ts";
import { limitConcurrency } from "../line.ts";
import type { BatchOutcome, LinkAccount, LinkSession, Rejection, ServiceLink } from "../port.ts";
import { createDialler, type Dialled, type MqttSetup } from "./connect.ts";
import { type Connected, CONNECT_TIMEOUT_MS, typedError } from "./dial.ts";
import { type BrokerMessage, disconnect, publishError, RefusedMessage, withinLimits } from "./publish.ts";

/** Time for the last message of a session. DISCONNECT follows at once, so that a stop takes less than 500 ms. */
const CLOSE_WITHIN_MS = 300;
const ACK_DEADLINE_MS: Milliseconds = 15_000;
/** Deadline of the broker's PUBACK. Without a PUBACK the session counts as dead, even if TCP reports no fault. */
const PUBLISH_DEADLINE_MS = 15_000;
/** Maximum number of pending batches, even if the service allows more. */
const MAX_WINDOW = 4;
const gzipAsync = promisify(gzip);
const deflateRawAsync = promisify(deflateRaw);
const zstdAsync = promisify(zstdCompress);
const HASHED_AT_ONCE = 400;
/**
 * Longest text that is compressed on this thread. A live batch and a chunk's facts mostly have 2 KB, which takes 15 to 30 us. A thread of
 * the pool would need three to six times the CPU time.
 */
const ZIPPED_AT_ONCE = 16_384;
const SMALL_DEFLATE = { windowBits: 13, memLevel: 6 };
/** The fastest compression level. It takes a quarter of gzip's CPU time for 3 % more bytes; higher levels cost more than they save. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Initial output buffer. A small text compresses to less than a third of its size. */
const SMALL_CHUNK = { chunkSize: 4_096 };

export interface MqttLink extends ServiceLink {
  /** Returns the gateway's own certificate, if there is one, and the broker's certificate from the last session. */
  certificates(): readonly KnownCertificate[];
}

/**
 * Makes the link that sends telemetry over MQTT. It uses mqtt.js without the library's reconnection, queue and store: the log in SQLite is
 * the queue, and the session loop retries. A PUBACK doesn't prove delivery; only a message on down/ack does.
 */
export function createMqttLink(setup: MqttSetup): MqttLink {
  const dialler = createDialler(setup);
  return {
    certificates: dialler.certificates,
    async connect(account, signal) {
      const session = randomUUID();
      const since = setup.clock.wall();
      const will = {
        topic: `${account.topic_prefix}/${TOPICS.state}`,
        payload: Buffer.from(heartbeatText(setup, { session, since, online: false, booths: [] })),
        qos: 1,
        retain: true,
      } as const;
      const dialled = await dialler.dial({ account, will, signal });
      // Ends the client at once, so that a stop doesn't wait for a slow answer to the subscription.
      const stop = (): void => void dialled.client.end(true);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        return await sessionOf(setup, { ...dialled, account, session, warnOfExpiry: () => dialler.warnOfExpiry() });
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

interface Open extends Dialled {
  readonly account: LinkAccount;
  readonly session: string;
  readonly warnOfExpiry: () => void;
}

async function sessionOf(setup: MqttSetup, open: Open): Promise<LinkSession> {
  const { client, account, session, url } = open;
  const { topic_prefix } = account;
  if (account.confirmed_by === "broker" && open.maximum_qos === 0) {
    client.end(true);
    throw new ServiceLinkError("limit", message("service.no_qos_1"));
  }
  const since = setup.clock.wall();
  const state = watchSession(open);
  const limited = limitConcurrency(open.receive_maximum);
  const publish = (topic: string, payload: string | Buffer, retain = false): Promise<void> =>
    limited(() => {
      if (state.over !== null) return Promise.reject(state.over);
      return publishOnce(open, { topic: `${topic_prefix}/${topic}`, payload, retain }, state.endings);
    });
  const { receive, ...commands } = commandSide(publish);
  client.on("message", (topic, payload) => {
    if (topic === `${topic_prefix}/${TOPICS.command}`) receive(payload);
    if (topic === `${topic_prefix}/${TOPICS.ack}`) handleAck(setup, state, payload);
  });
  // Sets a deadline, because a broker that answers nothing but pings would keep the session open forever.
  const late = delay(setup.connect_timeout_ms ?? CONNECT_TIMEOUT_MS, undefined, { ref: false }).then(() =>
    Promise.reject(new ServiceLinkError("unreachable", message("service.no_subscription"))),
  );
  const ended = state.closed.then((reason) => Promise.reject(reason));
  const subscribed = client.subscribeAsync(`${topic_prefix}/down/#`, { qos: 1 });
  await Promise.race([subscribed, late, ended]).catch((error: unknown) => {
    client.end(true);
    throw state.over ?? subscriptionError(error);
  });
  return {
    url,
    mqtt: open.mqtt,
    closed: state.closed,
    ...commands,
    window: () => state.window,
    hello: (booths) => publish(TOPICS.hello, helloText(session, booths)),
    heartbeat(booths) {
      open.warnOfExpiry();
      return publish(TOPICS.state, heartbeatText(setup, { session, since, online: true, booths }), true);
    },
    ...senders(setup, account, { state, publish }),
    takesChunks: () => state.takes.includes(TAKES.chunks),
    async close() {
      const last = heartbeatText(setup, { session, since, online: false, booths: [] });
      // Waits only briefly, because a broker that hangs must not delay a stop. The will has the same content.
      const farewell = publish(TOPICS.state, last, true).catch(() => undefined);
      await Promise.race([farewell, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      if (state.over === null) disconnect(client);
      else client.end(true);
    },
  };
}

/** Returns the error of a failed subscription. A session without its subscription is useless. */
function subscriptionError(error: unknown): ServiceLinkError {
  const typed = typedError(error);
  return typed.fault === "credential" || typed.fault === "protocol"
    ? new ServiceLinkError("not_allowed", message("service.refuses_subscription", { reason: typed.text }), error)
    : typed;
}

/** The batches and chunks that wait for their acks, and the service's latest limits. */
export interface Acking {
  readonly waiting: Waiters<PendingAck>;
  /** Maximum number of pending batches that the service allows. */
  window: number;
  /** Optional formats that the service accepts. */
  takes: readonly string[];
}

interface SessionState extends Acking {
  /** Callbacks for the session's end. A race of each publish against one promise would keep all publishes in memory until the end. */
  readonly endings: Waiters<(reason: ServiceLinkError) => void>;
  readonly closed: Promise<ServiceLinkError>;
  over: ServiceLinkError | null;
}

/** Follows a session until its end, which settles all pending operations. */
function watchSession({ client }: Open): SessionState {
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<ServiceLinkError>();
  const state: SessionState = {
    closed,
    endings: createWaiters(),
    window: 1,
    waiting: createWaiters(),
    takes: [],
    over: null,
  };
  const end = (reason: ServiceLinkError): void => {
    state.over ??= reason;
    for (const pending of state.waiting.all()) pending.settle({ kind: "keep", reason: reason.text });
    for (const notify of state.endings.all()) notify(state.over);
    resolveClosed(state.over);
  };
  client.on("close", () => end(new ServiceLinkError("closed", message("service.gone"))));
  client.on("disconnect", ({ reasonCode = 0 }) => end(endedByBroker(reasonCode)));
  client.on("error", (error: Error) => {
    end(typedError(error));
    client.end(true);
  });
  return state;
}

/** Reason code of a session that another client took over (MQTT 5, 3.14.2.1). */
const TAKEN_OVER = 142;

function endedByBroker(reasonCode: number): ServiceLinkError {
  return reasonCode === TAKEN_OVER
    ? new ServiceLinkError("taken_over", message("service.taken_over"))
    : new ServiceLinkError("closed", message("service.ended", { code: reasonCode }));
}

interface Uplink {
  readonly state: SessionState;
  readonly publish: (topic: string, body: Buffer) => Promise<void>;
}

/** Returns the session's functions that send batches and chunks. The caller limits how many are sent at once. */
function senders(
  { clock, ack_deadline_ms = ACK_DEADLINE_MS }: MqttSetup,
  { gateway_id, confirmed_by }: LinkAccount,
  { state, publish }: Uplink,
): Pick<LinkSession, "send" | "sendChunk"> {
  // Uses a real timer, because the broker answers in real time even if another clock dates the records.
  const atDeadline = (late: () => void): (() => void) => {
    const timer = setTimeout(late, ack_deadline_ms);
    return () => clearTimeout(timer);
  };
  const exchange = createExchange({ clock, waiting: state.waiting, atDeadline });
  const offer = async (topic: string, body: Buffer, outcome: PendingAck["outcome"]): Promise<BatchOutcome> => {
    const published = () => publish(topic, body).then(() => null, brokerRefusal);
    return confirmed_by === "broker"
      ? ((await published()) ?? CONFIRMED_BY_BROKER)
      : exchange({ outcome, publish: published });
  };
  return {
    async send(stream, generation, records) {
      const wire = batchOf({ gateway_id, generation, stream }, records, clock.wall());
      const zipping = zipped(JSON.stringify(wire), state.takes.includes(TAKES.zstd));
      const [body, hash] = await Promise.all([zipping, hashInPieces(records)]);
      return offer(TOPICS.batch, body, (ack, alone) => outcomeOf(ack, { stream, records, hash }, alone));
    },
    async sendChunk(stream, generation, chunk) {
      const facts = await deflatedFacts(factLines(chunk.facts));
      const body = Buffer.from(chunkMessage({ gateway_id, generation, stream }, chunk, facts).buffer);
      const sent = { ...chunk, stream, hash: sha256(body) };
      return offer(TOPICS.chunk, body, (ack) => chunkOutcomeOf(ack, sent));
    },
  };
}

const CONFIRMED_BY_BROKER: BatchOutcome = { kind: "acked", rejected: [], is_proven: false, held_seq: 0 };

function zipped(text: string, isZstd: boolean): Buffer | Promise<Buffer> {
  if (text.length > ZIPPED_AT_ONCE) return isZstd ? zstdAsync(text, ZSTD) : gzipAsync(text);
  return isZstd ? zstdCompressSync(text, { ...ZSTD, ...SMALL_CHUNK }) : gzipSync(text, SMALL_CHUNK);
}

/** Hashes records in pieces, because a full batch takes 2 ms and a poll must not wait that long. */
async function hashInPieces(records: readonly Placed[]): Promise<string> {
  const hash = recordHash();
  for (let at = 0; at < records.length; at += HASHED_AT_ONCE) {
    if (at > 0) await turn();
    hash.add(records.slice(at, at + HASHED_AT_ONCE));
  }
  return hash.hex();
}

async function deflatedFacts(lines: string): Promise<Buffer> {
  if (lines === "") return Buffer.alloc(0);
  return lines.length > ZIPPED_AT_ONCE ? deflateRawAsync(lines, SMALL_DEFLATE) : deflateRawSync(lines, SMALL_DEFLATE);
}

/** The outcome according to one ack. `unclear`: the service refused a batch without saying which one. */
export type AckedBatch = BatchOutcome | { readonly kind: "unclear"; readonly reason: Text };

/** A batch or a chunk that waits for its ack. */
export interface PendingAck {
  /**
   * Returns the meaning of an ack for this batch; null: the ack concerns another batch. `alone`: no other batch is pending, so an ack
   * without a name can only concern this batch.
   */
  readonly outcome: (ack: AckWire, alone: boolean) => AckedBatch | null;
  /** Monotonic time at which the batch was passed to the broker. */
  readonly sent: Milliseconds;
  readonly settle: (outcome: AckedBatch) => void;
}

interface Offer extends Pick<PendingAck, "outcome"> {
  /** Publishes the batch. Resolves with the broker's own refusal, or with null. */
  readonly publish: () => Promise<BatchOutcome | null>;
}

interface ExchangeSetup extends Pick<MqttSetup, "clock"> {
  readonly waiting: Waiters<PendingAck>;
  /** Calls `late` when the ack is overdue. Returns a function that cancels the call. */
  readonly atDeadline: (late: () => void) => () => void;
}

/**
 * Returns a function that publishes a batch and resolves with its outcome: the service's ack of this batch, the broker's refusal, or "keep"
 * after the deadline. If the service refused a batch without naming it, each possible batch is published once more while no other batch is
 * pending.
 */
export function createExchange({ clock, waiting, atDeadline }: ExchangeSetup): (offer: Offer) => Promise<BatchOutcome> {
  const under_way = createWaiters<Promise<unknown>>();
  let alone: Promise<unknown> = Promise.resolve();
  const exchange = ({ outcome, publish }: Offer): Promise<AckedBatch> =>
    new Promise((resolve) => {
      let is_silent = false;
      const cancel = atDeadline(() => settle({ kind: "keep", reason: message("service.no_ack"), is_silent }));
      const settle = (settled: AckedBatch): void => {
        cancel();
        remove();
        resolve(settled);
      };
      const remove = waiting.add({ outcome, sent: clock.mono(), settle });
      publish().then(
        (refusal) => {
          if (refusal === null) is_silent = true;
          else settle(refusal);
        },
        (error: unknown) => settle({ kind: "keep", reason: errorText(error) }),
      );
    });
  return async (offer) => {
    await alone;
    const together = exchange(offer);
    void together.then(under_way.add(together));
    const first = await together;
    if (first.kind !== "unclear") return first;
    const again = alone.then(() => Promise.all(under_way.all())).then(() => exchange(offer));
    alone = again;
    const last = await again;
    return last.kind === "unclear" ? { kind: "keep", reason: last.reason } : last;
  };
}

/** Parses a message on down/ack; null: the message is no ack, so the batch waits until its deadline. */
export function parseAck(payload: Buffer): AckWire | null {
  return ackShape.safeParse(jsonOf(payload.toString("utf8"))).data ?? null;
}

/**
 * Handles a message on down/ack. An ack settles only the batch that it names, and only if the service stored what was sent. Its other
 * fields are used only if its hash proves that the service has read the batch.
 */
export function handleAck(
  { clock, service_time }: Pick<MqttSetup, "clock" | "service_time">,
  acking: Acking,
  payload: Buffer,
): void {
  const ack = parseAck(payload);
  if (ack === null) return;
  const alone = acking.waiting.size === 1;
  for (const pending of acking.waiting.all()) {
    const outcome = pending.outcome(ack, alone);
    if (outcome === null) continue;
    if ((outcome.kind === "acked" || outcome.kind === "conflict") && outcome.is_proven) {
      // Limits the window to at least one batch, because only another ack can widen it again.
      if (ack.window !== null) acking.window = Math.min(MAX_WINDOW, Math.max(1, ack.window));
      acking.takes = ack.takes;
      if (ack.server_time !== null)
        service_time.heard({ source: "ack", time: ack.server_time, sent: pending.sent, received: clock.mono() });
    }
    pending.settle(outcome);
  }
}

interface SentBatch {
  readonly stream: string;
  readonly records: readonly Placed[];
  /** Hash of all its records; absent: not computed yet. */
  readonly hash?: string;
}

/** Errors that concern the batch itself. The service would refuse the same batch again. */
const CONTENT_REFUSED = /^(malformed|too_large)/;
/** The error of a message that exceeds the service's size limit. It says nothing about the records in the message. */
const TOO_LARGE = /^too_large/;

/** Returns the meaning of an ack for a batch; null: the ack concerns another batch. Pure. */
export function outcomeOf(ack: AckWire, batch: SentBatch, alone: boolean): AckedBatch | null {
  if ("chunk" in ack) return null;
  if (ack.error !== "") return refusalOf(ack, batch, alone);
  const { records } = batch;
  const isNamed = ack.st === batch.stream && ack.s0 === firstSeq(batch) && ack.n === records.length;
  if (!isNamed) return null;
  const isWithin = ack.conflict !== null && records.some(({ seq }) => seq === ack.conflict);
  const conflict = isWithin ? ack.conflict : null;
  const rejected = rejectedOf(ack, records.length);
  // Ignores the record with the conflict and all later records, because the service stored none of them.
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

/** Returns the rejected records by seq. A list that is longer than the batch makes no sense and is ignored. */
function rejectedOf({ reject }: AckWire, records: number): ReadonlyMap<Seq, Rejection> {
  return new Map(reject.length > records ? [] : reject.map((entry) => [entry.seq, entry]));
}

function heldSeq({ newest_seq, acked_seq }: AckWire): Seq {
  return newest_seq ?? acked_seq ?? 0;
}

function refusalOf(ack: Exclude<AckWire, { chunk: string }>, batch: SentBatch, alone: boolean): AckedBatch | null {
  const isOfStream = ack.st === batch.stream;
  if (!isOfStream && ack.st !== "") return null;
  const reason = message("service.took_nothing", { reason: ack.error });
  if (!CONTENT_REFUSED.test(ack.error)) return { kind: "keep", reason };
  const refusal = { kind: TOO_LARGE.test(ack.error) ? "too_long" : "refused", reason: ack.error } as const;
  const isNameless = !isOfStream || ack.s0 === 0;
  if (isNameless) return alone ? refusal : { kind: "unclear", reason };
  return ack.s0 === firstSeq(batch) ? refusal : null;
}

function firstSeq({ records }: SentBatch): number {
  return records[0]?.seq ?? 0;
}

/** The fields of a pending chunk that its ack must name. */
interface SentChunk extends Pick<LogChunk, "from" | "to" | "first_seq"> {
  readonly stream: string;
  /** Hash of the whole message. */
  readonly hash: string;
}

/**
 * Returns the meaning of an ack for a chunk; null: the ack concerns another message. The hash only identifies the message. After a
 * conflict, an error or an ack of another range, no record of the chunk counts as stored. Pure.
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

/**
 * Publishes with QoS 1. Resolves with the broker's PUBACK. Rejects with the broker's refusal, after the deadline, or at the session's end,
 * after which mqtt.js never settles.
 */
function publishOnce(
  connected: Connected,
  message: Pick<BrokerMessage, "topic" | "payload" | "retain">,
  endings: SessionState["endings"],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { topic, payload, qos, retain } = withinLimits({ ...message, qos: 1 }, connected);
    const finish = (error: Error | null): void => {
      clearTimeout(timer);
      remove();
      if (error === null) resolve();
      else reject(error);
    };
    const timer = setTimeout(() => finish(new Error("the broker doesn't confirm")), PUBLISH_DEADLINE_MS);
    const remove = endings.add(finish);
    const bytes = typeof payload === "string" ? payload : Buffer.from(payload);
    connected.client.publish(topic, bytes, { qos, retain }, (error) =>
      finish(error ? publishError(error, topic) : null),
    );
  });
}

/** Reason codes of a PUBACK (MQTT 5, 3.4.2.1): packet too large, payload format invalid. */
const PACKET_TOO_LARGE = 0x95;
const PAYLOAD_INVALID = 0x99;

/** Returns the outcome of a batch whose publish failed. A size limit says nothing about the batch's records. */
function brokerRefusal(error: unknown): BatchOutcome {
  const reason = errorText(error);
  const code = codeIn(error) ?? (error instanceof Error ? codeIn(error.cause) : null);
  const isTooLong = error instanceof RefusedMessage && error.refusal.kind === "too_long";
  if (isTooLong || code === PACKET_TOO_LARGE) return { kind: "too_long", reason };
  return { kind: code === PAYLOAD_INVALID ? "refused" : "keep", reason };
}

function codeIn(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

/** Maximum number of commands kept until a listener is set. The service repeats commands that get no answer. */
const MAX_EARLY = 64;

/** The part of a session that receives commands and sends their answers. */
export function commandSide(publish: (topic: string, payload: string) => Promise<void>) {
  const early: HeardCommand[] = [];
  let listener = (heard: HeardCommand): void => {
    if (early.length < MAX_EARLY) early.push(heard);
  };
  return {
    /** Handles a message on down/cmd. */
    receive: (payload: Buffer): void => {
      const heard = parseCommand(payload.toString("utf8"));
      if (heard !== null) listener(heard);
    },
    commands(take: (heard: HeardCommand) => void): void {
      listener = take;
      for (const heard of early.splice(0)) take(heard);
    },
    say(said: UpMessage): Promise<void> {
      const { topic, body } = upMessageOf(said);
      return publish(topic, JSON.stringify(body));
    },
  };
}
