import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { recordFault } from "../support/faults.ts";
import { until } from "../support/eventually.ts";
import type { Program } from "../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { tcpGate, type TcpGate } from "../acquisition/tcp-gate.ts";

/** The promised limit. It counts the time in which the process had a processor or waited for something else. */
const ENDS_WITHIN_MS = 5_000;
const OTHER_BOOTHS = Array.from({ length: 63 }, (_, index) => `booth-${index + 2}`);
/** An agent with 64 booths has started within this time on a quiet machine. */
const STARTING_MS = 3_000;
const POLL_MS = 50;

async function gatedSite() {
  const gates: Partial<Record<"plc" | "service", TcpGate>> = {};
  const through = async (port: number, peer: "plc" | "service"): Promise<number> => {
    const gate = await tcpGate(port);
    onTestFinished(() => gate.stop());
    gates[peer] = gate;
    return gate.port;
  };
  const site = await realSite({ speed: 20, serial: SERIAL, through, others: OTHER_BOOTHS });
  return { site, gates: gates as { readonly plc: TcpGate; readonly service: TcpGate } };
}

/** Opens clients that hang: one sends half a request, the others never read their answer. */
function hangingClients(site: RealSite): void {
  const requests = [
    "GET /status HTTP/1.1\r\nHost: x\r\n",
    "GET /events HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /api/booths/export?start=1970-01-01T00:00:00Z HTTP/1.1\r\nHost: x\r\n\r\n",
  ];
  for (const request of requests) {
    const socket = connect(join(site.runtimeDir, "agent.sock"), () => socket.write(request));
    socket.on("error", () => undefined).pause();
    onTestFinished(() => void socket.destroy());
  }
}

/** Returns the time in which a process's threads waited for a busy processor, as the kernel counts it. */
function crowdedOutMs(pid: number): number {
  const folder = `/proc/${pid}/task`;
  try {
    const waits = readdirSync(folder).map((thread) => readFileSync(join(folder, thread, "schedstat"), "utf8"));
    return waits.reduce((sum, text) => sum + Number(text.split(" ")[1]) / 1e6, 0);
  } catch {
    return 0; // The process or a thread has ended.
  }
}

/** Sends SIGTERM and waits for the end. Returns whether the process ended in time; if it hangs, it is killed. */
async function endsInTime(agent: Program): Promise<boolean> {
  const from = performance.now();
  const before = crowdedOutMs(agent.pid);
  let crowded = 0;
  agent.signal("SIGTERM");
  while (agent.isRunning()) {
    await Promise.race([agent.ended, delay(POLL_MS, undefined, { ref: false })]);
    crowded = Math.max(crowded, crowdedOutMs(agent.pid) - before);
    if (!agent.isRunning() || performance.now() - from - crowded < ENDS_WITHIN_MS) continue;
    agent.signal("SIGKILL");
    await agent.ended;
    return false;
  }
  return true;
}

function record(fault: string, injected: number, late: readonly string[]): void {
  recordFault({ row: 1, fault, injected, lost: 0, doubled: 0, wrong: 0, passed: late.length === 0 });
  expect(late).toEqual([]);
}

it(
  "an agent with 64 booths ends within 5 s of a SIGTERM at any moment during startup",
  { timeout: 240_000 },
  async () => {
    const { site, gates } = await gatedSite();
    const random = seededRandom(20_261_123);
    const late: string[] = [];
    for (let round = 0; round < 8; round++) {
      gates.service.mode = round % 2 === 0 ? "hold" : "pass";
      gates.plc.mode = round % 4 < 2 ? "hold" : "pass";
      const agent = site.startAgent();
      const moment = random.next() * STARTING_MS;
      // The moment is random, so there is no condition to wait for.
      await delay(moment);
      if (!(await endsInTime(agent))) late.push(`${Math.round(moment)} ms after the start of round ${round}`);
    }
    record("stop at any moment of a start", 8, late);
  },
);

it(
  "an agent ends within 5 s of a SIGTERM even if service and PLC don't answer and clients hang",
  { timeout: 240_000 },
  async () => {
    const { site, gates } = await gatedSite();
    const late: string[] = [];
    const silent = site.startAgent();
    await silent.line(/"event":"started"/);
    gates.service.mode = "hold";
    gates.plc.mode = "hold";
    const before = gates.service.accepted();
    await site.serviceDown().then(() => site.serviceUp());
    await until(() => gates.service.accepted() > before, "the service is asked", 60_000);
    hangingClients(site);
    if (!(await endsInTime(silent))) late.push("service and PLC don't answer, clients hang");

    const asking = site.startAgent();
    await asking.line(/"event":"started"/);
    const asked = gates.service.sent().length;
    await until(() => gates.service.sent().length > asked, "a request to the service is under way", 60_000);
    if (!(await endsInTime(asking))) late.push("a request to the service is never answered");
    record("stop by SIGTERM in a hang", 2, late);
  },
);
