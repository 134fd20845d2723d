import type { IClientOptions, Packet } from "mqtt";
import { TOPICS } from "../../contract/telemetry.ts";
import type { Meter, Purpose } from "../../domain/traffic.ts";
import type { Clock, Logger } from "../../domain/machine.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { isWayBlocked, ServiceLinkError } from "../../domain/link-error.ts";
import type { MqttVersion } from "../../domain/status.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { LinkAccount } from "../port.ts";
import type { CertificatePair } from "../../credential-files.ts";
import { type Connected, connectOnce, isSecure, keepPoolSmall, typedError } from "./dial.ts";
import { say } from "../../domain/sentences.ts";

/** A broker that took 3.1.1 alone is asked for 5 again at the first connect after so long: it may have been renewed. */
const ASK_5_AGAIN_MS: Milliseconds = 6 * 3_600_000;
/** What sessions with the broker are made with. */
export interface MqttSetup {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: ServiceTime;
  readonly agentVersion: string;
  /** The site's own authority, PEM, or what reads it at each connect. */
  readonly ca?: string | (() => string);
  /** Asked at each connect. */
  readonly client_certificate?: () => CertificatePair | undefined;
  /** Default 10 s. */
  readonly connect_timeout_ms?: Milliseconds;
  /** From a batch's sending to the service's ack. Default 15 s. */
  readonly ack_deadline_ms?: Milliseconds;
  /** Counts what goes there and comes back; absent: nobody does. */
  readonly meter?: Meter | undefined;
}

interface Dial {
  readonly account: LinkAccount;
  readonly will: NonNullable<IClientOptions["will"]>;
  readonly signal: AbortSignal;
  /** What the box shows of itself, where it has a certificate. */
  readonly shown: () => CertificatePair | undefined;
}

export interface Dialled extends Connected {
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
  protocol: 4 | 5,
): Promise<Dialled> {
  const { ca, connect_timeout_ms, meter } = setup;
  const certificate = isSecure(url) ? shown() : undefined;
  const connected = await connectOnce(
    {
      url,
      will,
      protocol,
      client_id: account.client_id,
      username: account.username,
      password: account.credential,
      ...(ca === undefined ? {} : { ca: typeof ca === "string" ? ca : ca() }),
      ...(certificate === undefined ? {} : { certificate }),
      ...(connect_timeout_ms === undefined ? {} : { connect_timeout_ms }),
      ...(meter === undefined ? {} : { counted: { meter, purposeOf } }),
    },
    signal,
  );
  return { ...connected, mqtt: { version: "5", why: "" } };
}

/** Confirmations go with the readings: hardly anything else is confirmed. */
function purposeOf(cmd: Packet["cmd"], topic: string): Purpose {
  const isOf = (...names: readonly string[]): boolean => names.some((name) => topic.endsWith(`/${name}`));
  if (cmd === "pingreq" || cmd === "pingresp" || isOf(TOPICS.state)) return "heartbeats";
  return cmd === "puback" || isOf(TOPICS.batch, TOPICS.chunk, TOPICS.ack) ? "readings" : "session";
}
