import { addAbortListener } from "node:events";
import { ownFile, readCertificatePair, readCertificates } from "../credential-files.ts";
import type { BoothFieldsAtService } from "../api/operation.ts";
import type { ServiceConfig } from "../config/port.ts";
import { createHttpClient, type HttpClient, HttpClosed } from "../delivery/http/client.ts";
import type { BoothFieldsSetup, HttpService } from "../delivery/http/service-api.ts";
import type { MqttSetup } from "../delivery/mqtt/connect.ts";
import type { MqttLink } from "../delivery/mqtt/link.ts";
import type { ServiceApi } from "../delivery/port.ts";

/** The ways to the service. What reads its answers is loaded with the first question: a start, and a box that is bound nowhere, needs none of it. */

/**
 * By HTTP and by its broker. Files of certificates and keys are read for each connection: a file that can't be used costs the
 * link to the service, with the reason, until the file is corrected, and never the polls.
 */
export async function waysTo(
  service: ServiceConfig,
  {
    clock,
    service_time,
    log,
    agentVersion,
    meter,
  }: Pick<MqttSetup, "clock" | "service_time" | "log" | "agentVersion" | "meter">,
  signal: AbortSignal,
) {
  const { ca_file } = service;
  const authority = ca_file === undefined ? undefined : () => readCertificates(ca_file);
  const ca = authority === undefined ? {} : { ca: authority };
  const proxy = service.proxy_url === undefined ? {} : { proxy: service.proxy_url };
  const counted = meter === undefined ? {} : { counted: { meter, purpose: "http" as const } };
  const { url: baseUrl } = service;
  const http =
    baseUrl === undefined
      ? NO_SERVICE
      : madeWithFiles(() =>
          createHttpClient({ baseUrl, ...(authority === undefined ? {} : { ca: authority() }), ...proxy, ...counted }),
        );
  // A service that takes a request and never answers would hold a stop up for the whole of the request's time.
  addAbortListener(signal, () => http.close());
  return {
    http: service.authorization === "session" ? await sessionTokens(http) : http,
    mqtt: await mqttLink({ clock, service_time, log, agentVersion, meter, ...ca, ...clientOf(service) }),
  };
}

async function sessionTokens(http: HttpClient): Promise<HttpClient> {
  const { withSessionTokens } = await import("../delivery/http/session-token.ts");
  return withSessionTokens(http);
}

/** Until somebody says where the service is nothing is asked of it, and everything waits as for one that is away. */
const NO_SERVICE: HttpClient = {
  send: () => Promise.reject(new Error("no service is set up yet")),
  close: () => undefined,
};

/** Makes the client at the first request for which the files can be read. */
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

/** What the gateway shows of itself to a broker that asks for a certificate; only the owner may read the key. */
function clientOf({ client_certificate_file, client_key_file }: ServiceConfig): Pick<MqttSetup, "client_certificate"> {
  if (client_certificate_file === undefined || client_key_file === undefined) return {};
  return { client_certificate: () => readCertificatePair(client_certificate_file, ownFile(client_key_file)) };
}

async function mqttLink(setup: MqttSetup): Promise<MqttLink> {
  let link: MqttLink | null = null;
  const made = async (): Promise<MqttLink> => {
    const { createMqttLink } = await import("../delivery/mqtt/link.ts");
    return (link ??= createMqttLink(setup));
  };
  // It tells of the certificate's end, which people want to know before the first session.
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

/** Makes it when it is first asked for. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => (made ??= make());
}
