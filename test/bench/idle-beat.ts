import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { latenesses } from "./lateness.ts";
import { percentile } from "./figure.ts";

const BEAT_MS = 100;
const PROGRAM = fileURLToPath(new URL("idle-process.ts", import.meta.url));

/**
 * What the machine makes of any beat while something is measured: a process that does nothing else writes to this one ten times a
 * second, and is seen as polls are.
 */
export async function idleBeat() {
  const arrivals: number[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", () => void arrivals.push(performance.now()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, [PROGRAM, port.toString(), BEAT_MS.toString()], { stdio: "ignore" });
  return {
    /** From now on. */
    clear: (): void => void arrivals.splice(0),
    p99_ms: (): number => percentile(latenesses(arrivals, BEAT_MS), 99),
    stop: async (): Promise<void> => {
      const ended = once(child, "exit");
      child.kill();
      await ended;
      server.close();
    },
  };
}
