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

/** Starts a service with TLS. Returns its port. */
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

async function findingsOf(folder: string, url: string, ca_file: string | null) {
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

it("the doctor command reports a working TLS service as ok, and a certificate fault with advice", async () => {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "site");
  const { ca_file } = authority;
  const urlOf = async (tls: TlsFiles): Promise<string> => `https://localhost:${String(await serviceWith(tls))}`;
  const matching = (text: RegExp): string => expect.stringMatching(text) as string;
  const good = await urlOf(authority.issue("service", { days: 90 }));

  const well = await findingsOf(folder, good, ca_file);
  expect(well.service).toMatchObject({ state: "ok", text: matching(/: DNS, TCP, TLS, HTTP work$/) });
  expect(well.certificate).toMatchObject({ state: "ok", text: matching(/^expires in (89|90) days, on /) });

  const otherHost = await urlOf(authority.issue("service", { hosts: ["DNS:elsewhere.test"] }));
  const expired = await urlOf(authority.issue("service", { days: -1 }));
  for (const [url, ca, todo] of [
    [good, null, /^set service\.ca_file to the authority/],
    [otherHost, ca_file, /the certificate of localhost/],
    [expired, ca_file, /check the gateway's clock \("timedatectl"\); if it is right/],
  ] as const) {
    const { service } = await findingsOf(folder, url, ca);
    expect(service).toMatchObject({ state: "bad", text: matching(/TLS fails/), todo: matching(todo) });
  }
});
