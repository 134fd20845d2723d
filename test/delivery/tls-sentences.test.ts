import { render } from "../../src/domain/messages/render.ts";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer as createPlain, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type TlsOptions } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { readCertificates } from "../../src/credential-files.ts";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { openMail } from "../../src/notices/mail.ts";
import { openMqtt } from "../../src/notices/mqtt.ts";
import type { Channel, OpenChannel } from "../../src/notices/port.ts";
import { openWebhook } from "../../src/notices/webhook.ts";
import { brokerConnector } from "../../src/outputs/broker.ts";
import { parseConfig } from "../../src/config/config.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority, type TlsFiles } from "../support/tls-files.ts";

/** Messages about a server's certificate, for each kind of connection of the agent. */

const atEnd = (undo: () => unknown): void =>
  afterAll(async () => {
    await undo();
  });
const folder = temporaryFolder(tmpdir(), atEnd);
const root = testAuthority(folder, "root");
const stranger = testAuthority(folder, "stranger");
const between = root.intermediate("between");
const leaf = between.issue("server");
const today = new Date().toISOString().slice(0, 10);

/** Appends the intermediate that signed it to the certificate. */
function withChain({ cert, key }: TlsFiles): TlsFiles {
  const chain = `${cert}.chain`;
  writeFileSync(chain, readFileSync(cert));
  appendFileSync(chain, between.ca);
  return { cert: chain, key };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => server.close());
  return (server.address() as AddressInfo).port;
}

function tlsServer({ cert, key }: TlsFiles, options: TlsOptions = {}): Promise<number> {
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key), ...options });
  server.on("tlsClientError", () => undefined);
  server.on("secureConnection", (socket) => {
    socket.on("error", () => undefined);
    socket.end();
  });
  return listening(server);
}

const plainServer = (): Promise<number> =>
  listening(
    createPlain((socket) => {
      socket.on("error", () => undefined);
      socket.end("220 mail.example ESMTP\r\n");
    }),
  );

/** Tries to connect. Resolves with the message for people. */
type Way = (port: number, ca_file: string) => Promise<string>;

const never = new AbortController().signal;

function noticeBy(open: OpenChannel, way: (port: number, ca_file: string) => string): Way {
  return async (port, ca_file) => {
    const [config] = parseConfig(`notices: [{ name: office, ${way(port, ca_file)} }]\n`, "/srv/gateway.yaml").notices;
    if (config === undefined) throw new Error("the configuration has a notice");
    const send: Channel = open({ gateway_id: "gw-1", secret: () => "" }, config);
    const outcome = await send({ id: "1", subject: "s", text: "t", document: {} }, never);
    return outcome.kind === "delivered" ? "" : render(outcome.reason);
  };
}

const WAYS: Readonly<Record<string, Way>> = {
  "the service and collectors over HTTP": async (port, ca_file) => {
    const client = createHttpClient({ baseUrl: `https://localhost:${port}`, ca: readCertificates(ca_file) });
    return client.send({ method: "GET", path: "/", key: "" }).then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
  },
  "brokers of service and outputs": async (port, ca_file) => {
    const connect = brokerConnector({ gateway_id: "gw-1", secret: () => "" });
    const will = { topic: "t", payload: "", qos: 1, retain: true } as const;
    const url = `mqtts://localhost:${port}`;
    const config = { name: "plant", mqtt_version: "v5", max_records_per_s: 100, url, ca_file } as const;
    return connect(config, { will, ignored: () => undefined, refused: () => undefined, signal: never }).then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
  },
  webhooks: noticeBy(
    openWebhook,
    (port, ca_file) => `webhook: { url: "https://localhost:${port}/", ca_file: ${ca_file} }`,
  ),
  "mail servers": noticeBy(
    openMail,
    (port, ca_file) =>
      `mail: { host: localhost, port: ${port}, tls: tls, ca_file: ${ca_file}, from: a@x.test, to: [b@x.test] }`,
  ),
  "brokers of notices": noticeBy(
    openMqtt,
    (port, ca_file) => `mqtt: { url: "mqtts://localhost:${port}", ca_file: ${ca_file} }`,
  ),
};

const CASES: readonly (readonly [fault: string, server: () => Promise<number>, ca: string, sentence: string])[] = [
  [
    "an intermediate certificate that the server does not send",
    () => tlsServer(leaf),
    root.ca_file,
    "the server sends its certificate without the intermediate that signed it, or the authority is not known here",
  ],
  [
    "an authority that is not configured",
    () => tlsServer(withChain(leaf)),
    stranger.ca_file,
    "the authority that signed the server's certificate is not known here",
  ],
  [
    "a certificate that signed itself",
    () => tlsServer({ cert: root.ca_file, key: join(folder, "root.key") }),
    stranger.ca_file,
    "the server's certificate is self-signed and not known here",
  ],
  [
    "a certificate that has expired",
    () => tlsServer(withChain(between.issue("late", { days: -1 }))),
    root.ca_file,
    `the server's certificate has expired; this gateway's date is ${today}`,
  ],
  [
    "a certificate that is not valid yet",
    () => tlsServer(withChain(between.issue("early", { is_future: true }))),
    root.ca_file,
    `the server's certificate is not valid yet; this gateway's date is ${today}`,
  ],
  [
    "a certificate for other names",
    () => tlsServer(withChain(between.issue("else", { hosts: ["DNS:a.test", "IP:192.0.2.7"] }))),
    root.ca_file,
    "the server's certificate is for a.test, 192.0.2.7, not for localhost",
  ],
  [
    "a server that wants a client certificate",
    () => tlsServer(withChain(leaf), { requestCert: true, ca: root.ca }),
    root.ca_file,
    "the server asks for a client certificate, and none is configured",
  ],
  [
    "a server with only old TLS versions",
    () => tlsServer(withChain(leaf), { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" }),
    root.ca_file,
    "the server and this gateway have no TLS version in common: at least TLS 1.2 is needed",
  ],
  ["a port without TLS", plainServer, root.ca_file, "the server does not speak TLS at this port"],
];

/** Port of a server for each fault, used by all kinds of connection. */
const ports = new Map<string, number>();

describe.each(Object.entries(WAYS))("the TLS error message for connections to %s", (_, connect) => {
  it.each(CASES)("names the fault in one sentence: %s", async (...[fault, server, ca_file, sentence]) => {
    const port = ports.get(fault) ?? (await server());
    ports.set(fault, port);
    expect(await connect(port, ca_file)).toBe(sentence);
  });

  it("does not mention the certificate if the server's intermediate certificate is given as ca_file", async () => {
    expect(await connect(await tlsServer(withChain(leaf)), between.ca_file)).not.toContain("certificate");
  });

  it("names the ca_file that contains no certificate", async () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const ca_file = join(folder, "junk.pem");
    writeFileSync(ca_file, privateKey.export({ type: "pkcs8", format: "pem" }));
    const told = await connect(9, ca_file).catch((error: unknown) => (error as Error).message);
    expect(told).toContain(`${ca_file} holds no certificate in PEM form`);
  });
});
