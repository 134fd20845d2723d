import { chmodSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AddressInfo } from "node:net";
import type { Examination } from "../../src/tools/doctor/finding.ts";
import { reach } from "../../src/tools/doctor/network.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { realSite, SERIAL } from "../support/real-site.ts";

interface Server {
  listen(port: number, host: string, done: () => void): unknown;
  address(): AddressInfo | string | null;
  close(): unknown;
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("the doctor command", { timeout: MANY_PROCESSES_MS }, () => {
  it("reports no fault on a running site, and lists what to repair on a broken site", async () => {
    const site = await realSite({ speed: 10, serial: SERIAL });
    const agent = site.startAgent();
    await eventually("all is acked", async () => {
      const booth = (await site.status())?.booths[0];
      return booth?.provisioning.state === "active" && booth.log.acked_seq > 0 ? true : undefined;
    });
    // On a busy machine a link may be down for a moment.
    const well = await eventually("doctor finds all well", async () => {
      const said = await runProgram(GATEWAY, ["doctor", "--config", site.configFile]);
      return said.code === 0 ? said : undefined;
    });
    expect(well.err).toBe("");
    expect(well.out).not.toContain("BAD");
    const checks = ["configuration", "identity.db", "store ", "agent", "clock", "PLC of booth-1", "binding of booth-1"];
    for (const what of [...checks, "service ", "broker "]) expect(well.out).toMatch(new RegExp(`^ok    ${what}`, "m"));

    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
    writeFileSync(join(site.folder, "api-key"), "another one");
    chmodSync(join(site.folder, "api-key"), 0o644);
    await site.plc.offline();
    await site.serviceDown();
    const { code, out, err } = await runProgram(GATEWAY, ["doctor", "--json", "--config", site.configFile]);
    expect({ code, err }).toEqual({ code: 1, err: "" });
    const { ok, todo } = JSON.parse(out) as Examination;
    expect(ok).toBe(false);
    expect(todo.slice(0, 4)).toEqual([
      'start the agent: "systemctl start booth-gateway"',
      expect.stringMatching(
        /^127\.0\.0\.1:\d+: check that the PLC has power, that the network cable is connected, and that address and port/,
      ),
      `chmod 600 ${join(site.folder, "api-key")}`,
      expect.stringMatching(/^check the port in the configuration: no server listens at 127\.0\.0\.1:\d+/),
    ]);
    writeFileSync(site.configFile, "booths: [");
    const broken = await runProgram(GATEWAY, ["doctor", "--config", site.configFile]);
    expect(broken).toMatchObject({ code: 1, err: "" });
    expect(broken.out).toMatch(
      /BAD {3}configuration[^]*1\. correct [^\n]+gateway\.yaml \("booth-gateway check" shows the place\)/,
    );
  });
});

describe("reach", () => {
  it("names the step that fails: DNS, TCP, TLS or HTTP", async () => {
    const port = await portOf(createServer((socket) => socket.on("error", () => undefined).end("hello\n")));
    const target = { host: "127.0.0.1", port, tls: true, http: false };
    expect(await reach(target)).toMatchObject({ kind: "failed", step: "TLS" });
    expect(await reach({ ...target, tls: false })).toMatchObject({ kind: "reached", certificate_ends: null });
    expect(await reach({ ...target, tls: false, http: true })).toMatchObject({ kind: "failed", step: "HTTP" });
    expect(await reach({ ...target, host: "nowhere.invalid" })).toMatchObject({ kind: "failed", step: "DNS" });
    const free = createServer();
    const gone = await portOf(free);
    await new Promise((resolve) => free.close(resolve));
    expect(await reach({ ...target, port: gone })).toMatchObject({ kind: "failed", step: "TCP", code: "ECONNREFUSED" });
    const bare = await portOf(createTlsServer({}));
    expect(await reach({ ...target, port: bare, http: true })).toMatchObject({ kind: "failed", step: "TLS" });
  });

  it("connects through a proxy, and names the proxy as the failed step if the proxy refuses", async () => {
    const service = await portOf(
      createHttpServer((_, answer) => void answer.setHeader("Date", "Mon, 02 Mar 2026 15:00:00 GMT").end("{}")),
    );
    const asked: string[] = [];
    const proxy = createHttpServer();
    proxy.on("connect", ({ url = "" }: IncomingMessage, socket: Socket) => {
      asked.push(url);
      if (!url.endsWith(`:${service}`)) {
        socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
        return;
      }
      const onward = connect(service, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
    });
    const target = {
      host: "127.0.0.1",
      tls: false,
      http: true,
      proxy: { host: "127.0.0.1", port: await portOf(proxy) },
    };
    expect(await reach({ ...target, port: service })).toMatchObject({
      kind: "reached",
      server_time: Date.UTC(2026, 2, 2, 15),
    });
    expect(await reach({ ...target, port: 9 })).toMatchObject({ kind: "failed", step: "proxy" });
    expect(asked).toEqual([`127.0.0.1:${service}`, "127.0.0.1:9"]);
  });
});
