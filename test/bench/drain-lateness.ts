import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { SIMULATORS, startProgram } from "../support/processes.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { latenesses } from "./lateness.ts";
import { tap } from "./agent.ts";
import { lookOften, putElsewhere } from "./elsewhere.ts";
import { idleBeat } from "./idle-beat.ts";
import { percentile, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { modbusPlc } from "./modbus-plc.ts";
import { type Load, openedPage, underLoad } from "./page.ts";
import { statusAt, withStartedAgent, type Prepared } from "./running-agent.ts";
import { fillStore, STREAM } from "./store-filled.ts";

/**
 * How late polls begin while everything goes on at once: a log that waited is delivered as fast as the service takes it, polls are
 * committed, and pages and exports are answered. As the PLC sees it, in this process, above all others; service and pages are processes of
 * their own, beneath them.
 */

const SERIAL = "BENCH-1";
const KEY = "key-of-the-bench";
/** One with a log that waits, and others beside it: of one alone a minute has 60 polls, and the worst of them would be their p99. */
const BOOTHS = 8;
/** Of fewer polls nothing is said. */
const FEWEST = 50;
const BEGINS_WITHIN_MS = 120_000;
/** Days of log that wait, more than are delivered until the end, and seconds of measuring, twice. */
const SIZE = { quick: { days: 4, seconds: 2 }, full: { days: 420, seconds: 60 } };

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
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port },
    poll: { fast: every, slow: every },
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
}

/** What is seen as this machine's kernel has it, then as boxes' have it: null where nobody may bring that about. */
type Seen = readonly [ticks: Measured, looking: Measured | null];

async function measure(
  size: (typeof SIZE)["quick"],
  atEnd: AtEnd,
): Promise<{ readonly seen: Seen; readonly load: Load }> {
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
      const watch = async (): Promise<Measured> => {
        for (const { arrivals } of plcs) arrivals.splice(0);
        idle.clear();
        const before = await acked();
        const begun = performance.now();
        await sleep(size.seconds * 1_000);
        const delivered_per_s = ((await acked()) - before) / ((performance.now() - begun) / 1_000);
        const late = plcs.flatMap(({ arrivals }) => latenesses(arrivals));
        return { late, idle_p99_ms: idle.p99_ms(), delivered_per_s };
      };
      const [seen, load] = await underLoad(await openedPage(socket), async (): Promise<Seen> => {
        const ticks = await watch();
        const stop = lookOften();
        return [ticks, stop === null ? null : await watch().finally(stop)];
      });
      return { seen, load };
    },
    prepared,
  );
}

interface Shown {
  readonly name: string;
  readonly kernel: string;
  readonly isJudged: boolean;
}

function figureOf({ late, ...more }: Measured, { name, kernel, isJudged }: Shown): Figure {
  const p99 = percentile(late, 99);
  const meanwhile = `${Math.round(more.delivered_per_s)} records/s delivered, CSV and 20 pages; an idle process's beat: ${more.idle_p99_ms.toFixed(1)} ms`;
  const most = isJudged ? "at most 5 ms of" : "none;";
  return {
    name,
    value: p99,
    unit: "ms",
    anchor: percentile(late, 50),
    ratio: null,
    target: `${most} ${late.length} polls, ${kernel}; ${meanwhile}; anchor: the median`,
    reached: !isJudged || late.length < FEWEST ? null : p99 <= 5,
  };
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const undos: (() => unknown)[] = [];
  try {
    const size = quick ? SIZE.quick : SIZE.full;
    const { seen, load } = await measure(size, (undo) => void undos.push(undo));
    const [ticks, looking] = seen;
    process.stderr.write(`draining: ${(load.exported_bytes / 1e6).toFixed(0)} MB taken as CSV\n`);
    const name = "poll.draining_lateness_p99_ms";
    const at_ticks = { name, kernel: "a woken thread waits for this kernel's tick", isJudged: looking === null };
    if (looking === null) return [figureOf(ticks, at_ticks)];
    const kernel = "a woken thread runs within half a millisecond, as by boxes' kernels";
    return [
      figureOf(looking, { name, kernel, isJudged: true }),
      figureOf(ticks, { ...at_ticks, name: "poll.draining_ticks_lateness_p99_ms" }),
    ];
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

export const drainLatenessFamily: Family = { name: "draining", run };
