import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort, isOpen } from "../system/mosquitto.ts";

/** From Debian's package. */
const PROGRAM = "/usr/sbin/mosquitto";

/** A plant's broker: Debian's mosquitto on loopback, without persistence. */
export interface PlantBroker {
  readonly url: string;
  readonly port: string;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/** No message may be dropped for a slow subscriber: the tests count them. */
const ALL_QUEUED = "max_queued_messages 0\n";

/** `more`: lines of its configuration, instead of the unlimited queue, with which mosquitto 2.0.11 closes a connection after a refused PUBLISH. */
export async function plantBroker(folder: string, more = ALL_QUEUED): Promise<PlantBroker> {
  const port = await freePort();
  const config = join(folder, "plant.conf");
  writeFileSync(config, `user root\nlistener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\n${more}`);
  let child: ChildProcess | null = null;
  const broker: PlantBroker = {
    url: `mqtt://127.0.0.1:${port}`,
    port: port.toString(),
    async start() {
      child = spawn(PROGRAM, ["-c", config], { stdio: "ignore" });
      await eventually("the plant's broker listens", async () => ((await isOpen(port)) ? true : undefined));
    },
    async kill() {
      if (child === null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      child = null;
    },
  };
  onTestFinished(() => broker.kill());
  await broker.start();
  return broker;
}
