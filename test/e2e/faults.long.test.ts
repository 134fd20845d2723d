import { expect, it } from "vitest";
import { rows } from "../../simulators/service/db.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** Mon 2026-03-02 07:50 in Denver: the first two cycles of a busy day follow. */
const START = Date.UTC(2026, 2, 2, 14, 50);
const LENGTH_MS = 3 * 3_600_000;
const FAULTS = 25;

/** Carries one fault out, for at most a few minutes of virtual time; ends with everything whole again. */
const FAULT_KINDS: readonly ((site: VirtualSite, random: () => number) => Promise<void>)[] = [
  async (site, random) => {
    site.plc.fault = random() < 0.5 ? "timeout" : "reset";
    await site.clock.run(1_000 + random() * 240_000);
    site.plc.fault = null;
  },
  async (site, random) => {
    site.service.way.down = true;
    await site.clock.run(1_000 + random() * 600_000);
    site.service.way.down = false;
  },
  (site, random) => {
    site.service.way.lose_acks = 1 + Math.floor(random() * 5);
    return Promise.resolve();
  },
  async (site, random) => {
    site.kill();
    await site.clock.run(random() * 60_000);
    await site.start();
  },
  async (site, random) => {
    await site.stop();
    await site.clock.run(random() * 60_000);
    await site.start();
  },
];

it.each([1, 2, 3, 4])(
  "faults at random moments lose nothing, double nothing, and leave both sides agreeing (seed %i)",
  async (seed) => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario: "busy-day", start: START, seed });
    const random = seededRandom(seed);
    await site.start();
    for (let count = 0; count < FAULTS; count += 1) {
      await site.clock.run(random.next() * ((LENGTH_MS / FAULTS) * 1.2));
      await FAULT_KINDS[Math.floor(random.next() * FAULT_KINDS.length)]?.(site, () => random.next());
    }
    site.service.way.lose_acks = 0;
    await site.clock.run(10 * 60_000);
    await site.stop();

    const now = site.clock.wall();
    const { source, close } = openSource(folder, now);
    const [info] = source.reader.streams();
    const held = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
    const acked = info?.acked_seq ?? 0;
    expect(acked).toBeGreaterThan(500);
    expect(held.slice(0, acked)).toEqual(Array.from({ length: acked }, (_, index) => index + 1));
    // What the last commit brought at the stop is on its way only at the next start.
    expect((info?.newest_seq ?? 0) - acked).toBeLessThan(40);
    expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);

    const window = { start: START, end: now - 60_000 };
    const figures = gatewayFigures(source, window);
    expect(Object.values(figures.minutes).reduce((sum, minutes) => sum + minutes, 0)).toBeCloseTo(
      (window.end - window.start) / 60_000,
      3,
    );
    expect(serviceFigures(site.service, window)).toEqual(figures);
    close();
    site.close();
  },
);
