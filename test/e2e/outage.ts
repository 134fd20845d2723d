import { expect } from "vitest";
import { type Db, row, rows } from "../../simulators/service/storage/db.ts";
import { recordsOf } from "../../simulators/service/ingest/records.ts";
import { recordFault } from "../support/faults.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSiteOptions } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);
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
  await site.clock.run(5 * MINUTE_MS);
  site.service.way.down = true;
  await site.clock.run(hours * 60 * MINUTE_MS);
  const { newest_seq, acked_seq } = agent.status().booths[0]?.log ?? { newest_seq: 0, acked_seq: 0 };
  const backlog = newest_seq - acked_seq;
  expect(backlog).toBeGreaterThan(2_000);
  site.service.way.down = false;
  await site.clock.runUntil(() => agent.status().service.kind === "up", 10 * MINUTE_MS);
  const back = site.clock.wall();
  const committed = new Map<number, number>();
  const log = (): { newest_seq: number; acked_seq: number } =>
    agent.status().booths[0]?.log ?? { newest_seq, acked_seq };
  while (log().acked_seq < newest_seq && site.clock.wall() < back + 60 * MINUTE_MS) {
    await site.clock.run(1_000);
    const now = log().newest_seq;
    if (!committed.has(now)) committed.set(now, site.clock.wall());
  }
  const took = site.clock.wall() - back;
  await site.clock.run(5 * MINUTE_MS);
  await site.stop();
  await site.clock.run(MINUTE_MS);

  const { db } = site.service;
  const stored = storedIn(db);
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
  // Of what waited all but its begin and its end came as the store holds it.
  const chunked = row<{ n: number }>(db, "SELECT ifnull(sum(to_seq - from_seq + 1), 0) AS n FROM segments")?.n ?? 0;
  expect(chunked).toBeGreaterThan(backlog - 10_000);
  const held = stored.at(-1)?.seq ?? 0;
  const lost = held - stored.length;
  const doubled = stored.length - receivedAt.size;
  expect([lost, doubled]).toEqual([0, 0]);
  expect(row(db, "SELECT conflicts_offered FROM streams")).toEqual({ conflicts_offered: 0 });
  const { source, close } = openSource(folder, site.clock.wall());
  const window = { start: START + MINUTE_MS, end: site.clock.wall() - 3 * MINUTE_MS };
  expect(serviceFigures(site.service, window)).toEqual(gatewayFigures(source, window));
  close();
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  process.stdout.write(
    `${backlog} records (${chunked} in chunks) of ${hours} h drained in ${(took / 1000).toFixed(0)} s at ${rate}/s; ` +
      `${delays.length} live commits arrived at most ${worst} ms later\n`,
  );
  const fault = `service away for ${hours} h, then a drain beside live data`;
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

/** Every record, with when it came: of what is kept as a chunk its own ones are counted, so that none of them is taken for granted. */
function storedIn(db: Db): readonly { readonly seq: number; readonly received_at: number }[] {
  const own = rows<{ seq: number; received_at: number }>(db, "SELECT seq, received_at FROM records");
  const segments = rows<{ from_seq: number; to_seq: number; received_at: number }>(
    db,
    "SELECT from_seq, to_seq, received_at FROM segments",
  );
  const [stream] = rows<{ id: number; gateway_id: string }>(db, "SELECT id, gateway_id FROM streams");
  if (stream === undefined) return [];
  const known = new Set(own.map(({ seq }) => seq));
  const packed = segments.flatMap(({ from_seq, to_seq, received_at }) =>
    [...recordsOf(db, stream, { seqs: [from_seq, to_seq] })]
      .map((record) => ({ seq: record[7], received_at }))
      .filter(({ seq }) => !known.has(seq)),
  );
  return [...own, ...packed].sort((a, b) => a.seq - b.seq);
}
