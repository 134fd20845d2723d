// Needs Debian packages: haproxy, postgresql-15.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { placeFleet } from "../../simulators/fleet/cli.ts";
import { eventually } from "../support/eventually.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { freePort } from "../system/mosquitto.ts";
import { postgresPart, servicePart } from "./parts.ts";

const KEY = "fleet-admin";
const USERS = 8;

/** Starts HAProxy with the shipped sections for users, on loopback and without TLS. */
async function startProxy(folder: string, servers: readonly { port: string; vitals: string }[]): Promise<string> {
  const port = (await freePort()).toString();
  const shipped = readFileSync(new URL("../../config/fleet/haproxy.cfg", import.meta.url), "utf8");
  const sections = shipped
    .split(/\n(?=\w)/)
    .filter((one) => /^(resolvers names|defaults|frontend users|backend http)\b/.test(one));
  const own = sections
    .join("\n")
    .replace(/bind :8443 .*/, `bind 127.0.0.1:${port}`)
    .replaceAll(/http-(\d):8080 port 9090/g, (_, nth: string) => {
      const server = servers[Number(nth) - 1];
      return `127.0.0.1:${server?.port ?? ""} port ${server?.vitals ?? ""}`;
    });
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, `${own}\n`);
  const proxy: ChildProcess = spawn("/usr/sbin/haproxy", ["-db", "-f", file], { stdio: "ignore" });
  onTestFinished(async () => {
    const gone = once(proxy, "exit");
    proxy.kill("SIGKILL");
    await gone;
  });
  return `http://127.0.0.1:${port}`;
}

it("a rolling upgrade of two HTTP processes behind the shipped HAProxy fails no request", async () => {
  const folder = temporaryFolder();
  const postgres = await postgresPart(folder, ofTest);
  await postgres.start();
  placeFleet(postgres.url, 4, KEY);
  const ports = await Promise.all(
    Array.from({ length: 2 }, async () => ({
      port: (await freePort()).toString(),
      vitals: (await freePort()).toString(),
    })),
  );
  const parts = ports.map(({ port, vitals }, nth) => {
    const argv = ["--role", "http", "--store", postgres.url, "--gateways-to", "mqtt://127.0.0.1:1883"];
    return servicePart(`http-${nth + 1}`, [...argv, "--port", port, "--vitals-port", vitals], { atEnd: ofTest });
  });
  await Promise.all(parts.map((part) => part.start()));
  const url = await startProxy(folder, ports);
  const asked = async (): Promise<number> => {
    const answer = await fetch(`${url}/api/booths`, { headers: { authorization: KEY } });
    await answer.arrayBuffer();
    return answer.status;
  };
  const isServed = (): Promise<true | undefined> => asked().then((status) => (status === 200 ? true : undefined));
  await eventually("the proxy serves", () => isServed().catch(() => undefined));
  const ending = new AbortController();
  const statuses: (number | string)[] = [];
  const user = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      statuses.push(await asked().catch(String));
      await sleep(10);
    }
  };
  const users = Array.from({ length: USERS }, user);
  for (const part of parts) {
    expect(await part.stop()).toBe(0);
    const before = statuses.length;
    await part.start();
    // HAProxy asks each second whether the process is back.
    await eventually("users are served meanwhile", () => (statuses.length > before + 100 ? true : undefined));
    await sleep(2_500);
  }
  ending.abort();
  await Promise.all(users);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(statuses.length).toBeGreaterThan(200);
});
