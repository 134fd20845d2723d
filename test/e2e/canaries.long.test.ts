import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { clockFileText, clockFromNow } from "../../simulators/clock.ts";
import { gatewaySchema } from "../../src/config/gateway-schema.ts";
import { markedKeys } from "../../src/config/marks.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, runProgram, startProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** A value for each setting of the schema that holds a secret, by the setting's path. */
const CANARIES: Readonly<Record<string, string>> = {
  "page.pin_file": "4711081542",
  "metrics.token_file": "canary-metrics-token-0123456789abcdef",
  "service.api_key_file": "canary-first-key-Zx81",
  "booths.*.opcua.password_file": "canary-plc-pa55",
  "outputs.*.password_file": "canary-output-pa55",
  "outputs.*.token_file": "canary-collector-token",
  "notices.*.mail.password_file": "canary-mail-pa55",
  "notices.*.webhook.url": "canary-hook-path-T0K3N",
  "notices.*.webhook.secret_file": "canary-hook-signature",
  "notices.*.mqtt.password_file": "canary-notice-pa55",
};
const canary = (keys: string): string => CANARIES[keys] ?? "";

/** The answer of the worst possible peer: all secrets, in the encodings that servers use. */
const QUOTED = Object.values(CANARIES)
  .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(`\0u\0${secret}`).toString("base64")])
  .join(" ");

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Starts a server that answers the first bytes, and then each line. */
function answering(answer: (data: Buffer, socket: Socket) => void, greeting = ""): Promise<number> {
  return listening(
    createServer((socket) => {
      socket.on("error", () => undefined);
      if (greeting !== "") socket.write(greeting);
      socket.on("data", (data) => answer(data, socket));
    }),
  );
}

/** Starts a server that quotes the request and all secrets as a JSON error, as a collector's error, or as a page. */
const echoHttp = (): Promise<number> => {
  const server = createHttp((request, response) => {
    const said = `Cannot ${request.method ?? ""} ${request.url ?? ""} ${request.headers.authorization ?? ""} ${QUOTED}`;
    response.writeHead(403, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: said, message: said }));
  });
  return listening(server);
};

const echoMail = (): Promise<number> =>
  answering((data, socket) => {
    for (const line of data.toString().trim().split("\r\n")) {
      if (/^EHLO/i.test(line)) socket.write("250-x\r\n250 AUTH PLAIN LOGIN\r\n");
      else if (/^AUTH/i.test(line)) socket.write(`535-5.7.8 failed: ${line}\r\n535 5.7.8 ${QUOTED.slice(0, 400)}\r\n`);
      else socket.write("250 ok\r\n");
    }
  }, "220 x ESMTP\r\n");

/** MQTT 5, 3.2: not authorized, with a reason string. */
const echoBroker = (): Promise<number> =>
  answering((_, socket) => {
    const reason = Buffer.from(QUOTED.slice(0, 100));
    const properties = Buffer.concat([Buffer.from([0x1f, 0, reason.length]), reason]);
    socket.end(Buffer.concat([Buffer.from([0x20, 3 + properties.length, 0, 0x87, properties.length]), properties]));
  });

/** OPC 10000-6, 7.1.2.5: an error message with a reason. */
const echoOpcua = (): Promise<number> =>
  answering((_, socket) => {
    const reason = Buffer.from(`${canary("booths.*.opcua.password_file")} ${QUOTED}`);
    const frame = Buffer.alloc(16);
    frame.write("ERRF", "latin1");
    frame.writeUInt32LE(16 + reason.length, 4);
    frame.writeUInt32LE(0x80130000, 8);
    frame.writeUInt32LE(reason.length, 12);
    socket.end(Buffer.concat([frame, reason]));
  });

async function configured(folder: string): Promise<string> {
  const secret = (keys: string): string => {
    const path = join(folder, keys.replaceAll(/[.*]/g, "-"));
    writeFileSync(path, `${canary(keys)}\n`, { mode: 0o600 });
    return path;
  };
  const [http, mail, broker, opcua] = await Promise.all([echoHttp(), echoMail(), echoBroker(), echoOpcua()]);
  const at = (port: number): string => `127.0.0.1:${port}`;
  const notice = { events: ["link"], link_minutes: 1 };
  writeFileSync(join(folder, "clock.json"), clockFileText(clockFromNow(60, Date.UTC(2026, 2, 2, 15))));
  for (const name of ["data", "run"]) mkdirSync(join(folder, name), { mode: 0o700 });
  const file = join(folder, "gateway.yaml");
  const config = {
    data_dir: "data",
    runtime_dir: "run",
    clock_file: "clock.json",
    page: { port: 0, lan_port: 0, pin_file: secret("page.pin_file") },
    metrics: { port: 0, token_file: secret("metrics.token_file") },
    service: { url: `http://${at(http)}`, api_key_file: secret("service.api_key_file") },
    booths: [
      {
        id: "booth-1",
        serial: "ABCD-123-123",
        profile: "plcnext-booth",
        opcua: {
          endpoint: `opc.tcp://${at(opcua)}`,
          user: "u",
          password_file: secret("booths.*.opcua.password_file"),
          server_certificate_fingerprint: "a".repeat(64),
        },
      },
    ],
    outputs: [
      {
        name: "plant",
        url: `mqtt://${at(broker)}`,
        user: "u",
        password_file: secret("outputs.*.password_file"),
        mqtt: {},
      },
      {
        name: "coll",
        url: `http://${at(http)}`,
        token_file: secret("outputs.*.token_file"),
        otlp: { interval_ms: 10_000 },
      },
    ],
    notices: [
      {
        name: "mail",
        ...notice,
        mail: {
          host: "127.0.0.1",
          port: mail,
          tls: "none",
          user: "u",
          password_file: secret("notices.*.mail.password_file"),
          from: "a@x.test",
          to: ["b@x.test"],
        },
      },
      {
        name: "hook",
        ...notice,
        webhook: {
          url: `http://${at(http)}/hooks/${canary("notices.*.webhook.url")}`,
          secret_file: secret("notices.*.webhook.secret_file"),
        },
      },
      {
        name: "mq",
        ...notice,
        mqtt: { url: `mqtt://${at(broker)}`, user: "u", password_file: secret("notices.*.mqtt.password_file") },
      },
    ],
  };
  writeFileSync(file, stringify(config));
  return file;
}

it("status, log, test notice and support bundle contain no configured secret, even if peers quote every secret in their answers", async () => {
  const secrets = markedKeys(gatewaySchema).filter(
    ({ holds }) => !["key", "own_key", "authorities", "certificate"].includes(holds),
  );
  expect(secrets.map(({ keys }) => keys.join(".")).toSorted()).toEqual(Object.keys(CANARIES).toSorted());
  const folder = temporaryFolder();
  const file = await configured(folder);
  const agent = startProgram(GATEWAY, ["run", "--config", file]);
  const status = await eventually(
    "every peer has refused, and is told of",
    async () => {
      const answer = await askAgent(join(folder, "run", "agent.sock"), { method: "GET", path: "/status" }).catch(
        () => null,
      );
      const told = answer as AgentStatus | null;
      const links = [...(told?.outputs ?? []), ...(told?.notices ?? [])].map(({ link }) => link);
      const isRefused =
        links.length === 5 &&
        links.every((link) => link.kind === "down" && render(link.reason) !== render(message("plc.not_yet")));
      const [booth] = told?.booths ?? [];
      const isAsked =
        booth !== undefined && render(booth.provisioning.reason).includes("Cannot") && booth.plc.kind === "down";
      return isRefused && isAsked ? told : undefined;
    },
    60_000,
  );
  const command = async (...argv: readonly string[]): Promise<string> => {
    const { out, err } = await runProgram(GATEWAY, [...argv, "--config", file]);
    return out + err;
  };
  const bundle = join(folder, "bundle.tar.gz");
  const texts = {
    status: JSON.stringify(status),
    tests: await command("notify", "test"),
    bundled: await command("support-bundle", "--out", bundle),
    bundle: gunzipSync(readFileSync(bundle)).toString("latin1"),
    log: agent.lines.join("\n"),
  };
  expect(texts.status).toContain("[left out]");
  expect(texts.log).toContain("[left out]");
  for (const secret of Object.values(CANARIES)) {
    const encoded = Buffer.from(secret).toString("base64").slice(0, 8);
    for (const [where, text] of Object.entries(texts)) {
      expect([where, secret, text.includes(secret)]).toEqual([where, secret, false]);
      expect([where, encoded, text.includes(encoded)]).toEqual([where, encoded, false]);
    }
  }
}, 120_000);
