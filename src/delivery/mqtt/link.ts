import { randomUUID, X509Certificate } from "node:crypto";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, deflateRaw, deflateRawSync, gzip, gzipSync, zstdCompress, zstdCompressSync } from "node:zlib";
import { ServiceLinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { certificateStatus, type KnownCertificate } from "../../domain/status.ts";
import type { BatchOutcome, LinkAccount, LinkSession, ServiceLink } from "../port.ts";
import { chunkMessage, factLines } from "../../contract/chunk.ts";
import { recordHash, sha256 } from "../../contract/hash.ts";
import { batchOf, heartbeatText, helloText, TAKES, TOPICS } from "../../contract/telemetry.ts";
import {
  type AckedBatch,
  chunkOutcomeOf,
  exchange,
  heardAck,
  outcomeOf,
  type Waiting,
  brokerRefusal,
  type Endings,
  publishOnce,
  readWriteLock,
} from "./acks.ts";
import { createDialler, type Dialled, type MqttSetup } from "./connect.ts";
import { CONNECT_TIMEOUT_MS, typedError } from "./dial.ts";
import { leave, slots, withinLimits } from "./publish.ts";
import type { CertificatePair } from "../../credential-files.ts";
import { parseCommand, upMessageOf } from "../../contract/commands.ts";
import type { HeardCommand, UpMessage } from "../../domain/command.ts";
import type { Placed } from "../../domain/record.ts";
import { say } from "../../domain/sentences.ts";
import { createWaiters } from "../../domain/waiters.ts";

/** Time for the last words of a session; DISCONNECT follows at once, so that a stop takes less than 500 ms. */
const CLOSE_WITHIN_MS = 300;
const ACK_DEADLINE_MS: Milliseconds = 15_000;
const gzipAsync = promisify(gzip);
const deflateRawAsync = promisify(deflateRaw);
const zstdAsync = promisify(zstdCompress);
const HASHED_AT_ONCE = 400;
/**
 * A live batch and a chunk's facts are mostly 2 KB, zipped in 15 to 30 us; to have that done by another thread takes three to six times
 * the CPU.
 */
const ZIPPED_AT_ONCE = 16_384;
const SMALL_DEFLATE = { windowBits: 13, memLevel: 6 };
/** A quarter of gzip's work for three hundredths more bytes; the levels above cost more than they save. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Room for what comes out, which is less than a third. */
const SMALL_CHUNK = { chunkSize: 4_096 };

export interface MqttLink extends ServiceLink {
  /** Ours, where we have one, and the broker's of the session before. */
  certificates(): readonly KnownCertificate[];
}

/**
 * Telemetry over MQTT. mqtt.js is used as a bare client: its reconnection, its queue and its store are off, since the log in
 * SQLite is the queue and the session loop owns the retry. PUBACK proves nothing; only down/ack does.
 */
export function createMqttLink(setup: MqttSetup): MqttLink {
  const known: { own: KnownCertificate | null; server: KnownCertificate | null } = { own: null, server: null };
  const shown = (): CertificatePair | undefined => {
    const certificate = setup.client_certificate?.();
    if (certificate === undefined) return undefined;
    const expires = new X509Certificate(certificate.cert).validToDate.getTime();
    known.own = { link: "service", server: null, expires };
    return certificate;
  };
  try {
    shown();
  } catch {
    // Each connect reports a file that can't be used.
  }
  const dial = createDialler(setup);
  const certificates = (): readonly KnownCertificate[] =>
    [known.own, known.server].filter((certificate) => certificate !== null);
  const sayWhatEnds = certificateNews(setup, certificates);
  return {
    certificates,
    async connect(account, signal) {
      const session = randomUUID();
      const since = setup.clock.wall();
      const will = {
        topic: `${account.topic_prefix}/${TOPICS.state}`,
        payload: Buffer.from(heartbeatText(setup, { session, since, online: false, booths: [] })),
        qos: 1,
        retain: true,
      } as const;
      const dialled = await dial({ account, will, signal, shown });
      const { url, certificate_ends } = dialled;
      if (certificate_ends !== null) known.server = { link: "service", server: url, expires: certificate_ends };
      // Who stops doesn't wait for a broker that takes its time over the subscription.
      const stop = (): void => void dialled.client.end(true);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      try {
        return await sessionOf(setup, { ...dialled, account, session, sayWhatEnds });
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
  };
}

interface Open extends Dialled {
  readonly account: LinkAccount;
  readonly session: string;
  /** Warns of certificates that end soon. */
  readonly sayWhatEnds: () => void;
}

async function sessionOf(setup: MqttSetup, open: Open): Promise<LinkSession> {
  const { client, account, session, url } = open;
  if (account.confirmed_by === "broker" && open.maximum_qos === 0) {
    client.end(true);
    throw new ServiceLinkError("limit", say("service.no_qos_1"));
  }
  const since = setup.clock.wall();
  const living = watchSession(setup, open);
  const slot = slots(open.receive_maximum);
  const publish = (topic: string, payload: string | Buffer, retain = false): Promise<void> =>
    slot(() => {
      if (living.over !== null) return Promise.reject(living.over);
      return publishOnce(open, { topic: `${account.topic_prefix}/${topic}`, payload, retain }, living.endings);
    });
  // Without a deadline a broker that never answers would keep the session open for ever, by its pings alone.
  const late = delay(setup.connect_timeout_ms ?? CONNECT_TIMEOUT_MS, undefined, { ref: false }).then(() =>
    Promise.reject(new ServiceLinkError("unreachable", say("service.no_subscription"))),
  );
  const ended = living.closed.then((reason) => Promise.reject(reason));
  const commands = commandSide(publish);
  living.command = commands.came;
  const subscribed = client.subscribeAsync(`${account.topic_prefix}/down/#`, { qos: 1 });
  await Promise.race([subscribed, late, ended]).catch((error: unknown) => {
    client.end(true);
    throw living.over ?? notAllowed(error);
  });
  return {
    url,
    mqtt: open.mqtt,
    closed: living.closed,
    ...commands,
    window: () => living.window,
    hello: (booths) => publish(TOPICS.hello, helloText(session, booths)),
    heartbeat(booths) {
      open.sayWhatEnds();
      return publish(TOPICS.state, heartbeatText(setup, { session, since, online: true, booths }), true);
    },
    ...senders(setup, open, { living, publish }),
    takesChunks: () => living.takes.includes(TAKES.chunks),
    async close() {
      const last = heartbeatText(setup, { session, since, online: false, booths: [] });
      // A broker that hangs must not hold a stop: the will says the same.
      const farewell = publish(TOPICS.state, last, true).catch(() => undefined);
      await Promise.race([farewell, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      if (living.over === null) leave(client);
      else client.end(true);
    },
  };
}

/** Without its own topics a session is worth nothing. */
function notAllowed(error: unknown): ServiceLinkError {
  const typed = typedError(error);
  return typed.fault === "credential" || typed.fault === "protocol"
    ? new ServiceLinkError("not_allowed", say("service.refuses_subscription", { reason: typed.message }), error)
    : typed;
}

/** What a session is while it stands. */
function watchSession(setup: MqttSetup, { client, account }: Open) {
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<ServiceLinkError>();
  const endings: Endings = createWaiters();
  const living = {
    closed,
    endings,
    window: 1,
    waiting: createWaiters<Waiting>(),
    takes: [] as readonly string[],
    over: null as ServiceLinkError | null,
    /** Gets what comes on down/cmd. */
    command: null as ((payload: Buffer) => void) | null,
  };
  const end = (reason: ServiceLinkError): void => {
    living.over ??= reason;
    for (const entry of living.waiting.all()) entry.settle({ kind: "keep", reason: reason.message });
    for (const tell of endings.all()) tell(living.over);
    resolveClosed(living.over);
  };
  client.on("close", () => end(new ServiceLinkError("closed", say("service.gone"))));
  client.on("disconnect", ({ reasonCode = 0 }) => end(endedByBroker(reasonCode)));
  client.on("error", (error: Error) => {
    end(typedError(error));
    client.end(true);
  });
  client.on("message", (topic, payload) => {
    if (topic === `${account.topic_prefix}/${TOPICS.command}`) living.command?.(payload);
    if (topic === `${account.topic_prefix}/${TOPICS.ack}`) heardAck(setup, living, payload);
  });
  return living;
}

/** MQTT 5, 3.14.2.1. */
const TAKEN_OVER = 142;

function endedByBroker(reasonCode: number): ServiceLinkError {
  return reasonCode === TAKEN_OVER
    ? new ServiceLinkError("taken_over", say("service.taken_over"))
    : new ServiceLinkError("closed", say("service.ended", { code: reasonCode }));
}

interface Line {
  readonly living: ReturnType<typeof watchSession>;
  readonly publish: (topic: string, body: Buffer) => Promise<void>;
}

/**
 * Batches and chunks go together, as many as the caller likes. Where something was refused without saying which, each that may be
 * meant goes again with nothing else under way.
 */
function senders(setup: MqttSetup, open: Open, { living, publish }: Line): Pick<LinkSession, "send" | "sendChunk"> {
  const { account } = open;
  const lock = readWriteLock();
  const offer = async (topic: string, body: Buffer, outcome: Waiting["outcome"]): Promise<BatchOutcome> => {
    try {
      withinLimits({ topic: `${account.topic_prefix}/${topic}`, payload: body, qos: 1, retain: false }, open);
    } catch (error) {
      return brokerRefusal(error);
    }
    const published = () => publish(topic, body).then(() => null, brokerRefusal);
    const once = (): Promise<AckedBatch> => {
      if (living.over !== null) return Promise.resolve({ kind: "keep", reason: living.over.message });
      // The broker's word is all there is.
      if (account.confirmed_by === "broker") return published().then((refusal) => refusal ?? HANDED_OVER);
      return exchange({
        waiting: living.waiting,
        outcome,
        publish: published,
        sent: setup.clock.mono(),
        // The broker's answers come by real time, whatever the clock is that records go by.
        atDeadline: (late) => {
          const timer = setTimeout(late, setup.ack_deadline_ms ?? ACK_DEADLINE_MS);
          return () => clearTimeout(timer);
        },
      });
    };
    const first = await lock.together(once);
    const last = first.kind === "unclear" ? await lock.alone(once) : first;
    return last.kind === "unclear" ? { kind: "keep", reason: last.reason } : last;
  };
  const { gateway_id } = account;
  return {
    async send(stream, generation, records) {
      const wire = batchOf({ gateway_id, generation, stream }, records, setup.clock.wall());
      const zipping = zipped(JSON.stringify(wire), living.takes.includes(TAKES.zstd));
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

function zipped(text: string, isZstd: boolean): Buffer | Promise<Buffer> {
  if (text.length > ZIPPED_AT_ONCE) return isZstd ? zstdAsync(text, ZSTD) : gzipAsync(text);
  return isZstd ? zstdCompressSync(text, { ...ZSTD, ...SMALL_CHUNK }) : gzipSync(text, SMALL_CHUNK);
}

/** A full batch takes 2 ms, and polls wait for no more than a part of it. */
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

const HANDED_OVER: BatchOutcome = { kind: "acked", rejected: [], is_proven: false, held_seq: 0 };

/** Says once of each certificate that it ends within a month, or has ended. To be asked now and then. */
function certificateNews({ clock, log }: MqttSetup, certificates: () => readonly KnownCertificate[]): () => void {
  const said = new Set<string>();
  return () => {
    for (const known of certificates()) {
      const { server, expires, state, advice } = certificateStatus(known, clock.wall());
      const key = `${server ?? ""} ${expires} ${state}`;
      if (state === "valid" || said.has(key)) continue;
      said.add(key);
      const whose = server === null ? "the gateway's client certificate" : `the certificate of ${server}`;
      const until = new Date(expires).toISOString().slice(0, 10);
      const text = `${whose} ${state === "expired" ? "ended" : "ends"} on ${until}: ${advice}`;
      log.warn({ event: "certificate_ends", server, until, state }, text);
    }
  };
}

/** Commands kept until somebody listens; the service repeats those that nobody answers. */
const MAX_EARLY = 64;

/** The part of a session that commands and their answers go through. */
export function commandSide(publish: (topic: string, payload: string) => Promise<void>) {
  const early: HeardCommand[] = [];
  let listener: ((heard: HeardCommand) => void) | null = null;
  return {
    /** A payload came on down/cmd. */
    came: (payload: Buffer): void => {
      const heard = parseCommand(payload.toString("utf8"));
      if (heard === null) return;
      if (listener !== null) listener(heard);
      else if (early.length < MAX_EARLY) early.push(heard);
    },
    commands: (take: (heard: HeardCommand) => void): void => {
      listener = take;
      for (const heard of early.splice(0)) take(heard);
    },
    say: (message: UpMessage): Promise<void> => {
      const { topic, body } = upMessageOf(message);
      return publish(topic, JSON.stringify(body));
    },
  };
}
