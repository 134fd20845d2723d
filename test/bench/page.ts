import { setTimeout as sleep } from "node:timers/promises";
import { askAgent } from "../../src/cli/agent-client.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { PageState } from "../../src/core/types/page.ts";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { findScenario } from "../../simulators/plc/scenarios/all.ts";
import { startPlc } from "../../simulators/plc/start.ts";
import { latenesses, tap, type Tap } from "./agent.ts";
import { percentile, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { withAgent } from "./running-agent.ts";
import { SIXTY_TAGS_T0 } from "./sixty-tags.ts";
import { fillStore } from "./store-filled.ts";

/** How late polls begin while 20 pages look on and one client after the other takes everything as CSV. */

const BOOTHS = 8;
const PAGES = 20;
const DAY_MS = 86_400_000;
const SETTLE_MS = 8_000;

interface Load {
  readonly events: number;
  readonly exported_bytes: number;
}

/** Twenty open pages and an export that begins anew when it ends, until aborted. */
async function load(url: string, days: number, signal: AbortSignal): Promise<Load> {
  const sums = { events: 0, exported_bytes: 0 };
  const drain = async (path: string, take: (bytes: Uint8Array) => void): Promise<void> => {
    try {
      const { body } = await fetch(`${url}${path}`, { signal });
      for await (const chunk of body ?? []) take(chunk as Uint8Array);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  const [start, end] = [new Date(SIXTY_TAGS_T0).toISOString(), new Date(SIXTY_TAGS_T0 + days * DAY_MS).toISOString()];
  const exports = async (): Promise<void> => {
    while (!signal.aborted) {
      await drain(`/api/booths/booth-1/export_csv?start=${start}&end=${end}`, ({ length }) => {
        sums.exported_bytes += length;
      });
    }
  };
  const pages = Array.from({ length: PAGES }, () => drain("/events?booth=booth-1", () => void (sums.events += 1)));
  await Promise.all([exports(), ...pages]);
  return sums;
}

async function lateDuring(taps: readonly Tap[], act: () => Promise<unknown>): Promise<readonly number[]> {
  for (const { arrivals } of taps) arrivals.splice(0);
  await act();
  return taps.flatMap(({ arrivals }) => latenesses(arrivals));
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const profile = findProfile("click-booth");
  const scenario = findScenario("standard-cycle");
  if (profile.protocol !== "modbus" || scenario === undefined) throw new Error("nothing to play");
  const clock = scaledClock(clockFromNow(1, Date.now()));
  const device = await startPlc({ profile, scenario, seed: 1, clock, port: 0 });
  const [seconds, days] = quick ? [10, 3] : [60, 90];
  const taps = await Promise.all(Array.from({ length: BOOTHS }, () => tap(device.port)));
  const poll = { fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 1000 } };
  const booths = taps.map(({ port }) => ({ profile: "click-booth", modbus: { host: "127.0.0.1", port }, poll }));
  // What is old must be kept for the export to find it.
  const config = { store: { max_bytes: 1_000_000_000, max_age_days: 3_650 } };
  try {
    return await withAgent(
      booths,
      async (_, socket) => {
        await sleep(SETTLE_MS);
        // The agent answers its own shape.
        const { url } = (await askAgent(socket, { method: "GET", path: "/page" })) as PageState;
        const alone = await lateDuring(taps, () => sleep(seconds * 1000));
        let seen: Load = { events: 0, exported_bytes: 0 };
        const late = await lateDuring(taps, async () => {
          seen = await load(url ?? "", days, AbortSignal.timeout(seconds * 1000));
        });
        const [p99, anchor] = [percentile(late, 99), percentile(alone, 99)];
        const what = `${days} days as CSV (${(seen.exported_bytes / 1e6).toFixed(0)} MB taken), ${seen.events} events to ${PAGES} pages`;
        return [
          {
            name: "page.lateness_p99_ms",
            value: p99,
            unit: "ms",
            anchor,
            ratio: anchor === 0 ? null : p99 / anchor,
            target: `at most 5 ms; ${what}; anchor: nobody asks`,
            reached: p99 <= 5,
          },
        ];
      },
      { config, fill: (folder) => void fillStore(folder, days) },
    );
  } finally {
    for (const each of taps) each.close();
    await device.stop();
  }
}

export const pageFamily: Family = { name: "page", run };
