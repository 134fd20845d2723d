import { rendered } from "../../src/domain/messages/render.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NoticeConfig } from "../../src/config/port.ts";
import { parseConfig } from "../../src/config/config.ts";
import { openMail } from "../../src/notices/mail.ts";
import { openMqtt } from "../../src/notices/mqtt.ts";
import type { Channel, NoticeMessage, OpenChannel } from "../../src/notices/port.ts";
import { openWebhook } from "../../src/notices/webhook.ts";
import { readSecretFile } from "../../src/credential-files.ts";
import { plantBroker } from "../outputs/broker.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority } from "../support/tls-files.ts";
import { freePort } from "../system/mosquitto.ts";
import { hookServer, mailServer } from "./receivers.ts";

/** Each channel with independent servers, and the outcomes of their answers. */

const never = new AbortController().signal;

function message(id: string): NoticeMessage {
  const subject = "booth-1: E-stop\u00e9";
  return {
    id,
    subject,
    text: `${subject}, since 2026-03-02 15:05\n`,
    document: { id, text: subject, events: [], more: 0 },
  };
}

function channel(open: OpenChannel, way: string): Channel {
  const booths = "booths: [{ id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1 } }]\n";
  const text = `${booths}notices: [{ name: office, ${way} }]\n`;
  const [config] = parseConfig(text, "/srv/gateway.yaml").notices;
  return open({ gateway_id: "gw-1", secret: readSecretFile }, config as NoticeConfig);
}

function secretFile(text: string): string {
  const path = join(temporaryFolder(), "secret");
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
}

const PEOPLE = "from: Booth <booth@plant.example>, to: [shop@plant.example]";
const plainMail = (port: number): Channel =>
  channel(openMail, `mail: { host: 127.0.0.1, port: ${port}, tls: none, ${PEOPLE} }`);

test("a mail notice is sent with a login over STARTTLS or TLS, and never with less protection than configured", async () => {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "plant");
  const { cert, key } = authority.issue("localhost");
  const stranger = testAuthority(folder, "stranger");
  const late = authority.issue("localhost", { days: -1 });
  const other = authority.issue("elsewhere", { hosts: ["DNS:elsewhere.example"] });
  const good = secretFile("correct horse");
  const user = ["--user", "booths", "correct horse"];
  const by = (port: number, tls: string, { ca = authority.ca_file, password = good } = {}): Channel => {
    const login = `user: booths, password_file: ${password}, ca_file: ${ca}`;
    return channel(openMail, `mail: { host: localhost, port: ${port}, tls: ${tls}, ${login}, ${PEOPLE} }`);
  };
  const [starttls, tls, expired, elsewhere, open] = await Promise.all([
    mailServer("--starttls", cert, key, ...user),
    mailServer("--tls", cert, key, ...user),
    mailServer("--tls", late.cert, late.key, ...user),
    mailServer("--tls", other.cert, other.key, ...user),
    mailServer(),
  ]);
  for (const [server, how] of [
    [starttls, "starttls"],
    [tls, "tls"],
  ] as const) {
    const outcome = await by(server.port, how)(message("m1"), never);
    expect(rendered(outcome)).toEqual({ kind: "delivered", answer: "250 2.0.0 queued as 4711" });
    await eventually("it is heard", () => server.heard[1]);
    expect(server.heard).toEqual([
      { login: true },
      {
        id: "<m1@plant.example>",
        subject: "booth-1: E-stopé",
        from: "booth@plant.example",
        tls: true,
        user: true,
        to: ["shop@plant.example"],
        auto: "auto-generated",
        text: "booth-1: E-stopé, since 2026-03-02 15:05\n",
      },
    ]);
  }
  const wrong = secretFile("wrong");
  expect(rendered(await by(tls.port, "tls", { password: wrong })(message("m2"), never))).toMatchObject({
    kind: "not_delivered",
    isPermanent: true,
    reason: expect.stringContaining("535 5.7.8 Authentication credentials invalid") as string,
    advice: expect.stringContaining("user and password_file") as string,
  });
  const refusals: readonly (readonly [Channel, string])[] = [
    [by(tls.port, "tls", { ca: stranger.ca_file }), "set ca_file to the intermediate or the authority"],
    [by(starttls.port, "starttls", { ca: stranger.ca_file }), "set ca_file to the intermediate or the authority"],
    [by(expired.port, "tls"), "certificate has expired"],
    [by(elsewhere.port, "tls"), "the certificate belongs to another server"],
    // The server offers no TLS, so the password is not sent.
    [by(open.port, "starttls"), "check tls and port"],
    [by(open.port, "tls"), "check the port"],
  ];
  for (const [way, advice] of refusals) {
    const outcome = await way(message("m3"), never);
    expect(rendered(outcome)).toMatchObject({
      kind: "not_delivered",
      advice: expect.stringContaining(advice) as string,
    });
  }
  expect([...expired.heard, ...elsewhere.heard, ...open.heard]).toEqual([]);
  expect(tls.heard.filter(({ id }) => id !== undefined)).toHaveLength(1);
});

test("the mail channel reports a mail as delivered, not delivered or unknown according to the server's reply", async () => {
  const server = await mailServer();
  const send = plainMail(server.port);
  const rows = [
    [
      "grey",
      {
        kind: "not_delivered",
        isPermanent: false,
        reason: "the server answered: 450 4.7.1 greylisted, come back in a minute (RCPT TO)",
      },
    ],
    [
      "busy",
      { kind: "not_delivered", isPermanent: false, reason: "the server answered: 451 4.3.0 try again later (DATA)" },
    ],
    [
      "refused",
      { kind: "not_delivered", isPermanent: true, reason: "the server answered: 550 5.1.1 no such user (RCPT TO)" },
    ],
    [
      "full",
      { kind: "not_delivered", isPermanent: true, reason: "the server answered: 552 5.2.2 mailbox full (DATA)" },
    ],
    ["drop", { kind: "unknown", isPermanent: false }],
    ["ok", { kind: "delivered" }],
  ] as const;
  for (const [word, outcome] of rows) {
    await server.now(word);
    expect(rendered(await send(message(word), never)), word).toMatchObject(outcome);
  }
  await server.now("hold");
  const stop = new AbortController();
  const held = send(message("held"), stop.signal);
  await eventually("it has the mail", () => server.heard.find(({ id }) => id === "<held@plant.example>"));
  stop.abort();
  expect(rendered(await held)).toMatchObject({ kind: "unknown" });
  await server.now("stop");
  expect(rendered(await send(message("gone"), never))).toMatchObject({
    kind: "not_delivered",
    reason: expect.stringContaining("ECONNREFUSED") as string,
    advice: expect.stringContaining("check that the server is running") as string,
  });
});

test("the webhook channel signs each request, and reports it as delivered, not delivered or unknown according to the server's answer", async () => {
  const server = await hookServer("a secret");
  const url = `http://127.0.0.1:${server.port}/hooks/4711?token=x`;
  const send = channel(openWebhook, `webhook: { url: "${url}", secret_file: ${secretFile("a secret")} }`);
  const forged = channel(openWebhook, `webhook: { url: "${url}", secret_file: ${secretFile("another")} }`);
  expect(rendered(await send(message("n1"), never))).toEqual({ kind: "delivered", answer: "HTTP 204" });
  await forged(message("n2"), never);
  await eventually("both are heard", () => server.heard[1]);
  expect(server.heard.map(({ id, signed, document }) => [id, signed, document.id])).toEqual([
    ["n1", true, "n1"],
    ["n2", false, "n2"],
  ]);
  const rows = [
    ["401", { kind: "not_delivered", isPermanent: true, reason: "the server answered: HTTP 401" }],
    ["404", { kind: "not_delivered", isPermanent: true }],
    ["302", { kind: "not_delivered", isPermanent: true, reason: "the server answered: HTTP 302" }],
    ["429", { kind: "not_delivered", isPermanent: false, again_ms: 120_000 }],
    ["503", { kind: "unknown", isPermanent: false }],
    ["drop", { kind: "unknown", isPermanent: false }],
  ] as const;
  for (const [word, outcome] of rows) {
    await server.now(word);
    expect(rendered(await send(message(word), never)), word).toMatchObject(outcome);
  }
  const nobody = channel(openWebhook, `webhook: { url: "http://127.0.0.1:${await freePort()}/" }`);
  expect(rendered(await nobody(message("n3"), never))).toMatchObject({ kind: "not_delivered", isPermanent: false });
  const open = join(temporaryFolder(), "open");
  writeFileSync(open, "secret\n", { mode: 0o644 });
  const careless = channel(openWebhook, `webhook: { url: "${url}", secret_file: ${open} }`);
  expect(rendered(await careless(message("n4"), never))).toMatchObject({
    kind: "not_delivered",
    reason: expect.stringContaining("chmod 600") as string,
    advice: expect.stringContaining("correct the file") as string,
  });
});

test("the MQTT channel delivers a notice to a subscriber once, and reports the outcome unknown if the broker does not confirm", async () => {
  const broker = await plantBroker(temporaryFolder());
  const child = spawn("stdbuf", ["-oL", "mosquitto_sub", "-p", broker.port, "-q", "1", "-t", "plant/#", "-v", "-d"]);
  onTestFinished(() => void child.kill());
  let heard = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (heard += chunk));
  await eventually("it has subscribed", () => (heard.includes("Subscribed") ? true : undefined));
  const by = (url: string): Channel => channel(openMqtt, `mqtt: { url: "${url}", topic: plant/booths/notices }`);
  expect(rendered(await by(broker.url)(message("q1"), never))).toEqual({
    kind: "delivered",
    answer: "the broker confirmed the message on plant/booths/notices",
  });
  await eventually("it hears it", () => (heard.includes("plant/booths/notices {") ? true : undefined));
  expect(heard.match(/"id":"q1"/g)).toHaveLength(1);
  await broker.kill();
  expect(rendered(await by(broker.url)(message("q2"), never))).toMatchObject({
    kind: "not_delivered",
    isPermanent: false,
  });
  // The broker accepts the connection and confirms no message, so the outcome is unknown.
  const stop = new AbortController();
  const mute = createServer((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.from([0x20, 3, 0, 0, 0]));
      socket.once("data", () => stop.abort());
    });
  });
  await once(mute.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void mute.close());
  const { port } = mute.address() as { readonly port: number };
  const told = by(`mqtt://127.0.0.1:${port}`)(message("q3"), stop.signal);
  expect(rendered(await told)).toMatchObject({ kind: "unknown" });
});
