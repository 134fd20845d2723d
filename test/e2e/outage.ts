import { expect } from "vitest";
import { row, rows } from "../../simulators/service/db.ts";
import { recordFault } from "../support/faults.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSiteOptions } from "../support/virtual-site.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);
const MINUTE = 60_000;
const LIVE_WITHIN_MS = 5_000;

export interface Outage {
  readonly hours: number;
  /** Records a second: slow enough that the drain takes minutes, and live records come in meanwhile. */
  readonly rate: number;
  readonly site?: Partial<VirtualSiteOptions>;
}

/** The service is away for so long; then what is new must arrive at once, and what waited beside it, all of it once. */
export async function rideOutage({ hours, rate, site: site_options = {} }: Outage): Promise<void> {
  const folder = temporaryFolder();
  const site = virtualSite({
    folder,
    scenario: "busy-day",
    start: START,
    seed: 11,
    backlog_rate: rate,
    ...site_options,
  });
  const agent = await site.start();
  await site.clock.run(5 * MINUTE);
  site.service.way.down = true;
  await site.clock.run(hours * 60 * MINUTE);
  const { newest_seq, acked_seq } = agent.status().booths[0]?.log ?? { newest_seq: 0, acked_seq: 0 };
  const backlog = newest_seq - acked_seq;
  expect(backlog).toBeGreaterThan(2_000);
  site.service.way.down = false;
  await site.clock.runUntil(() => agent.status().service.kind === "up", 10 * MINUTE);
  const back = site.clock.wall();
  const committed = new Map<number, number>();
  const log = (): { newest_seq: number; acked_seq: number } =>
    agent.status().booths[0]?.log ?? { newest_seq, acked_seq };
  while (log().acked_seq < newest_seq && site.clock.wall() < back + 60 * MINUTE) {
    await site.clock.run(1_000);
    const now = log().newest_seq;
    if (!committed.has(now)) committed.set(now, site.clock.wall());
  }
  const took = site.clock.wall() - back;
  await site.clock.run(5 * MINUTE);
  await site.stop();
  await site.clock.run(MINUTE);

  const { db } = site.service;
  const stored = rows<{ seq: number; received_at: number }>(db, "SELECT seq, received_at FROM records ORDER BY seq");
  const receivedAt = new Map(stored.map(({ seq, received_at }) => [seq, received_at]));
  // By seq, the moments of arrival go back once: where the live lane begins.
  const turns = stored.filter(({ received_at }, index) => received_at < (stored[index - 1]?.received_at ?? 0));
  expect(turns).toHaveLength(1);
  const first = turns[0]?.seq ?? 0;
  expect(first).toBeGreaterThan(newest_seq);
  const delays = [...committed].flatMap(([seq, at]) => (seq >= first ? [(receivedAt.get(seq) ?? Infinity) - at] : []));
  expect(delays.length).toBeGreaterThan(10);
  const worst = Math.max(0, ...delays);
  expect(worst).toBeLessThan(LIVE_WITHIN_MS);
  const held = stored.at(-1)?.seq ?? 0;
  const [lost, doubled] = [held - stored.length, stored.length - receivedAt.size];
  expect([lost, doubled]).toEqual([0, 0]);
  expect(row(db, "SELECT conflicts_offered FROM streams")).toEqual({ conflicts_offered: 0 });
  const { source, close } = openSource(folder, site.clock.wall());
  const window = { start: START + MINUTE, end: site.clock.wall() - 3 * MINUTE };
  expect(serviceFigures(site.service, window)).toEqual(gatewayFigures(source, window));
  close();
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  process.stdout.write(
    `${backlog.toString()} records of ${hours.toString()} h drained in ${(took / 1000).toFixed(0)} s at ${rate.toString()}/s; ` +
      `${delays.length.toString()} live commits arrived at most ${worst.toString()} ms later\n`,
  );
  const fault = `service away for ${hours.toString()} h, then a drain beside live data`;
  recordFault({
    row: 32,
    fault,
    injected: backlog,
    lost,
    doubled,
    wrong: turns.length - 1,
    passed: lost + doubled === 0,
  });
  site.close();
}
