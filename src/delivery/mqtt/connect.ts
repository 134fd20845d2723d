import { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import mqtt, { type IConnackPacket, type IClientOptions, type MqttClient } from "mqtt";
import { faultOfCode, isWayBlocked, ServiceLinkError } from "../../domain/service-link-error.ts";
import type { MqttVersion } from "../../domain/status.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Clock } from "../../domain/machine.ts";
import type { LinkAccount } from "../port.ts";
import { keepPoolSmall } from "./buffer-pool.ts";
import { packetSizes } from "./packet-sizes.ts";
import { withPublicRoots, type ClientCertificate } from "../tls.ts";

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

export interface MqttDialParts {
  readonly clock: Clock;
  readonly ca?: string;
  /** Asked at each connect. */
  readonly client_certificate?: () => ClientCertificate | undefined;
  readonly connect_timeout_ms?: Milliseconds;
}

export interface Dial {
  readonly account: LinkAccount;
  readonly will: NonNullable<IClientOptions["will"]>;
  readonly signal: AbortSignal;
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
export function createDialler(parts: MqttDialParts): (dial: Dial) => Promise<Dialled> {
  keepPoolSmall();
  const known: Known = { url: null, older: null };
  return async (dial) => {
    const failures: ServiceLinkError[] = [];
    for (const url of waysOf(dial.account, known.url)) {
      try {
        refuseOpen(url);
        const dialled = await dialUrl({ parts, dial, known }, url);
        known.url = url;
        return dialled;
      } catch (error) {
        const typed = typedError(error);
        failures.push(typed);
        if (!isWayBlocked(typed.fault)) break;
      }
    }
    // The last one went furthest: what blocked the ways before it is the lesser news.
    throw failures.at(-1) ?? new ServiceLinkError("unknown_host", "the service names no broker");
  };
}

interface Known {
  url: string | null;
  /** A broker that took 3.1.1 after it hadn't taken 5, until when that counts, and how it had refused. */
  older: { readonly url: string; readonly until: Milliseconds; readonly why: string } | null;
}

/** MQTT 5, or 3.1.1 for brokers that know no other. */
type ProtocolVersion = 4 | 5;

function waysOf({ url, ws_url }: LinkAccount, known: string | null): string[] {
  const ways = ws_url === null || ws_url === url ? [url] : [url, ws_url];
  return ways.sort((a, b) => Number(b === known) - Number(a === known));
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const isSecure = (url: string): boolean => ["mqtts:", "wss:"].includes(new URL(url).protocol);

/** The broker's address comes from the service: without TLS the credential goes to this machine alone. */
function refuseOpen(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (isSecure(url) || LOOPBACK.test(hostname)) return;
  throw new ServiceLinkError(
    "tls",
    `the service names ${protocol}//${hostname} as its broker: without TLS nothing is sent there`,
  );
}

interface Dialling {
  readonly parts: MqttDialParts;
  readonly dial: Dial;
  readonly known: Known;
}

async function dialUrl({ parts, dial, known }: Dialling, url: string): Promise<Dialled> {
  const { older } = known;
  // Whatever keeps 3.1.1 from being taken now, 5 is asked for first the next time.
  known.older = null;
  if (older?.url === url && parts.clock.mono() < older.until) {
    const dialled = await dialOnce(parts, dial, { url, version: 4 });
    known.older = older;
    return { ...dialled, mqtt: { version: "3.1.1", why: older.why } };
  }
  try {
    return await dialOnce(parts, dial, { url, version: 5 });
  } catch (error) {
    const why = refusalOf5(error);
    if (why === null) throw error;
    const dialled = await dialOnce(parts, dial, { url, version: 4 });
    known.older = { url, until: parts.clock.mono() + ASK_5_AGAIN_MS, why };
    return { ...dialled, mqtt: { version: "3.1.1", why } };
  }
}

/** How brokers of 3.1.1 and of 5 say that they don't speak the version asked for. */
const VERSION_REFUSED: ReadonlySet<unknown> = new Set([1, 132]);

/** Why it is taken for one; "": the broker says so itself; null: it isn't. Some brokers of 3.1.1 close at 5 without a word, as one does that is ending. */
function refusalOf5(error: unknown): string | null {
  if (error instanceof ServiceLinkError && error.fault === "unanswered")
    return "since the broker closes the connection at MQTT 5; 5 is asked for again within hours";
  const isRefused = error instanceof Error && "code" in error && VERSION_REFUSED.has(error.code);
  return isRefused ? "" : null;
}

async function dialOnce(
  parts: MqttDialParts,
  { account, will, signal }: Dial,
  { url, version }: { readonly url: string; readonly version: ProtocolVersion },
): Promise<Dialled> {
  const { ca } = parts;
  signal.throwIfAborted();
  const client = mqtt.connect(url, {
    clientId: account.client_id,
    username: account.username,
    password: account.credential,
    protocolVersion: version,
    clean: true,
    keepalive: KEEPALIVE_S,
    connectTimeout: parts.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
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
    ...(isSecure(url) ? parts.client_certificate?.() : {}),
    will,
  });
  // A batch's last piece must not wait a round trip until those before it are confirmed.
  if (client.stream instanceof Socket) client.stream.setNoDelay(true);
  const isTooLong = packetSizes(MAX_PACKET_BYTES);
  client.stream.on("data", (chunk: Buffer) => {
    if (!isTooLong(chunk)) return;
    client.emit("error", new ServiceLinkError("protocol", "the broker sent a packet too long"));
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
    new ServiceLinkError("unanswered", "the broker took the connection and closed it without an answer", cause);
  return new Promise((resolve, reject) => {
    client.once("connect", resolve);
    client.once("error", (error) => reject(taken && isReset(error) ? unanswered(error) : error));
    client.once("close", () =>
      reject(taken ? unanswered() : new ServiceLinkError("unreachable", "the broker can't be reached")),
    );
  });
}

function isReset(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ECONNRESET" || code === "EPIPE";
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

/** An error may stand inside another: several addresses tried, or a WebSocket in between. */
function codeOf(error: unknown): string | number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && (typeof error.code === "string" || typeof error.code === "number")) return error.code;
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : (innerOf(error) ?? error.cause);
  return inner === error ? undefined : codeOf(inner);
}

/** The WebSocket stream keeps what happened in an event. */
function innerOf(error: Error): unknown {
  const event: unknown = "event" in error ? error.event : undefined;
  return typeof event === "object" && event !== null && "error" in event ? event.error : undefined;
}
