import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { PageState } from "../../src/api/port.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import { sessionAt } from "../api/box-http.ts";
import { fillStore, STREAM } from "../support/filled-store.ts";
import { SIMULATORS, startProgram } from "../support/processes.ts";
import { SIXTY_TAGS_T0 } from "../support/sixty-tags.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { lookOften, putElsewhere, standAbove } from "./elsewhere.ts";
import { figureOf, notMeasured, percentile, withCleanUp, type Family, type Figure } from "./figure.ts";
import { startIdleBeat } from "./idle-beat.ts";
import { withAgent } from "./packaged.ts";
import { startPlcs, type Plcs, type Read } from "./plcs.ts";
import type { RunningAgent } from "./running-agent.ts";

/**
 * How late polls begin while others use the agent, as the PLC sees it: this process plays the PLCs and stands above all others; those
 * who use the agent are processes of their own, behind it.
 */

type Length = "quick" | "full";

const BOOTHS = 8;
const SETTLE_MS = { quick: 1_000, full: 10_000 };
const MEASURED_S = { quick: 3, full: 60 };
/** Fewer polls of a booth, as in a short run, are not judged. */
const FEWEST_EACH = 10;
const MOST_LATE_MS = 5;
/** Retention that keeps the old records which the export reads. */
const KEPT_FOR_YEARS = { max_bytes: 1_000_000_000, max_age_days: 3_650 };

/** Returns the lateness of all polls of the next time. */
async function latenessOf(plcs: Plcs, length: Length): Promise<readonly number[]> {
  plcs.clear();
  await sleep(MEASURED_S[length] * 1_000);
  return plcs.late().flat();
}

interface Compared {
  readonly late: readonly number[];
  readonly anchor: number;
  /** The load during the measurement, and the anchor to compare with. */
  readonly conditions: string;
  readonly booths: number;
}

function latenessFigure(name: string, { late, anchor, conditions, booths }: Compared): Figure {
  const value = percentile(late, 99);
  const reached = late.length < FEWEST_EACH * booths ? null : value <= MOST_LATE_MS;
  const note = `${late.length} polls; ${conditions}`;
  return figureOf({ name, value, unit: "ms", anchor, target: `<= ${MOST_LATE_MS} ms`, note, reached });
}

const LOAD = fileURLToPath(new URL("page-load.ts", import.meta.url));
const EXPORTED_DAYS = { quick: 5, full: 90 };

/** The last line of page-load.ts. */
interface Load {
  readonly pages: number;
  readonly events: number;
  readonly exported_bytes: number;
  /** Reports that the charts of the pages asked for. */
  readonly looks: number;
}

/** Runs `act` while 20 pages look on and clients, one after the other, take so many days as CSV. */
async function underLoad<T>(agent: RunningAgent, days: number, act: () => Promise<T>): Promise<readonly [T, Load]> {
  const call = { method: "POST", path: "/page", body: { for_ms: 12 * HOUR_MS } } as const;
  // The agent answers its own shape.
  const { url, pin } = (await askAgent(agent.socket, call)) as PageState & { readonly pin: string };
  if (url === null) throw new Error("the agent has no page");
  const window = [SIXTY_TAGS_T0, SIXTY_TAGS_T0 + days * DAY_MS].map((at) => new Date(at).toISOString());
  const args = [LOAD, url, await sessionAt(url, pin), ...window];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  if (child.pid !== undefined) putElsewhere(child.pid);
  const ended = once(child, "close");
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout }).on("line", (line) => void lines.push(line));
  try {
    await Promise.race([once(reader, "line"), ended]);
    if (lines.length === 0) throw new Error("pages and exports get nothing");
    const done = await act().finally(standAbove());
    child.stdin.end();
    await ended;
    return [done, JSON.parse(lines.at(-1) ?? "") as Load];
  } finally {
    child.kill();
  }
}

function loadText({ exported_bytes, events, looks, pages }: Load): string {
  return `${(exported_bytes / 1e6).toFixed(0)} MB as CSV, ${events} events and ${looks} reports to ${pages} pages`;
}

function pageFigure(length: Length): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    // In a short run as many polls in a fifth of the time.
    const plcs = await startPlcs(BOOTHS, atEnd, { interval_ms: length === "quick" ? 200 : 1_000 });
    const days = EXPORTED_DAYS[length];
    const fill = (folder: string): void => void fillStore(folder, days, { own: 1 });
    return withAgent({ booths: plcs.booths, fill, config: { store: KEPT_FOR_YEARS } }, async (agent) => {
      await agent.polling();
      await sleep(SETTLE_MS[length]);
      const alone = percentile(await latenessOf(plcs, length), 99);
      const [late, load] = await underLoad(agent, days, () => latenessOf(plcs, length));
      const conditions = `${loadText(load)}; anchor: without them`;
      return latenessFigure("page.lateness_p99_ms", { late, anchor: alone, conditions, booths: BOOTHS });
    });
  });
}

const SERIAL = "BENCH-1";
const KEY = "key-of-the-bench";
/** Days of log that wait: more than are delivered until the end. */
const WAITING_DAYS = { quick: 4, full: 420 };

/** Starts a service with one booth to bind, as a process. Returns its URL. */
async function startService(folder: string, atEnd: AtEnd): Promise<string> {
  const ports = ["--port", "0", "--mqtt-port", "0"];
  const args = ["service", ...ports, "--data", join(folder, "service"), "--serial", SERIAL, "--api-key", KEY];
  const program = startProgram(SIMULATORS, args, { atEnd });
  const line = await program.line(/^service http/);
  putElsewhere(program.pid);
  return /http:\/\/[^,\s]+/.exec(line)?.[0] ?? "";
}

/** Booths of which the first has a log of so many days to deliver, with their PLCs and the service. */
export async function drainingBed(days: number, atEnd: AtEnd) {
  const folder = temporaryFolder(undefined, atEnd);
  const plcs = await startPlcs(BOOTHS, atEnd);
  const url = await startService(folder, atEnd);
  const api_key_file = join(folder, "api-key");
  writeFileSync(api_key_file, `${KEY}\n`, { mode: 0o600 });
  const booths = plcs.booths.map((booth, nth) => (nth === 0 ? { serial: SERIAL, ...booth } : booth));
  const fill = (data: string): void => {
    fillStore(data, days, { own: 1 });
    const writer = writerIn(data);
    writer.resend(STREAM, 1);
    writer.close();
  };
  return { plcs, box: { booths, fill, config: { service: { url, api_key_file }, store: KEPT_FOR_YEARS } } };
}

/** The machine's kernel lets a woken thread run at once, as those of boxes do, where the bench may bring that about. */
function drainingFigure(length: Length): Promise<Figure> {
  return withCleanUp(async (atEnd) => {
    const { plcs, box } = await drainingBed(WAITING_DAYS[length], atEnd);
    const idle = await startIdleBeat(atEnd);
    return withAgent(box, async (agent) => {
      const ackedIn = async (): Promise<number> => (await agent.status())?.booths[0]?.log.acked_seq ?? 0;
      await agent.once("what waited is delivered", ({ booths }) => (booths[0]?.log.acked_seq ?? 0) > 0);
      const measure = async () => {
        const stop = lookOften();
        idle.clear();
        const before = await ackedIn();
        const begun = performance.now();
        const late = await latenessOf(plcs, length).finally(stop ?? undefined);
        const per_s = ((await ackedIn()) - before) / ((performance.now() - begun) / 1_000);
        return {
          late,
          per_s,
          kernel: stop === null ? "a woken thread waits for a tick" : "a woken thread runs at once",
        };
      };
      const [{ late, per_s, kernel }, load] = await underLoad(agent, EXPORTED_DAYS.full, measure);
      const delivered = `${Math.round(per_s)} records/s delivered`;
      const conditions = `${kernel}; ${delivered}, ${loadText(load)}; anchor: an idle process's beat`;
      const compared = { late, anchor: idle.p99_ms(), conditions, booths: BOOTHS };
      return latenessFigure("poll.draining_lateness_p99_ms", compared);
    });
  });
}

const SHARED_BOOTHS = 64;
/** libmodbus at the first booths, pymodbus at the next. */
const CLIENTS = { libmodbus: 8, pymodbus: 2 };
/** Addresses that pymodbus_reader.py reads and no profile polls: the agent passes them on to the PLC, and they are no polls. */
const PASSED = [100, 300];
const ENDLESS = "1000000";

const peer = (name: string): string => fileURLToPath(new URL(`../system/peers/${name}`, import.meta.url));

/** Starts clients of other makers at shared connections; rejects if one of them ends before the clean-up. */
function startClients(ports: readonly number[], atEnd: AtEnd): { readonly failed: Promise<never> } {
  const reader = join(temporaryFolder(undefined, atEnd), "reader");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" });
  execFileSync("cc", ["-O1", "-o", reader, peer("libmodbus_reader.c"), ...flags.trim().split(/\s+/)]);
  const start = (port: number, nth: number): ChildProcess =>
    nth < CLIENTS.libmodbus
      ? spawn(reader, [port.toString(), ENDLESS], { stdio: "ignore" })
      : spawn("/usr/bin/python3", [peer("pymodbus_reader.py"), port.toString(), ENDLESS], { stdio: "ignore" });
  const failed = Promise.race(
    ports.map(async (port, nth) => {
      const child = start(port, nth);
      atEnd(() => child.kill("SIGKILL"));
      const [code] = (await once(child, "exit")) as [number | null];
      throw new Error(`client ${nth + 1} at port ${port} ended with ${code ?? "a signal"}`);
    }),
  );
  failed.catch(() => undefined); // after the figure's end its result isn't needed
  return { failed };
}

function sharedFigure(length: Length): Promise<Figure> {
  const name = `poll.shared${SHARED_BOOTHS}_lateness_p99_ms`;
  if (spawnSync("pkg-config", ["--exists", "libmodbus"]).status !== 0)
    return Promise.resolve(notMeasured(name, "ms", "libmodbus or pymodbus is not installed"));
  return withCleanUp(async (atEnd) => {
    const isPoll = ({ address }: Read): boolean => !PASSED.includes(address);
    const plcs = await startPlcs(SHARED_BOOTHS, atEnd, { isPoll, modbus: { share: { port: 0 } } });
    return withAgent({ booths: plcs.booths }, async (agent) => {
      await agent.polling();
      await sleep(SETTLE_MS[length]);
      const anchor = percentile(await latenessOf(plcs, length), 99);
      const shared = async () => (await agent.status())?.shared ?? [];
      const ports = (await shared()).map(({ port }) => port).slice(0, CLIENTS.libmodbus + CLIENTS.pymodbus);
      const { failed } = startClients(ports, atEnd);
      await Promise.race([sleep(SETTLE_MS[length]), failed]);
      const answers = async (): Promise<number> => {
        const all = await shared();
        return all.reduce((sum, of) => sum + of.from_polls + of.passed + of.refused_writes + of.busy + of.failed, 0);
      };
      const before = await answers();
      const late = await Promise.race([latenessOf(plcs, length), failed]);
      const per_s = ((await answers()) - before) / MEASURED_S[length];
      const clients = `${ports.length} clients (libmodbus, pymodbus) got ${per_s.toFixed(0)} answers/s`;
      const conditions = `${clients}; anchor: without clients`;
      return latenessFigure(name, { late, anchor, conditions, booths: SHARED_BOOTHS });
    });
  });
}

function family(name: string, measure: (length: Length) => Promise<Figure>): Family {
  return { name, run: async ({ quick }) => [await measure(quick ? "quick" : "full")] };
}

export const pageFamily = family("page", pageFigure);
export const drainingFamily = family("draining", drainingFigure);
export const sharedFamily = family("shared", sharedFigure);
