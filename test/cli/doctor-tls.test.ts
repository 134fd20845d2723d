import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Examination } from "../../src/tools/doctor/finding.ts";
import { say } from "./say.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority, type TlsFiles } from "../support/tls-files.ts";

/** A service that answers by TLS alone. */
async function serviceWith({ cert, key }: TlsFiles): Promise<number> {
  const server = createServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    (_, answer) => void answer.end("{}"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function told(folder: string, url: string, ca_file: string | null) {
  const file = join(folder, "gateway.yaml");
  const ca = ca_file === null ? "" : `, ca_file: ${ca_file}`;
  const booth = "{ id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1, port: 9 } }";
  const dirs = `data_dir: ${folder}\nruntime_dir: ${folder}\n`;
  writeFileSync(file, `${dirs}service: { url: "${url}"${ca} }\nbooths: [${booth}]\n`);
  const { out } = await say(["doctor", "--json", "--config", file]);
  const { findings } = JSON.parse(out) as Examination;
  const service = findings.find(({ what }) => what === "service");
  const certificate = findings.find(({ what }) => what.startsWith("certificate of"));
  return { service, certificate };
}

it("doctor goes all the way to a service with TLS, or says what is wrong with its certificate", async () => {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "site");
  const { ca_file } = authority;
  const good = `https://localhost:${String(await serviceWith(authority.issue("service", { days: 90 })))}`;

  const well = await told(folder, good, ca_file);
  expect(well.service).toMatchObject({
    state: "ok",
    said: expect.stringMatching(/: DNS, TCP, TLS, HTTP are well$/) as string,
  });
  expect(well.certificate).toMatchObject({
    state: "ok",
    said: expect.stringMatching(/^ends in (89|90) days, on /) as string,
  });

  const unknown = await told(folder, good, null);
  expect(unknown.service).toMatchObject({
    state: "bad",
    said: expect.stringContaining("TLS fails") as string,
    todo: expect.stringContaining("with service.ca_file; or somebody listens in between") as string,
  });

  const other = await serviceWith(authority.issue("service", { hosts: ["DNS:elsewhere.test"] }));
  expect((await told(folder, `https://localhost:${String(other)}`, ca_file)).service).toMatchObject({
    state: "bad",
    todo: expect.stringContaining("the certificate of localhost") as string,
  });

  const ended = await serviceWith(authority.issue("service", { days: -1 }));
  expect((await told(folder, `https://localhost:${String(ended)}`, ca_file)).service).toMatchObject({
    state: "bad",
    todo: expect.stringContaining("check the box's clock (timedatectl); if it is right") as string,
  });
});
