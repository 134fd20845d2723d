import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { aligned } from "../support/aligned.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { tap } from "./agent.ts";
import { drainingBed } from "./drain-lateness.ts";
import type { BenchOptions } from "./figure.ts";
import { modbusPlc } from "./modbus-plc.ts";
import { longestSections, mostExpensive, type CpuProfile } from "./profile-text.ts";
import { statusAt, withAgent, withStartedAgent } from "./running-agent.ts";

/**
 * `npm run bench -- profile`: where an agent's CPU goes, thread by thread, with 64 booths polled each second and while a log that
 * waited is delivered. The agent runs from its sources, so that functions have their names and places.
 */
const BOOTHS = 64;
/** Until then code is loaded and compiled: that isn't asked for. */
const SETTLE_MS = { quick: 4_000, full: 20_000 };
const MEASURED_MS = { quick: 5_000, full: 60_000 };
/** Days of log that wait. */
const DAYS = { quick: 1, full: 4 };
const DRAINED_WITHIN_MS = 300_000;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What V8 wrote of a process, a text a thread. */
function textsIn(folder: string, { title, last_ms }: { readonly title: string; readonly last_ms: number }): string[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      // V8's own file: CPU.DATE.TIME.PROCESS.THREAD.NUMBER.cpuprofile
      const profile = JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile;
      const thread = Number(file.split(".")[4]);
      const of = thread === 0 ? "main thread" : `thread ${thread}`;
      const { cpu_s, length_s, rows } = mostExpensive(profile, { last_ms, placeOf });
      const head = `${title}, ${of}: ${cpu_s.toFixed(1)} s of CPU in ${length_s.toFixed(0)} s`;
      const shares = aligned([["self", "", "total", ""], ...rows]);
      const sections = aligned([["longest", "", "of it", ""], ...longestSections(profile, { last_ms, placeOf })]);
      return `${head}\n${shares}\n${thread === 0 ? `\n${sections}\n` : ""}`;
    });
}

function placeOf(url: string): string {
  const path = url.startsWith("file:") ? relative(ROOT, fileURLToPath(url)) : url;
  return path.replace(/^(?:\.\.\/)*.*node_modules\//, "");
}

async function polling(length: "quick" | "full", atEnd: AtEnd): Promise<string[]> {
  const device = await modbusPlc();
  atEnd(() => device.stop());
  const profiles = temporaryFolder(undefined, atEnd);
  const every = { poll_interval_ms: 1_000 };
  // At one address they would share a link, and be read one after the other.
  const taps = await Promise.all(Array.from({ length: BOOTHS }, () => tap(device.port)));
  for (const each of taps) atEnd(() => each.close());
  const booths = taps.map(({ port }) => ({
    profile: "click-booth",
    modbus: { host: "127.0.0.1", port },
    poll: { fast: every, slow: every },
  }));
  await withAgent(booths, () => sleep(SETTLE_MS[length] + MEASURED_MS[length]), { profiles });
  return textsIn(profiles, { title: `${BOOTHS} booths, each second`, last_ms: MEASURED_MS[length] });
}

async function draining(length: "quick" | "full", atEnd: AtEnd): Promise<string[]> {
  const { booths, prepared } = await drainingBed(DAYS[length], atEnd);
  const profiles = temporaryFolder(undefined, atEnd);
  const last_ms = await withStartedAgent(
    booths,
    async (_pid, socket) => {
      const logOf = async () => (await statusAt(socket))?.booths[0]?.log;
      const seen = (what: string, isSo: (acked: number, newest: number) => boolean): Promise<true> =>
        eventually(
          what,
          async () => {
            const log = await logOf();
            return log !== undefined && isSo(log.acked_seq, log.newest_seq) ? true : undefined;
          },
          DRAINED_WITHIN_MS,
        );
      await seen("what waited is delivered", (acked) => acked > 0);
      const begun = performance.now();
      await seen("all that waited is delivered", (acked, newest) => acked > newest * 0.99);
      return performance.now() - begun;
    },
    { ...prepared, profiles },
  );
  return textsIn(profiles, { title: `a log of ${DAYS[length]} days delivered`, last_ms });
}

export async function profiled({ quick }: BenchOptions): Promise<string> {
  const undos: (() => unknown)[] = [];
  const atEnd: AtEnd = (undo) => void undos.push(undo);
  const length = quick ? "quick" : "full";
  try {
    const texts = [...(await polling(length, atEnd)), ...(await draining(length, atEnd))];
    return texts.join("\n");
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}
