import type { IClientOptions, IConnackPacket, IStore, MqttClient, Packet } from "mqtt";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { faultOfCode, ServiceLinkError, tlsFaultOf } from "../../domain/link-error.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Bytes, Meter, Purpose, SharedOut } from "../../domain/traffic.ts";
import { onAbort } from "../../domain/signal.ts";
import { type Connections, lineAgent, type LineTo, openLine } from "../line.ts";
import type { CertificatePair } from "../../credential-files.ts";
import { tlsReason, trustIn } from "../tls.ts";
import { FileError } from "../../credential-files.ts";
import { say } from "../../domain/sentences.ts";

/** One connection to an MQTT broker, bounded and verified: what every station that speaks MQTT has in common. */

/** From the first packet to the broker's answer, for the connection and then for the subscription. */
export const CONNECT_TIMEOUT_MS: Milliseconds = 10_000;
const KEEPALIVE_S = 30;
/** The library's pings go by a timer of this kind; this one never fires. */
const NO_TIMER = { set: () => 0, clear: () => undefined };
/** Longer packets than this nobody has a reason to send us: acks and commands are far below. */
const MAX_PACKET_BYTES = 128 * 1024;
const OLDEST_TLS = { minVersion: "TLSv1.2" } as const;
/** Without a word from the broker: as many as the protocol has identifiers for. */
const ALL_IN_FLIGHT = 65_535;

/** Whom to connect to, and as whom. */
export interface Broker {
  readonly url: string;
  readonly client_id: string;
  readonly username?: string;
  readonly password?: string;
  /** Absent: nothing is said where the connection breaks off. */
  readonly will?: NonNullable<IClientOptions["will"]>;
  readonly protocol: 4 | 5;
  /** A site's own authority, PEM. */
  readonly ca?: string;
  /** What the box shows of itself, where it has a certificate. */
  readonly certificate?: CertificatePair;
  /** Whoever connects sends the pings, more often than each 30 s. Default: the library does. */
  readonly own_pings?: boolean;
  /** Default 10 s. */
  readonly connect_timeout_ms?: Milliseconds;
  /** Who counts its bytes, and what a packet is for (`topic` of a message, else ""); absent: nobody. */
  readonly counted?:
    { readonly meter: Meter; readonly purposeOf: (cmd: Packet["cmd"], topic: string) => Purpose } | undefined;
}

/** A connection, with the limits that the broker named in its CONNACK. MQTT 3.1.1 names none. */
export interface Connected {
  readonly client: MqttClient;
  readonly url: string;
  readonly protocol: 4 | 5;
  /** QoS 1 messages that the broker lets be under way. */
  readonly receive_maximum: number;
  /** Longest packet that the broker takes, bytes. */
  readonly maximum_packet_size: number;
  readonly maximum_qos: 0 | 1;
  /** False: a retained message, or will, ends the session. */
  readonly retain_available: boolean;
  /** The longest time without a packet of ours, seconds: what we asked for, or what the broker wants. */
  readonly keep_alive_s: number;
  /** When the broker's certificate ends; null: not known. */
  readonly certificate_ends: EpochMs | null;
}

/** Whether what goes there is protected. */
export const isSecure = (url: string): boolean => ["mqtts:", "wss:"].includes(new URL(url).protocol);

/** Reason codes of a refused connection that are about the will: retain, and the QoS, are not supported (MQTT 5, 3.2.2.2). */
const NO_RETAIN = 0x9a;
const NO_SUCH_QOS = 0x9b;

/**
 * Connects once, with the will as the broker takes it: a broker that keeps nothing, or takes QoS 0 alone, says so by refusing the first try.
 * Rejects with the library's error, or with a ServiceLinkError; with the signal's reason when aborted.
 */
export async function connectOnce(broker: Broker, signal: AbortSignal): Promise<Connected> {
  const { will } = broker;
  try {
    return await connectAs(broker, signal);
  } catch (error) {
    const code = codeOf(error);
    if (will === undefined) throw error;
    if (code === NO_RETAIN && will.retain === true)
      return connectOnce({ ...broker, will: { ...will, retain: false } }, signal);
    if (code === NO_SUCH_QOS && will.qos !== 0) return connectOnce({ ...broker, will: { ...will, qos: 0 } }, signal);
    throw error;
  }
}

async function connectAs(broker: Broker, signal: AbortSignal): Promise<Connected> {
  const { url, protocol, ca, certificate, will } = broker;
  // At the first session, which is after the first reading: loading it would take a tenth of a start.
  const { connect, Store } = await import("mqtt");
  signal.throwIfAborted();
  const account = accountOf(broker);
  const { lines, ...over } = await linesFor(broker, account?.line, signal);
  const client = connect(url, {
    ...over,
    clientId: broker.client_id,
    ...(broker.username === undefined ? {} : { username: broker.username }),
    ...(broker.password === undefined ? {} : { password: broker.password }),
    protocolVersion: protocol,
    clean: true,
    // A broker that is promised nothing never finds out that a box has lost its power.
    keepalive: KEEPALIVE_S,
    ...(broker.own_pings === true ? { timerVariant: NO_TIMER } : {}),
    connectTimeout: broker.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    outgoingStore: keepingNothing(new Store()),
    // Else all 65,536 numbers of two bytes are made in advance: 13 MB, for packets that are few.
    writeCache: false,
    rejectUnauthorized: true,
    ...OLDEST_TLS,
    ...(protocol === 5 ? { properties: { maximumPacketSize: MAX_PACKET_BYTES } } : {}),
    ...(ca === undefined ? {} : trustIn(ca)),
    // With one the library would speak TLS whatever the URL says.
    ...(isSecure(url) ? certificate : {}),
    ...(will === undefined ? {} : { will }),
  });
  account?.follow(client);
  // A batch's last piece must not wait a round trip until those before it are confirmed.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
  const isTooLong = packetSizes(MAX_PACKET_BYTES);
  client.stream.on("data", (chunk: Buffer) => {
    if (!isTooLong(chunk)) return;
    client.emit("error", new ServiceLinkError("protocol", say("service.packet_too_long")));
    client.stream.destroy();
  });
  // The library keeps such a message until its sender lets it go, 65,535 of them: who subscribes here asks for QoS 1 at most.
  client.on("packetreceive", (packet) => {
    if (packet.cmd !== "publish" || packet.qos !== 2) return;
    client.emit("error", new ServiceLinkError("protocol", say("service.qos_2")));
    client.stream.destroy();
  });
  const stop = (): void => void client.end(true);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const connack = await connackOf(client);
    account?.settle();
    return { client, url, protocol, ...limitsIn(connack), certificate_ends: certificateOf(client) };
  } catch (error) {
    client.end(true);
    lines?.close(error instanceof Error ? error : new Error(String(error)));
    // Who stops closes the connection too: that isn't the broker's word about anything.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function limitsIn({ properties }: IConnackPacket) {
  return {
    receive_maximum: properties?.receiveMaximum ?? ALL_IN_FLIGHT,
    maximum_packet_size: properties?.maximumPacketSize ?? Infinity,
    maximum_qos: properties?.maximumQoS === 0 ? 0 : 1,
    retain_available: properties?.retainAvailable ?? true,
    keep_alive_s: properties?.serverKeepAlive ?? KEEPALIVE_S,
  } as const;
}

/** The library keeps what is under way for a connection of its own making, of which there is none here: whoever sent it still has it. */
function keepingNothing(store: IStore): IStore {
  store.put = (_, done) => {
    done();
    return store;
  };
  store.del = (_, done) => {
    done();
    return store;
  };
  return store;
}

/** What the library is to speak over where it would make lines of its own, whose bytes nobody could tell. */
interface Over extends Partial<IClientOptions> {
  readonly socket?: Socket;
  /** To be closed where nothing comes of them. */
  readonly lines?: Connections;
}

async function linesFor(
  { url, connect_timeout_ms = CONNECT_TIMEOUT_MS }: Broker,
  counted: LineTo["counted"],
  signal: AbortSignal,
): Promise<Over> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const to = { host, within_ms: connect_timeout_ms, counted };
  switch (protocol) {
    case "mqtts:":
      return { socket: await lineWithin({ ...to, port: Number(port === "" ? 8883 : port) }, signal) };
    case "ws:":
      return overWebSocket(lineAgent(null, to));
    case "wss:":
      return overWebSocket(lineAgent(OLDEST_TLS, to));
    default:
      return {};
  }
}

function overWebSocket(lines: Connections): Over {
  return { lines, wsOptions: { agent: lines.agent } };
}

function lineWithin(to: LineTo, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = openLine(to, (error, line) => {
      forget();
      if (line === undefined) reject(error ?? new ServiceLinkError("unreachable", say("service.unreachable")));
      else resolve(line);
    });
    const forget = onAbort(signal, () => {
      socket.destroy();
      reject(signal.reason as Error);
    });
  });
}

/** What an MQTT packet has around its topic and payload. */
const AROUND_BYTES = 6;

/** The account of one connection: its packets tell what its bytes were for, its line how many they were. */
function accountOf({ counted, url }: Broker) {
  if (counted === undefined) return null;
  const { meter, purposeOf } = counted;
  let told = new Map<Purpose, Bytes>();
  let settle = (): void => undefined;
  const note = (packet: Packet, way: keyof Bytes): void => {
    const isMessage = packet.cmd === "publish";
    const purpose = purposeOf(packet.cmd, isMessage ? packet.topic : "");
    const { up, down } = told.get(purpose) ?? { up: 0, down: 0 };
    const bytes = AROUND_BYTES + (isMessage ? packet.topic.length + packet.payload.length : 0);
    told.set(purpose, way === "up" ? { up: up + bytes, down } : { up, down: down + bytes });
  };
  const purpose: SharedOut = () => {
    const shares = Object.fromEntries(told);
    told = new Map();
    return shares;
  };
  const counting: Meter = { count: (socket) => (settle = meter.count(socket, purpose)) };
  return {
    line: { meter: counting, purpose },
    /** What went so far was for what was told so far. */
    settle: () => settle(),
    follow(client: MqttClient): void {
      client.on("packetsend", (packet) => note(packet, "up"));
      client.on("packetreceive", (packet) => note(packet, "down"));
      // The library's own line, without TLS.
      if (new URL(url).protocol === "mqtt:" && client.stream instanceof Socket) counting.count(client.stream, purpose);
    },
  };
}

function connackOf(client: MqttClient): Promise<IConnackPacket> {
  // A second error of the same connection has nobody to tell.
  client.on("error", () => undefined);
  // Through a WebSocket's own handshake nobody gets who isn't taken.
  let taken = !(client.stream instanceof Socket);
  client.stream.once(client.stream instanceof TLSSocket ? "secureConnect" : "connect", () => (taken = true));
  const unanswered = (cause?: unknown): ServiceLinkError =>
    new ServiceLinkError("unanswered", say("service.unanswered"), cause);
  const unreachable = (cause?: unknown): ServiceLinkError =>
    new ServiceLinkError("unreachable", say("service.unreachable"), cause);
  return new Promise((resolve, reject) => {
    client.once("connect", resolve);
    client.once("error", (error) => {
      const isReset = ["ECONNRESET", "EPIPE"].includes(String(codeOf(error)));
      const isLate = error.message === "connack timeout";
      if (taken) reject(isReset ? unanswered(error) : error);
      else reject(isLate ? unreachable(error) : error);
    });
    client.once("close", () => reject(taken ? unanswered() : unreachable()));
  });
}

function certificateOf({ stream }: MqttClient): EpochMs | null {
  if (!(stream instanceof TLSSocket)) return null;
  const ends = Date.parse(stream.getPeerCertificate().valid_to);
  return Number.isNaN(ends) ? null : ends;
}

/** An error of the library, of Node or of the broker, as one of ours. */
export function typedError(error: unknown): ServiceLinkError {
  if (error instanceof ServiceLinkError) return error;
  if (error instanceof FileError) return new ServiceLinkError("file", error.message, error);
  const code = codeOf(error);
  const fault = code === undefined ? null : faultOfCode(code);
  const text = error instanceof Error && error.message !== "" ? error.message : String(code ?? error);
  return new ServiceLinkError(tlsFaultOf(error) ?? fault ?? "closed", tlsReason(error) ?? text, error);
}

/** An error may stand inside another: several addresses tried, or a WebSocket in between, which keeps what happened in an event. */
function codeOf(error: unknown): string | number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && (typeof error.code === "string" || typeof error.code === "number")) return error.code;
  const { event, cause } = error as { readonly event?: { readonly error?: unknown } | null; readonly cause?: unknown };
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : (event?.error ?? cause);
  return inner === error ? undefined : codeOf(inner);
}

/** Small buffers of Node share one piece of memory of this size; that is freed when none of them is in use any more. */
const POOL_BYTES = 1_024;

/**
 * The MQTT library keeps the four bytes of each packet length that it ever wrote, of 16,384 lengths at most, and with each of
 * them the whole piece that they were cut from: at Node's own size of 64 KiB a gigabyte in the end, and 4 MB for the
 * first 70 lengths. For the whole process.
 */
export function keepPoolSmall(): void {
  Buffer.poolSize = POOL_BYTES;
}

/** Bytes of a fixed header's length field at most (MQTT 2.1.4). */
const LENGTH_BYTES = 4;

/**
 * Watches a stream of MQTT packets for one longer than `limit`, before anything is kept of it: the library collects a packet
 * whole, whatever length it announces. Answers true from the first such packet, or length that is none, on.
 */
export function packetSizes(limit: number): (chunk: Uint8Array) => boolean {
  let skip = 0;
  let length: { value: number; bytes: number } | null = null;
  let broken = false;
  const header = (byte: number): void => {
    if (length === null) {
      length = { value: 0, bytes: 0 };
      return;
    }
    length.value += (byte & 0x7f) * 128 ** length.bytes;
    length.bytes += 1;
    if (byte >= 0x80) {
      broken ||= length.bytes === LENGTH_BYTES;
      return;
    }
    broken ||= length.value > limit;
    skip = length.value;
    length = null;
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length && !broken; at += 1) {
      const step = Math.min(skip, chunk.length - at);
      skip -= step;
      at += step;
      const byte = chunk[at];
      if (byte !== undefined) header(byte);
    }
    return broken;
  };
}
