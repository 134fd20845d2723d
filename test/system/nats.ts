import type { BrokerProcess } from "./broker-outages.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { freePort, isOpen } from "./mosquitto.ts";
import { eventually } from "../support/eventually.ts";

/** Path in Debian's package. */
const PROGRAM = "/usr/sbin/nats-server";

/**
 * Starts Debian's NATS with its MQTT listener, which supports 3.1.1 and stores its sessions in JetStream. Every user is
 * accepted.
 */
export async function nats(folder: string): Promise<BrokerProcess> {
  const port = await freePort();
  const own = await freePort();
  const config = join(folder, "nats.conf");
  const lines = [
    'server_name: "broker"',
    `listen: "127.0.0.1:${own}"`,
    `jetstream { store_dir: ${JSON.stringify(join(folder, "jetstream"))} }`,
    `mqtt { host: "127.0.0.1", port: ${port} }`,
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  let broker: ChildProcess | null = null;
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    if (broker === null) return;
    const gone = once(broker, "exit");
    broker.kill(signal);
    await gone;
    broker = null;
  };
  onTestFinished(() => end("SIGKILL"));
  const start = async (): Promise<void> => {
    const started = spawn(PROGRAM, ["-c", config], { stdio: "ignore" });
    broker = started;
    await eventually("NATS listens", async () => {
      if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}`);
      return (await isOpen(port)) ? true : undefined;
    });
  };
  await start();
  const url = `mqtt://127.0.0.1:${port}`;
  return {
    url,
    service: { url: url.replace("//", "//service@"), password: "any" },
    letIn: () => undefined,
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    start,
  };
}
