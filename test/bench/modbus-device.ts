import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The bench's device in a process of its own, so that its CPU isn't counted. */
export async function startDevice(): Promise<{ readonly port: number; readonly stop: () => void }> {
  const server = fork(fileURLToPath(new URL("modbus-server.ts", import.meta.url)), { stdio: "inherit" });
  const [port] = (await once(server, "message")) as [number];
  return { port, stop: () => server.disconnect() };
}
