import { message } from "../../domain/message.ts";
import { X509Certificate } from "node:crypto";
import type { IClientOptions, Packet } from "mqtt";
import { TOPICS } from "../../contract/telemetry.ts";
import type { CertificatePair } from "../../credential-files.ts";
import { isWayBlocked, ServiceLinkError } from "../../domain/link-error.ts";
import type { Clock, Logger } from "../../domain/machine.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { certificateStatus, type KnownCertificate, type MqttVersion } from "../../domain/status.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { Meter, Purpose } from "../../domain/traffic.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { LinkAccount } from "../port.ts";
import { type Connected, connectOnce, isSecure, keepPoolSmall, typedError } from "./dial.ts";

/** Time after which a broker that accepted only MQTT 3.1.1 is asked for version 5 again. It may have been upgraded. */
const ASK_5_AGAIN_MS: Milliseconds = 6 * HOUR_MS;

/** Dependencies and settings of the sessions with the broker. */
export interface MqttSetup {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_time: ServiceTime;
  readonly agentVersion: string;
  /** Certificate of the site's own authority, PEM, or a function that reads it at each connect. */
  readonly ca?: string | (() => string);
  /** Returns the gateway's own certificate. Called at each connect. */
  readonly client_certificate?: () => CertificatePair | undefined;
  /** Deadline of the connection. Default: 10 s. */
  readonly connect_timeout_ms?: Milliseconds;
  /** Time from sending a batch to the service's ack. Default: 15 s. */
  readonly ack_deadline_ms?: Milliseconds;
  /** Counts the bytes in both directions. Absent: the bytes aren't counted. */
  readonly meter?: Meter | undefined;
}

interface Dial {
  readonly account: LinkAccount;
  readonly will: NonNullable<IClientOptions["will"]>;
  readonly signal: AbortSignal;
}

export interface Dialled extends Connected {
  readonly mqtt: MqttVersion;
}

/** A broker that accepted 3.1.1 after refusing 5. `until`: time at which it is asked for 5 again. `why`: how it refused. */
interface OlderBroker {
  readonly url: string;
  readonly until: Milliseconds;
  readonly why: string;
}

/**
 * Makes the dialler, which connects to the service's broker: first at the URL that worked last, then at the other URL. It tries MQTT 5
 * first, and 3.1.1 if the broker refuses 5 or closes the connection without an answer. It remembers what worked.
 */
export function createDialler(setup: MqttSetup) {
  keepPoolSmall();
  const certificates = knownCertificates(setup);
  let lastUrl: string | null = null;
  let older: OlderBroker | null = null;
  const dialUrl = async (dial: Dial, url: string): Promise<Dialled> => {
    const known: OlderBroker | null = older;
    const connect = (protocol: 4 | 5): Promise<Connected> =>
      connectBy(setup, { ...dial, url, protocol, certificate: isSecure(url) ? certificates.own() : undefined });
    // Forgets for now that the broker needs 3.1.1. If 3.1.1 fails now, the next attempt asks for 5 first.
    older = null;
    if (known?.url === url && setup.clock.mono() < known.until) {
      const connected = await connect(4);
      older = known;
      return { ...connected, mqtt: { version: "3.1.1", why: known.why } };
    }
    try {
      return { ...(await connect(5)), mqtt: { version: "5", why: "" } };
    } catch (error) {
      const why = refusalOf5(error);
      if (why === null) throw error;
      const connected = await connect(4);
      older = { url, until: setup.clock.mono() + ASK_5_AGAIN_MS, why };
      return { ...connected, mqtt: { version: "3.1.1", why } };
    }
  };
  return {
    ...certificates,
    async dial(dial: Dial): Promise<Dialled> {
      const failures: ServiceLinkError[] = [];
      for (const url of urlsOf(dial.account, lastUrl)) {
        try {
          const { protocol, hostname } = new URL(url);
          // Sends the credential without TLS only to this machine, because the service chooses the broker's address.
          const open = message("service.open_broker", { broker: `${protocol}//${hostname}` });
          if (!isSecure(url) && !LOOPBACK.test(hostname)) throw new ServiceLinkError("tls", open);
          const dialled = await dialUrl(dial, url);
          lastUrl = url;
          certificates.seen(url, dialled.certificate_ends);
          return dialled;
        } catch (error) {
          const typed = typedError(error);
          failures.push(typed);
          if (!isWayBlocked(typed.fault)) break;
        }
      }
      // Throws the error of the last attempt, which got furthest and whose error is the most useful.
      throw failures.at(-1) ?? new ServiceLinkError("unknown_host", message("service.no_broker"));
    },
  };
}

function urlsOf({ url, ws_url }: LinkAccount, last: string | null): string[] {
  const urls = ws_url === null || ws_url === url ? [url] : [url, ws_url];
  return urls.sort((a, b) => Number(b === last) - Number(a === last));
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Returns why an error counts as a refusal of MQTT 5; "": the broker refuses it explicitly; null: the error has another cause. Some brokers
 * of 3.1.1 close the connection without an answer, which a stopping broker also does.
 */
function refusalOf5(error: unknown): string | null {
  if (error instanceof ServiceLinkError && error.fault === "unanswered")
    return "since the broker closes the connection at MQTT 5; 5 is asked for again within hours";
  // Recognizes "unacceptable protocol version" by the reason codes of 3.1.1 and of 5.
  const isRefused = error instanceof Error && "code" in error && (error.code === 1 || error.code === 132);
  return isRefused ? "" : null;
}

interface DialBy extends Dial {
  readonly url: string;
  readonly protocol: 4 | 5;
  readonly certificate: CertificatePair | undefined;
}

function connectBy(
  { ca, connect_timeout_ms, meter }: MqttSetup,
  { account, signal, ...dial }: DialBy,
): Promise<Connected> {
  const broker = {
    ...dial,
    client_id: account.client_id,
    username: account.username,
    password: account.credential,
    ca: typeof ca === "function" ? ca() : ca,
    connect_timeout_ms,
    counted: meter && { meter, purposeOf },
  };
  return connectOnce(broker, signal);
}

/**
 * Returns the purpose that a packet's bytes are counted for. A PUBACK counts as readings, because hardly any other message is confirmed.
 */
function purposeOf(cmd: Packet["cmd"], topic: string): Purpose {
  const isOf = (...names: readonly string[]): boolean => names.some((name) => topic.endsWith(`/${name}`));
  if (cmd === "pingreq" || cmd === "pingresp" || isOf(TOPICS.state)) return "heartbeats";
  return cmd === "puback" || isOf(TOPICS.batch, TOPICS.chunk, TOPICS.ack) ? "readings" : "session";
}

/** Remembers the certificates of both sides, and warns before they expire. */
function knownCertificates({ clock, log, client_certificate }: MqttSetup) {
  let ours: KnownCertificate | null = null;
  let brokers: KnownCertificate | null = null;
  const warned = new Set<string>();
  /** Reads the gateway's own certificate. */
  const own = (): CertificatePair | undefined => {
    const certificate = client_certificate?.();
    if (certificate === undefined) return undefined;
    const expires = new X509Certificate(certificate.cert).validToDate.getTime();
    ours = { link: "service", server: null, expires };
    return certificate;
  };
  try {
    own();
  } catch {
    // Ignores an unusable file here, because each connect reports it.
  }
  const certificates = (): readonly KnownCertificate[] => [ours, brokers].filter((certificate) => certificate !== null);
  return {
    own,
    certificates,
    seen(server: string, expires: number | null): void {
      if (expires !== null) brokers = { link: "service", server, expires };
    },
    /** Warns once of each certificate that expires within a month or has expired. Must be called regularly. */
    warnOfExpiry(): void {
      for (const known of certificates()) {
        const { server, expires, state, advice } = certificateStatus(known, clock.wall());
        const key = `${server ?? ""} ${expires} ${state}`;
        if (state === "valid" || warned.has(key)) continue;
        warned.add(key);
        const whose = server === null ? message("certificate.log.own") : message("certificate.log.server", { server });
        const until = new Date(expires).toISOString().slice(0, 10);
        const values = { whose, until, advice };
        const text =
          state === "expired" ? message("certificate.log.ended", values) : message("certificate.log.ends", values);
        log.warn({ event: "certificate_ends", server, until, state }, text);
      }
    },
  };
}
