import type { IClientOptions, IConnackPacket, MqttClient } from "mqtt";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Clock, Logger } from "../../domain/machine.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { faultOfCode, isWayBlocked, ServiceLinkError } from "../../domain/link-error.ts";
import type { MqttVersion } from "../../domain/status.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { LinkAccount } from "../port.ts";
import { type ClientCertificate, withPublicRoots } from "../tls.ts";
import { say } from "../../domain/sentences.ts";

/** From the first packet to the broker's answer, for the connection and then for the subscription. */
export const CONNECT_TIMEOUT_MS: Milliseconds = 10_000;
const KEEPALIVE_S = 30;
/** Longer packets than this nobody has a reason to send us: acks and commands are far below. */
const MAX_PACKET_BYTES = 128 * 1024;
const OLDEST_TLS = { minVersion: "TLSv1.2" } as const;
/** A broker that took 3.1.1 alone is asked for 5 again at the first connect after so long: it may have been renewed. */
const ASK_5_AGAIN_MS: Milliseconds = 6 * 3_600_000;
/** Without a word from the broker: as many as the protocol has identifiers for. */
const ALL_IN_FLIGHT = 65_535;

/** What sessions with the broker are made with. */
export interface MqttSetup {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: ServiceTime;
  readonly agentVersion: string;
  readonly ca?: string;
  /** Asked at each connect. */
  readonly client_certificate?: () => ClientCertificate | undefined;
  /** Default 10 s. */
  readonly connect_timeout_ms?: Milliseconds;
  /** From a batch's sending to the service's ack. Default 15 s. */
  readonly ack_deadline_ms?: Milliseconds;
}

interface Dial {
  readonly account: LinkAccount;
  readonly will: NonNullable<IClientOptions["will"]>;
  readonly signal: AbortSignal;
  /** What the box shows of itself, where it has a certificate. */
  readonly shown: () => ClientCertificate | undefined;
}

export interface Dialled {
  readonly client: MqttClient;
  readonly url: string;
  /** QoS 1 messages that the broker lets be under way. */
  readonly receive_maximum: number;
  /** Longest packet that the broker takes, bytes. */
  readonly maximum_packet_size: number;
  /** When the broker's certificate ends; null: not known. */
  readonly certificate_ends: EpochMs | null;
  readonly mqtt: MqttVersion;
}

/**
 * Connects to the service's broker: over the way that worked last, else over the others in turn, each with MQTT 5, or with 3.1.1
 * where the broker refuses 5, or closes at it without an answer. What worked is remembered.
 */
export function createDialler(setup: MqttSetup): (dial: Dial) => Promise<Dialled> {
  keepPoolSmall();
  const known: Known = { url: null, older: null };
  return async (dial) => {
    const failures: ServiceLinkError[] = [];
    for (const url of waysOf(dial.account, known.url)) {
      try {
        const { protocol, hostname } = new URL(url);
        // The broker's address comes from the service: without TLS the credential goes to this machine alone.
        const open = `the service names ${protocol}//${hostname} as its broker: without TLS nothing is sent there`;
        if (!isSecure(url) && !LOOPBACK.test(hostname)) throw new ServiceLinkError("tls", open);
        const dialled = await dialUrl(setup, { ...dial, url }, known);
        known.url = url;
        return dialled;
      } catch (error) {
        const typed = typedError(error);
        failures.push(typed);
        if (!isWayBlocked(typed.fault)) break;
      }
    }
    // The last one went furthest: what blocked the ways before it is the lesser news.
    throw failures.at(-1) ?? new ServiceLinkError("unknown_host", say("service.no_broker"));
  };
}

interface Known {
  url: string | null;
  /** A broker that took 3.1.1 after it hadn't taken 5, until when that counts, and how it had refused. */
  older: { readonly url: string; readonly until: Milliseconds; readonly why: string } | null;
}

function waysOf({ url, ws_url }: LinkAccount, known: string | null): string[] {
  const ways = ws_url === null || ws_url === url ? [url] : [url, ws_url];
  return ways.sort((a, b) => Number(b === known) - Number(a === known));
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const isSecure = (url: string): boolean => ["mqtts:", "wss:"].includes(new URL(url).protocol);

async function dialUrl(setup: MqttSetup, dial: Dial & { readonly url: string }, known: Known): Promise<Dialled> {
  const { url } = dial;
  const { older } = known;
  // Whatever keeps 3.1.1 from being taken now, 5 is asked for first the next time.
  known.older = null;
  if (older?.url === url && setup.clock.mono() < older.until) {
    const dialled = await dialOnce(setup, dial, 4);
    known.older = older;
    return { ...dialled, mqtt: { version: "3.1.1", why: older.why } };
  }
  try {
    return await dialOnce(setup, dial, 5);
  } catch (error) {
    const why = refusalOf5(error);
    if (why === null) throw error;
    const dialled = await dialOnce(setup, dial, 4);
    known.older = { url, until: setup.clock.mono() + ASK_5_AGAIN_MS, why };
    return { ...dialled, mqtt: { version: "3.1.1", why } };
  }
}

/** Why it is taken for one; "": the broker says so itself; null: it isn't. Some brokers of 3.1.1 close at 5 without a word, as one does that is ending. */
function refusalOf5(error: unknown): string | null {
  if (error instanceof ServiceLinkError && error.fault === "unanswered")
    return "since the broker closes the connection at MQTT 5; 5 is asked for again within hours";
  // How brokers of 3.1.1 and of 5 say that they don't speak the version asked for.
  const isRefused = error instanceof Error && "code" in error && (error.code === 1 || error.code === 132);
  return isRefused ? "" : null;
}

async function dialOnce(
  setup: MqttSetup,
  { account, will, signal, shown, url }: Dial & { readonly url: string },
  version: 4 | 5,
): Promise<Dialled> {
  const { ca } = setup;
  // At the first session, which is after the first reading: loading it would take a tenth of a start.
  const { connect } = await import("mqtt");
  signal.throwIfAborted();
  const client = connect(url, {
    clientId: account.client_id,
    username: account.username,
    password: account.credential,
    protocolVersion: version,
    clean: true,
    keepalive: KEEPALIVE_S,
    connectTimeout: setup.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    // Else all 65,536 numbers of two bytes are made in advance: 13 MB, for packets that are few.
    writeCache: false,
    rejectUnauthorized: true,
    ...OLDEST_TLS,
    ...(version === 5 ? { properties: { maximumPacketSize: MAX_PACKET_BYTES } } : {}),
    ...(ca === undefined ? {} : { ca: withPublicRoots(ca) }),
    // With one the library would speak TLS whatever the URL says.
    ...(isSecure(url) ? shown() : {}),
    will,
  });
  // A batch's last piece must not wait a round trip until those before it are confirmed.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
  const isTooLong = packetSizes(MAX_PACKET_BYTES);
  client.stream.on("data", (chunk: Buffer) => {
    if (!isTooLong(chunk)) return;
    client.emit("error", new ServiceLinkError("protocol", say("service.packet_too_long")));
    client.stream.destroy();
  });
  const stop = (): void => void client.end(true);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const connack = await connackOf(client);
    return {
      client,
      url,
      receive_maximum: connack.properties?.receiveMaximum ?? ALL_IN_FLIGHT,
      maximum_packet_size: connack.properties?.maximumPacketSize ?? Infinity,
      certificate_ends: certificateOf(client),
      mqtt: { version: "5", why: "" },
    };
  } catch (error) {
    client.end(true);
    // Who stops closes the connection too: that isn't the broker's word about anything.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function connackOf(client: MqttClient): Promise<IConnackPacket> {
  // A second error of the same connection has nobody to tell.
  client.on("error", () => undefined);
  // Through a WebSocket's own handshake nobody gets who isn't taken.
  let taken = !(client.stream instanceof Socket);
  client.stream.once(client.stream instanceof TLSSocket ? "secureConnect" : "connect", () => (taken = true));
  const unanswered = (cause?: unknown): ServiceLinkError =>
    new ServiceLinkError("unanswered", say("service.unanswered"), cause);
  return new Promise((resolve, reject) => {
    client.once("connect", resolve);
    client.once("error", (error) => {
      const isReset = ["ECONNRESET", "EPIPE"].includes(String(codeOf(error)));
      reject(taken && isReset ? unanswered(error) : error);
    });
    client.once("close", () =>
      reject(taken ? unanswered() : new ServiceLinkError("unreachable", say("service.unreachable"))),
    );
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
  const code = codeOf(error);
  const fault = code === undefined ? null : faultOfCode(code);
  const text = error instanceof Error && error.message !== "" ? error.message : String(code ?? error);
  return new ServiceLinkError(fault ?? "closed", text, error);
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
