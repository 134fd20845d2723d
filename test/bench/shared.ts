import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Tap, withFleet } from "./agent.ts";
import { type BenchOptions, type Family, type Figure, percentile } from "./figure.ts";
import { idleBeat } from "./idle-beat.ts";
import { latenesses } from "./lateness.ts";
import { statusAt } from "./running-agent.ts";

/** How late the polls of 64 booths begin while clients of others read and write as fast as they may by the shared connections. */

const SIZE = 64;
/** libmodbus at the first of the booths, pymodbus at the next. */
const CLIENTS = { libmodbus: 8, pymodbus: 2 };
const SETTLE_MS = { quick: 1_000, full: 8_000 };
const MEASURED_S = { quick: 3, full: 60 };
/** Of fewer polls of a booth nothing is said. */
const FEWEST_EACH = 10;
/** What pymodbus_reader.py reads that no profile polls: it goes through to the PLC, and is no poll. */
const PASSED = [100, 300];
const ADDRESS_AT = 8;
const ROUNDS = "1000000";

const peer = (name: string): string => fileURLToPath(new URL(`../system/peers/${name}`, import.meta.url));

function startClients(ports: readonly number[], folder: string): () => Promise<void> {
  const reader = join(folder, "reader");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" });
  execFileSync("cc", ["-O1", "-o", reader, peer("libmodbus_reader.c"), ...flags.trim().split(/\s+/)]);
  const children = ports.map((port, index) =>
    index < CLIENTS.libmodbus
      ? spawn(reader, [port.toString(), ROUNDS], { stdio: "ignore" })
      : spawn("/usr/bin/python3", [peer("pymodbus_reader.py"), port.toString(), ROUNDS], { stdio: "ignore" }),
  );
  return async () => {
    const ended = children.map((child) => once(child, "exit"));
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(ended);
  };
}

async function lateFor(taps: readonly Tap[], seconds: number): Promise<readonly number[]> {
  for (const { arrivals } of taps) arrivals.splice(0);
  await sleep(seconds * 1_000);
  return taps.flatMap(({ arrivals }) => latenesses(arrivals));
}

async function measure(length: keyof typeof MEASURED_S, folder: string): Promise<Figure> {
  const isPoll = (request: Buffer): boolean => !PASSED.includes(request.readUInt16BE(ADDRESS_AT));
  return withFleet({ size: SIZE, shared: { isPoll } }, async (_pid, taps, socket) => {
    const idle = await idleBeat();
    await sleep(SETTLE_MS[length]);
    const alone = await lateFor(taps, MEASURED_S[length]);
    const shared = async () => (await statusAt(socket))?.shared ?? [];
    const ports = (await shared()).map(({ port }) => port).slice(0, CLIENTS.libmodbus + CLIENTS.pymodbus);
    const stop = startClients(ports, folder);
    await sleep(SETTLE_MS[length]);
    idle.clear();
    const count = async (): Promise<readonly number[]> =>
      (await shared()).map((one) => one.from_polls + one.passed + one.refused_writes + one.busy + one.failed);
    const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);
    const before = sum(await count());
    const begun = performance.now();
    const late = await lateFor(taps, MEASURED_S[length]);
    const per_s = (sum(await count()) - before) / ((performance.now() - begun) / 1_000);
    const beat = idle.p99_ms();
    await stop();
    await idle.stop();
    const value = percentile(late, 99);
    const anchor = percentile(alone, 99);
    const meanwhile = `${ports.length} clients (libmodbus, pymodbus) got ${per_s.toFixed(0)} answers/s; an idle process's beat: ${beat.toFixed(1)} ms`;
    return {
      name: `poll.shared${SIZE}_lateness_p99_ms`,
      value,
      unit: "ms",
      anchor,
      ratio: value / anchor,
      target: `at most 5 ms of ${late.length} polls; ${meanwhile}; anchor: the same without clients`,
      reached: late.length < FEWEST_EACH * SIZE ? null : value <= 5,
    };
  });
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  // Without Debian's packages of both there is nobody to ask.
  if (spawnSync("pkg-config", ["--exists", "libmodbus"]).status !== 0) return [];
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    return [await measure(quick ? "quick" : "full", folder)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const sharedFamily: Family = { name: "shared", run };
