import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { percentile } from "./figure.ts";
import { latenesses } from "./plcs.ts";

const BEAT_MS = 100;
const ROLE = "beat";

export interface IdleBeat {
  /** Forgets the beats so far. */
  readonly clear: () => void;
  readonly p99_ms: () => number;
}

/** Starts an idle process that writes to this one ten times a second. Its lateness is the machine's share of any lateness. */
export async function startIdleBeat(atEnd: (undo: () => unknown) => void): Promise<IdleBeat> {
  const arrivals: number[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", () => void arrivals.push(performance.now()));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  atEnd(() => server.close());
  const { port } = server.address() as AddressInfo;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ROLE, port.toString()], { stdio: "ignore" });
  atEnd(() => child.kill());
  return { clear: () => void arrivals.splice(0), p99_ms: () => percentile(latenesses(arrivals, BEAT_MS), 99) };
}

function beat(port: number): void {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  socket.on("close", () => process.exit());
  let due = performance.now();
  const next = (): void => {
    socket.write(".");
    // Keeps the rhythm, as a poll does.
    due += BEAT_MS * Math.max(1, Math.ceil((performance.now() - due) / BEAT_MS));
    setTimeout(next, due - performance.now());
  };
  socket.on("connect", next);
}

if (process.argv[2] === ROLE) beat(Number(process.argv[3]));
