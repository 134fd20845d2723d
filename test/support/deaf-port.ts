import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";
import { eventually } from "./eventually.ts";

/** A program that listens but never accepts: its thread hangs, and the kernel queues one or two connections. */
const HANGS = `
  const { createServer } = require("node:net");
  const { parentPort } = require("node:worker_threads");
  const server = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  });
`;

/**
 * Returns a port of this machine that neither accepts nor refuses connections, like a port behind a firewall that drops
 * packets.
 */
export async function deafPort(): Promise<number> {
  const worker = new Worker(HANGS, { eval: true });
  onTestFinished(() => worker.terminate().then(() => undefined));
  const port = await new Promise<number>((resolve, reject) => worker.once("message", resolve).once("error", reject));
  const fill: Socket[] = [];
  onTestFinished(() => fill.forEach((socket) => socket.destroy()));
  await eventually("nobody gets through to the port", async () => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => undefined);
    fill.push(socket);
    const isThrough = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      setTimeout(() => resolve(false), 300);
    });
    return isThrough ? undefined : true;
  });
  return port;
}

/** Counts connection attempts of this process that are still pending. Each would delay a stop. */
export const connecting = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "ConnectWrap").length;
