import { systemErrorText } from "../../domain/system-error.ts";
import { message, type Text } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import type { IClientOptions, IConnackPacket, IStore, MqttClient, Packet } from "mqtt";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type CertificatePair, FileError } from "../../credential-files.ts";
import { faultOfCode, ServiceLinkError, tlsFaultOf } from "../../domain/link-error.ts";
import { onAbort } from "../../domain/signal.ts";
import type { Bytes, Meter, Purpose, SharedOut } from "../../domain/traffic.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { type Connections, lineAgent, type LineTo, openLine } from "../line.ts";
import { tlsReason, trustIn } from "../tls.ts";

/** A bounded and verified connection to an MQTT broker. All stations that use MQTT share this code. */

/** Deadline of the broker's answer, first for the connection and then for the subscription. */
export const CONNECT_TIMEOUT_MS: Milliseconds = 10_000;
const KEEPALIVE_S = 30;
/** Timer functions that never fire, to turn off the library's own pings. */
const NO_TIMER = { set: () => 0, clear: () => undefined };
/** Size limit of a received packet. Acks and commands are far shorter. */
const MAX_PACKET_BYTES = 128 * 1024;
const OLDEST_TLS = { minVersion: "TLSv1.2" } as const;
/** Receive maximum of a broker that sends none: the number of packet identifiers in the protocol. */
const ALL_IN_FLIGHT = 65_535;

/** A broker to connect to, and the account for it. */
interface Broker {
  readonly url: string;
  readonly client_id: string;
  readonly username?: string;
  readonly password?: string;
  readonly will?: NonNullable<IClientOptions["will"]>;
  readonly protocol: 4 | 5;
  /** Certificate of a site's own authority, PEM. */
  readonly ca?: string | undefined;
  /** The gateway's own certificate. */
  readonly certificate?: CertificatePair | undefined;
  /** True: the caller sends the pings, more often than every 30 s. Default: the library sends them. */
  readonly own_pings?: boolean;
  /** Deadline of the connection. Default: 10 s. */
  readonly connect_timeout_ms?: Milliseconds | undefined;
  /** Counts the bytes by purpose. `topic` is a message's topic; "" for other packets. Absent: the bytes aren't counted. */
  readonly counted?:
    { readonly meter: Meter; readonly purposeOf: (cmd: Packet["cmd"], topic: string) => Purpose } | undefined;
}

/** A connection, with the limits from the broker's CONNACK. An MQTT 3.1.1 broker sends no limits. */
export interface Connected {
  readonly client: MqttClient;
  readonly url: string;
  readonly protocol: 4 | 5;
  /** Maximum number of pending QoS 1 messages that the broker allows. */
  readonly receive_maximum: number;
  /** Size of the longest packet that the broker accepts, bytes. */
  readonly maximum_packet_size: number;
  readonly maximum_qos: 0 | 1;
  /** False: the broker ends the session at a retained message or will. */
  readonly retain_available: boolean;
  /** Longest time without a packet from the gateway, in seconds: as requested, or as the broker demands. */
  readonly keep_alive_s: number;
  /** Expiry of the broker's certificate; null: unknown. */
  readonly certificate_ends: EpochMs | null;
}

/** Returns whether the connection to this URL is encrypted. */
export const isSecure = (url: string): boolean => ["mqtts:", "wss:"].includes(new URL(url).protocol);

/** Reason codes of a connection that is refused because of the will: retain not supported, QoS not supported (MQTT 5, 3.2.2.2). */
const NO_RETAIN = 0x9a;
const NO_SUCH_QOS = 0x9b;

/**
 * Connects once. A broker that doesn't support retained messages, or only QoS 0, refuses the first attempt with that reason; then the will
 * is adapted. Rejects with the library's error, with a ServiceLinkError, or with the signal's reason when aborted.
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
  // Loads the library with the first session, which is after the first reading. Loading it earlier would take a tenth of the start.
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
    // Sets a keep-alive, without which the broker would never notice that a gateway has lost its power.
    keepalive: KEEPALIVE_S,
    ...(broker.own_pings === true ? { timerVariant: NO_TIMER } : {}),
    connectTimeout: broker.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    outgoingStore: keepingNothing(new Store()),
    // Switches off the library's cache, which would hold all 65,536 two-byte numbers, 13 MB, for few packets.
    writeCache: false,
    rejectUnauthorized: true,
    ...OLDEST_TLS,
    ...(protocol === 5 ? { properties: { maximumPacketSize: MAX_PACKET_BYTES } } : {}),
    ...(ca === undefined ? {} : trustIn(ca)),
    // Passes the certificate only with TLS. Otherwise the library would use TLS whenever there is a certificate, regardless of the URL.
    ...(isSecure(url) ? certificate : {}),
    ...(will === undefined ? {} : { will }),
  });
  account?.follow(client);
  // Sends small segments at once. Otherwise, a batch's last segment would wait a round trip for the acknowledgement of the earlier
  // segments.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
  const refuse = (reason: Text): void => {
    client.emit("error", new ServiceLinkError("protocol", reason));
    client.stream.destroy();
  };
  const isTooLong = packetSizes(MAX_PACKET_BYTES);
  client.stream.on("data", (chunk: Buffer) => {
    if (isTooLong(chunk)) refuse(message("service.packet_too_long"));
  });
  // Refuses QoS 2, because the library keeps each such message until the broker releases it, up to 65,535 of them. Subscriptions request at
  // most QoS 1.
  client.on("packetreceive", (packet) => {
    if (packet.cmd === "publish" && packet.qos === 2) refuse(message("service.qos_2"));
  });
  const stop = (): void => void client.end(true);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const connack = await connackOf(client);
    account?.settle();
    return { client, url, protocol, ...limitsIn(connack), certificate_ends: certificateEndOf(client) };
  } catch (error) {
    client.end(true);
    lines?.close(error instanceof Error ? error : new Error(String(error)));
    // Throws the abort's reason after a stop, which also closes the connection but says nothing about the broker.
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

/**
 * Makes the library's store keep nothing. The library needs the store only for resending after its own reconnection, which is turned off.
 */
function keepingNothing(store: IStore): IStore {
  const ignore = (_: unknown, done: () => void): IStore => {
    done();
    return store;
  };
  return Object.assign(store, { put: ignore, del: ignore });
}

/** Options for a connection that the gateway opens for the library. The bytes of the library's own connection couldn't be counted. */
interface Over extends Partial<IClientOptions> {
  readonly socket?: Socket;
  /** Connections to close if the library's connection fails. */
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
  if (protocol === "mqtts:") return { socket: await openSocket({ ...to, port: Number(port || 8883) }, signal) };
  if (!protocol.startsWith("ws")) return {};
  const lines = lineAgent(protocol === "wss:" ? OLDEST_TLS : null, to);
  return { lines, wsOptions: { agent: lines.agent } };
}

function openSocket(to: LineTo, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = openLine(to, (error, line) => {
      forget();
      if (line === undefined) reject(error ?? new ServiceLinkError("unreachable", message("service.unreachable")));
      else resolve(line);
    });
    const forget = onAbort(signal, () => {
      socket.destroy();
      reject(signal.reason as Error);
    });
  });
}

/** Bytes of an MQTT packet without topic and payload. */
const OVERHEAD_BYTES = 6;

/**
 * Splits the bytes of one connection among purposes. The connection's packets show the purposes, and its socket shows the number of bytes.
 */
function accountOf({ counted, url }: Broker) {
  if (counted === undefined) return null;
  const { meter, purposeOf } = counted;
  let noted = new Map<Purpose, Bytes>();
  let settle = (): void => undefined;
  const note = (packet: Packet, direction: keyof Bytes): void => {
    const isMessage = packet.cmd === "publish";
    const purpose = purposeOf(packet.cmd, isMessage ? packet.topic : "");
    const before = noted.get(purpose) ?? { up: 0, down: 0 };
    const bytes = OVERHEAD_BYTES + (isMessage ? packet.topic.length + packet.payload.length : 0);
    noted.set(purpose, { ...before, [direction]: before[direction] + bytes });
  };
  const purpose: SharedOut = () => {
    const shares = Object.fromEntries(noted);
    noted = new Map();
    return shares;
  };
  const counting: Meter = { count: (socket) => (settle = meter.count(socket, purpose)) };
  return {
    line: { meter: counting, purpose },
    /** Splits the bytes counted so far among the purposes of the packets noted so far. */
    settle: () => settle(),
    follow(client: MqttClient): void {
      client.on("packetsend", (packet) => note(packet, "up"));
      client.on("packetreceive", (packet) => note(packet, "down"));
      // Counts the bytes of a socket that the library opens itself, which it does without TLS and WebSocket.
      if (new URL(url).protocol === "mqtt:" && client.stream instanceof Socket) counting.count(client.stream, purpose);
    },
  };
}

function connackOf(client: MqttClient): Promise<IConnackPacket> {
  // Prevents an exception if the same connection has a second error.
  client.on("error", () => undefined);
  // Treats a WebSocket as established at this point, because a failed handshake is reported earlier.
  let isEstablished = !(client.stream instanceof Socket);
  client.stream.once(client.stream instanceof TLSSocket ? "secureConnect" : "connect", () => (isEstablished = true));
  const unanswered = (cause?: unknown): ServiceLinkError =>
    new ServiceLinkError("unanswered", message("service.unanswered"), cause);
  const unreachable = (cause?: unknown): ServiceLinkError =>
    new ServiceLinkError("unreachable", message("service.unreachable"), cause);
  return new Promise((resolve, reject) => {
    client.once("connect", resolve);
    client.once("error", (error) => {
      const isReset = ["ECONNRESET", "EPIPE"].includes(String(codeOf(error)));
      const isLate = error.message === "connack timeout";
      if (isEstablished) reject(isReset ? unanswered(error) : error);
      else reject(isLate ? unreachable(error) : error);
    });
    client.once("close", () => reject(isEstablished ? unanswered() : unreachable()));
  });
}

function certificateEndOf({ stream }: MqttClient): EpochMs | null {
  if (!(stream instanceof TLSSocket)) return null;
  const ends = Date.parse(stream.getPeerCertificate().valid_to);
  return Number.isNaN(ends) ? null : ends;
}

/** Returns an error of the library, of Node or of the broker as a ServiceLinkError. */
export function typedError(error: unknown): ServiceLinkError {
  if (error instanceof ServiceLinkError) return error;
  if (error instanceof FileError) return new ServiceLinkError("file", errorText(error), error);
  const code = codeOf(error);
  const fault = code === undefined ? null : faultOfCode(code);
  const text = error instanceof Error && error.message !== "" ? systemErrorText(error) : String(code ?? error);
  return new ServiceLinkError(tlsFaultOf(error) ?? fault ?? "closed", tlsReason(error) ?? text, error);
}

/** Returns the code of an error or of its inner error. Node tries several addresses, and a WebSocket keeps its error in an event. */
function codeOf(error: unknown): string | number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && (typeof error.code === "string" || typeof error.code === "number")) return error.code;
  const { event, cause } = error as { readonly event?: { readonly error?: unknown } | null; readonly cause?: unknown };
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : (event?.error ?? cause);
  return inner === error ? undefined : codeOf(inner);
}

/** Size of the pool from which Node cuts small buffers. A pool is freed when all buffers from it are freed. */
const POOL_BYTES = 1_024;

/**
 * Makes Node's buffer pool small, for the whole process. The MQTT library caches the four bytes of each packet length that it has written,
 * for up to 16,384 lengths. Each cached buffer keeps its whole pool in memory. With Node's default of 64 KiB, that would be a gigabyte in
 * the end, and 4 MB for the first 70 lengths.
 */
export function keepPoolSmall(): void {
  Buffer.poolSize = POOL_BYTES;
}

/** Maximum number of bytes in a fixed header's length field (MQTT 2.1.4). */
const LENGTH_BYTES = 4;

/**
 * Returns a function that checks a stream of MQTT packets. The function returns true from the first packet on that is longer than `limit`
 * or has an invalid length. Without this check, the library would buffer a packet of any announced length.
 */
export function packetSizes(limit: number): (chunk: Uint8Array) => boolean {
  let skip = 0;
  let length: { value: number; bytes: number } | null = null;
  let isBroken = false;
  const readHeader = (byte: number): void => {
    if (length === null) {
      length = { value: 0, bytes: 0 };
      return;
    }
    length.value += (byte & 0x7f) * 128 ** length.bytes;
    length.bytes += 1;
    if (byte >= 0x80) {
      isBroken ||= length.bytes === LENGTH_BYTES;
      return;
    }
    isBroken ||= length.value > limit;
    skip = length.value;
    length = null;
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length && !isBroken; at += 1) {
      const step = Math.min(skip, chunk.length - at);
      skip -= step;
      at += step;
      const byte = chunk[at];
      if (byte !== undefined) readHeader(byte);
    }
    return isBroken;
  };
}
