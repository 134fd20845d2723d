import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { recordFault } from "../support/faults.ts";
import { until } from "../support/eventually.ts";
import type { Program } from "../support/processes.ts";
import { realSite, type RealSite } from "../support/real-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { tcpGate, type TcpGate } from "../acquisition/tcp-gate.ts";

/** What is asked of the agent, whatever it is in the middle of: of time in which it had a processor, or waited for something else. */
const ENDS_WITHIN_MS = 5_000;
const OTHER_BOOTHS = Array.from({ length: 63 }, (_, index) => `booth-${index + 2}`);
/** An agent with 64 booths is up within this on a quiet machine; the moments spread over it and what comes after. */
const STARTING_MS = 3_000;

const SEED = 20_261_123;
const LOOK_MS = 50;

interface Gates {
  readonly plc: TcpGate;
  readonly service: TcpGate;
}

async function gatedSite(more: { readonly others?: readonly string[]; readonly opcua?: boolean }) {
  const gates: Partial<Record<"plc" | "service", TcpGate>> = {};
  const through = async (port: number, peer: "plc" | "service"): Promise<number> => {
    const gate = await tcpGate(port);
    onTestFinished(() => gate.stop());
    gates[peer] = gate;
    return gate.port;
  };
  const site = await realSite({ speed: 20, serial: "ABCD-123-123", through, ...more });
  return { site, gates: gates as Gates };
}

/** A broker that takes the connection and never says a word. */
async function deafBroker(site: RealSite): Promise<{ readonly connections: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const at = server.address();
  const port = typeof at === "object" && at !== null ? at.port : 0;
  Object.assign(site.service.service, { mqttUrl: () => `mqtt://127.0.0.1:${port}` });
  return { connections: () => sockets.size };
}

/** Clients that hang: one with half a request, one that never reads its stream of readings, one that never reads its report. */
function hangingClients(site: RealSite): void {
  const requests = [
    "GET /status HTTP/1.1\r\nHost: x\r\n",
    "GET /events HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /booths/booth-1/history.csv HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /api/booths/export?start=1970-01-01T00:00:00Z HTTP/1.1\r\nHost: x\r\n\r\n",
  ];
  for (const request of requests) {
    const socket = connect(join(site.runtimeDir, "agent.sock"), () => socket.write(request));
    socket.on("error", () => undefined).pause();
    onTestFinished(() => void socket.destroy());
  }
}

/** How agents ended, and which didn't in time. */
interface Ends {
  readonly late: string[];
  readonly codes: (number | string)[];
  /** Absent: SIGTERM. */
  readonly signal?: NodeJS.Signals;
}

/** How long a process's threads have waited for a processor that others had, as the kernel counts it. */
function crowdedOut_ms(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const waited = (thread: string): number => {
    try {
      return Number(readFileSync(join(folder, thread, "schedstat"), "utf8").split(" ")[1]) / 1e6;
    } catch {
      return 0; // it has ended since
    }
  };
  try {
    return readdirSync(folder).reduce((sum, thread) => sum + waited(thread), 0);
  } catch {
    return 0;
  }
}

/** The signal and the end. A process that hangs is killed, so that the next can start. */
async function stop(agent: Program, { late, codes, signal = "SIGTERM" }: Ends, moment: string): Promise<void> {
  const from = performance.now();
  const before = crowdedOut_ms(agent.pid);
  let crowded = 0;
  agent.signal(signal);
  while (agent.isRunning()) {
    await Promise.race([agent.ended, delay(LOOK_MS, undefined, { ref: false })]);
    crowded = Math.max(crowded, crowdedOut_ms(agent.pid) - before);
    if (!agent.isRunning() || performance.now() - from - crowded < ENDS_WITHIN_MS) continue;
    agent.signal("SIGKILL");
    late.push(moment);
    break;
  }
  codes.push(await agent.ended);
}

function count(fault: string, { late, codes }: Ends): void {
  process.stdout.write(`${fault}: ${codes.join(", ")}\n`);
  recordFault({ row: 1, fault, injected: codes.length, lost: 0, doubled: 0, wrong: 0, passed: late.length === 0 });
  expect(late).toEqual([]);
}

it("SIGTERM ends an agent with 64 booths in time at any moment of its start", { timeout: 240_000 }, async () => {
  const { site, gates } = await gatedSite({ others: OTHER_BOOTHS });
  const random = seededRandom(SEED);
  const ends: Ends = { late: [], codes: [] };
  for (let round = 0; round < 8; round++) {
    gates.service.mode = round % 2 === 0 ? "hold" : "pass";
    gates.plc.mode = round % 4 < 2 ? "hold" : "pass";
    const agent = site.startAgent();
    const moment = random.next() * STARTING_MS;
    // The instant itself is what is random here: nothing is waited for.
    await delay(moment);
    await stop(agent, ends, `${Math.round(moment)} ms after the start of round ${round}`);
  }
  count("stop at any moment of a start", ends);
});

it.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends an agent in time while service, broker and PLC swallow what they are asked, and clients hang",
  { timeout: 240_000 },
  async (signal) => {
    const { site, gates } = await gatedSite({ others: OTHER_BOOTHS });
    const broker = await deafBroker(site);
    const ends: Ends = { late: [], codes: [], signal };
    const running = site.startAgent();
    await running.line(/"event":"started"/);
    await until(() => broker.connections() > 0, "the broker is called", 60_000);
    hangingClients(site);
    await stop(running, ends, "the broker says nothing");

    const silent = site.startAgent();
    await silent.line(/"event":"started"/);
    gates.service.mode = "hold";
    gates.plc.mode = "hold";
    const before = gates.service.accepted();
    await site.serviceDown().then(() => site.serviceUp());
    await until(() => gates.service.accepted() > before, "the service is asked", 60_000);
    hangingClients(site);
    await stop(silent, ends, "service and PLC say nothing");

    const asking = site.startAgent();
    await asking.line(/"event":"started"/);
    const asked = gates.service.sent().length;
    await until(() => gates.service.sent().length > asked, "a request to the service is under way", 60_000);
    await stop(asking, ends, "a request to the service is never answered");
    count(`stop by ${signal} in a hang`, ends);
  },
);

it("SIGTERM ends an agent in time that reads by OPC UA, connecting and reading", { timeout: 240_000 }, async () => {
  const { site } = await gatedSite({ opcua: true });
  const random = seededRandom(SEED + 1);
  const ends: Ends = { late: [], codes: [] };
  for (let round = 0; round < 4; round++) {
    const agent = site.startAgent();
    await agent.line(/"event":"started"/);
    const moment = random.next() * 1_500;
    await delay(moment);
    await stop(agent, ends, `${Math.round(moment)} ms after the start of round ${round}`);
  }
  count("stop of an OPC UA link", ends);
});
