import { addAbortListener } from "node:events";
import type { BoothFieldsAtService } from "../api/operation.ts";
import type { ServiceConfig } from "../config/port.ts";
import { ownFile, readCertificatePair, readCertificates } from "../credential-files.ts";
import { createHttpClient, type HttpClient, HttpClosed } from "../delivery/http/client.ts";
import type { BoothFieldsSetup, HttpService } from "../delivery/http/service-api.ts";
import type { MqttSetup } from "../delivery/mqtt/connect.ts";
import type { MqttLink } from "../delivery/mqtt/link.ts";
import type { ServiceApi } from "../delivery/port.ts";

/**
 * Connections to the service. The code that parses its answers is loaded with the first request, because neither a start nor an unbound
 * gateway needs it.
 */

/**
 * Creates the HTTP client and the MQTT link. Certificate and key files are read for each connection. If a file cannot be used, the link to
 * the service is down, with the reason, until the file is corrected. The polls continue.
 */
export async function waysTo(
  service: ServiceConfig,
  machine: Pick<MqttSetup, "clock" | "service_time" | "log" | "agentVersion" | "meter">,
  signal: AbortSignal,
) {
  const { url: baseUrl, ca_file, proxy_url: proxy, client_certificate_file, client_key_file } = service;
  const { meter } = machine;
  const ca = ca_file === undefined ? undefined : () => readCertificates(ca_file);
  const http =
    baseUrl === undefined
      ? NO_SERVICE
      : madeWithFiles(() =>
          createHttpClient({
            baseUrl,
            ...(ca === undefined ? {} : { ca: ca() }),
            ...(proxy === undefined ? {} : { proxy }),
            ...(meter === undefined ? {} : { counted: { meter, purpose: "http" } }),
          }),
        );
  // Closes the client at a stop. Otherwise a request without an answer would delay the stop by the request's whole timeout.
  addAbortListener(signal, () => http.close());
  const hasCertificate = client_certificate_file !== undefined && client_key_file !== undefined;
  const mqtt = await mqttLink({
    ...machine,
    ...(ca === undefined ? {} : { ca }),
    ...(hasCertificate
      ? { client_certificate: () => readCertificatePair(client_certificate_file, ownFile(client_key_file)) }
      : {}),
  });
  if (service.authorization !== "session") return { http, mqtt };
  const { withSessionTokens } = await import("../delivery/http/session-token.ts");
  return { http: withSessionTokens(http), mqtt };
}

/** Replaces the HTTP client until the service's address is known. Every request is kept and retried, as if the service were unreachable. */
const NO_SERVICE: HttpClient = {
  send: () => Promise.reject(new Error("no service is set up yet")),
  close: () => undefined,
};

/** Creates the client at the first request. If the files cannot be read, the next request tries again. */
function madeWithFiles(make: () => HttpClient): HttpClient {
  let client: HttpClient | null = null;
  let isClosed = false;
  return {
    async send(request) {
      if (isClosed) throw new HttpClosed();
      client ??= make();
      return client.send(request);
    },
    close() {
      isClosed = true;
      client?.close();
    },
  };
}

async function mqttLink(setup: MqttSetup): Promise<MqttLink> {
  let link: MqttLink | null = null;
  const made = async (): Promise<MqttLink> => {
    const { createMqttLink } = await import("../delivery/mqtt/link.ts");
    return (link ??= createMqttLink(setup));
  };
  // Creates the link early, because the status shows the certificate's expiry even before the first session.
  if (setup.client_certificate !== undefined) await made();
  return {
    certificates: () => link?.certificates() ?? [],
    connect: async (account, signal) => (await made()).connect(account, signal),
  };
}

export function serviceApi(service: HttpService): ServiceApi {
  const api = once(async () => (await import("../delivery/http/service-api.ts")).createServiceApi(service));
  return {
    lookUp: async (key, serial) => (await api()).lookUp(key, serial),
    shown: async (key, booth_id) => (await api()).shown(key, booth_id),
    lastStream: async (key, booth_id) => (await api()).lastStream(key, booth_id),
    report: async (key, path) => (await api()).report(key, path),
    claim: async (key, claim) => (await api()).claim(key, claim),
    update: async (key, serial, change) => (await api()).update(key, serial, change),
  };
}

export function boothFields(service: BoothFieldsSetup): BoothFieldsAtService {
  const fields = once(async () => (await import("../delivery/http/service-api.ts")).createBoothFields(service));
  return {
    read: async (booth_id) => (await fields()).read(booth_id),
    write: async (booth_id, values) => (await fields()).write(booth_id, values),
  };
}

/** Returns a function that makes a value at its first call and returns the same value from then on. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
