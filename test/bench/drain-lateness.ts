import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { SIMULATORS, startProgram } from "../support/processes.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { latenesses } from "./lateness.ts";
import { tap } from "./agent.ts";
import { putElsewhere } from "./elsewhere.ts";
import { idleBeat } from "./idle-beat.ts";
import { percentile, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { modbusPlc } from "./modbus-plc.ts";
import { openedPage, underLoad } from "./page.ts";
import { statusAt, withStartedAgent, type Prepared } from "./running-agent.ts";
import { fillStore, STREAM } from "./store-filled.ts";

/**
 * How late polls begin while everything goes on at once: a log that waited is delivered as fast as the service takes it, polls are
 * committed, and pages and exports are answered. As the PLC sees it, in this process; service and pages are processes of their own.
 */

const SERIAL = "BENCH-1";
const KEY = "key-of-the-bench";
/** One with a log that waits, and others beside it: of one alone a minute has 60 polls, and the worst of them would be their p99. */
const BOOTHS = 8;
/** Of fewer polls nothing is said. */
const FEWEST = 50;
const BEGINS_WITHIN_MS = 120_000;
/** Days of log that wait, more than are delivered until the end, and seconds of measuring. */
const SIZE = { quick: { days: 2, seconds: 2 }, full: { days: 240, seconds: 60 } };

/** A service with one booth to bind, as a process; its address. */
async function serviceProcess(folder: string, atEnd: AtEnd): Promise<string> {
  const ports = ["--port", "0", "--mqtt-port", "0"];
  const argv = ["service", ...ports, "--data", join(folder, "service"), "--serial", SERIAL, "--api-key", KEY];
  const program = startProgram(SIMULATORS, argv, { atEnd });
  const line = await program.line(/^service http/);
  putElsewhere(program.pid);
  return /http:\/\/[^,\s]+/.exec(line)?.[0] ?? "";
}

/** Everything in the store still waits for the service. */
function fillWaiting(folder: string, days: number): void {
  fillStore(folder, days, { own: 1 });
  const writer = writerIn(folder);
  writer.resend(STREAM, 1);
  writer.close();
}

/** Booths whose agent has a log of so many days of the first to deliver, with their PLCs and the service. */
export async function drainingBed(days: number, atEnd: AtEnd) {
  const folder = temporaryFolder(undefined, atEnd);
  const device = await modbusPlc();
  atEnd(() => device.stop());
  const plcs = await Promise.all(Array.from({ length: BOOTHS }, () => tap(device.port)));
  for (const plc of plcs) atEnd(() => plc.close());
  const url = await serviceProcess(folder, atEnd);
  const api_key_file = join(folder, "api-key");
  writeFileSync(api_key_file, `${KEY}\n`, { mode: 0o600 });
  const every = { poll_interval_ms: 1000 };
  const booths = plcs.map(({ port }, nth) => ({
    ...(nth === 0 ? { serial: SERIAL } : {}),
    ...{ profile: "click-booth", modbus: { host: "127.0.0.1", port }, poll: { fast: every, slow: every } },
  }));
  const prepared: Prepared = {
    fill: (data) => {
      fillWaiting(data, days);
    },
    config: { service: { url, api_key_file }, store: { max_bytes: 1_000_000_000, max_age_days: 3_650 } },
  };
  return { booths, prepared, plcs };
}

interface Measured {
  readonly late: readonly number[];
  /** The same of an idle process, meanwhile. */
  readonly idle_p99_ms: number;
  readonly delivered_per_s: number;
  readonly exported_mb: number;
}

async function measure(size: (typeof SIZE)["quick"], atEnd: AtEnd): Promise<Measured> {
  const { booths, prepared, plcs } = await drainingBed(size.days, atEnd);
  const idle = await idleBeat();
  atEnd(idle.stop);
  return withStartedAgent(
    booths,
    async (_pid, socket) => {
      const acked = async (): Promise<number> => (await statusAt(socket))?.booths[0]?.log.acked_seq ?? 0;
      await eventually(
        "what waited is delivered",
        async () => ((await acked()) > 0 ? true : undefined),
        BEGINS_WITHIN_MS,
      );
      const page = await openedPage(socket);
      for (const { arrivals } of plcs) arrivals.splice(0);
      idle.clear();
      const [before, begun] = [await acked(), performance.now()];
      const [, seen] = await underLoad(page, () => sleep(size.seconds * 1_000));
      const delivered_per_s = ((await acked()) - before) / ((performance.now() - begun) / 1_000);
      const exported_mb = seen.exported_bytes / 1e6;
      const late = plcs.flatMap(({ arrivals }) => latenesses(arrivals));
      return { late, idle_p99_ms: idle.p99_ms(), delivered_per_s, exported_mb };
    },
    prepared,
  );
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const undos: (() => unknown)[] = [];
  try {
    const size = quick ? SIZE.quick : SIZE.full;
    const { late, idle_p99_ms, delivered_per_s, exported_mb } = await measure(size, (undo) => void undos.push(undo));
    const p99 = percentile(late, 99);
    const meanwhile = `${Math.round(delivered_per_s).toString()} records/s of ${size.days.toString()} days delivered, ${exported_mb.toFixed(0)} MB taken as CSV, 20 pages; an idle process's beat: ${idle_p99_ms.toFixed(1)} ms`;
    const figure = { name: "poll.draining_lateness_p99_ms", value: p99, unit: "ms", anchor: percentile(late, 50) };
    return [
      {
        ...figure,
        ratio: null,
        target: `at most 5 ms of ${late.length} polls; ${meanwhile}; anchor: the median`,
        reached: late.length < FEWEST ? null : p99 <= 5,
      },
    ];
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

export const drainLatenessFamily: Family = { name: "draining", run };
