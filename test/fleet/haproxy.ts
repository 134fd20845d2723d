import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import type { AtEnd } from "../support/temporary.ts";
import type { TestAuthority } from "../support/tls-files.ts";
import { freePort, isOpen } from "../system/mosquitto.ts";
import { type Part, usage } from "./parts.ts";

/** Maximum number of connections here. The shipped number needs 120,000 open files. */
const MAX_CONNECTIONS = 9_000;

/** A running HAProxy with the shipped configuration. */
export interface ProxyPart extends Part {
  /** mqtts:// and https:// */
  readonly brokers: string;
  readonly service: string;
}

interface Behind {
  readonly folder: string;
  readonly authority: TestAuthority;
  readonly atEnd: AtEnd;
  /** Ports of the two brokers. */
  readonly brokers: readonly number[];
  /** Ports of HTTP and vitals of the two HTTP processes. */
  readonly http: readonly { readonly port: number; readonly vitals: number }[];
}

/** Returns an HAProxy in front of two brokers and two HTTP processes of this machine. */
export async function haproxyPart({ folder, authority, atEnd, brokers, http }: Behind): Promise<ProxyPart> {
  const own = join(folder, "haproxy");
  mkdirSync(own);
  const { cert, key } = authority.issue("proxy");
  const both = join(own, "proxy.pem");
  writeFileSync(both, readFileSync(key, "utf8") + readFileSync(cert, "utf8"));
  const [gateways, users] = [await freePort(), await freePort()];
  let text = readFileSync(new URL("../../config/fleet/haproxy.cfg", import.meta.url), "utf8")
    .replace("maxconn 60000", `maxconn ${MAX_CONNECTIONS}`)
    .replaceAll("/etc/haproxy/ca.pem", authority.ca_file)
    .replaceAll(/\/etc\/haproxy\/\w+\.pem/g, both)
    .replace("bind :8883", `bind 127.0.0.1:${gateways}`)
    .replace("bind :8443", `bind 127.0.0.1:${users}`);
  for (const [nth, port] of brokers.entries()) text = text.replace(` broker-${nth + 1}:8883`, ` 127.0.0.1:${port}`);
  for (const [nth, { port, vitals }] of http.entries())
    text = text.replace(` http-${nth + 1}:8080 port 9090`, ` 127.0.0.1:${port} port ${vitals}`);
  const config = join(own, "haproxy.cfg");
  writeFileSync(config, text);
  let child: ChildProcess | null = null;
  const used = usage(() => child?.pid);
  const kill = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    used.ends();
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    child = null;
  };
  atEnd(kill);
  return {
    name: "haproxy",
    brokers: `mqtts://127.0.0.1:${gateways}`,
    service: `https://127.0.0.1:${users}`,
    kill,
    cpu: used.cpu,
    memory: used.memory,
    async start() {
      const started = spawn("/usr/sbin/haproxy", ["-db", "-f", config], { stdio: "ignore" });
      child = started;
      await eventually("HAProxy listens", async () => {
        if (started.exitCode !== null) throw new Error(`haproxy ended with ${started.exitCode}`);
        return (await isOpen(users)) ? true : undefined;
      });
    },
  };
}
