import { expect, it } from "vitest";
import { recordsOf } from "../../simulators/service/ingest/records.ts";
import { type Db, row, rows } from "../../simulators/service/storage/db.ts";
import { HOUR_MS } from "../../src/domain/time.ts";
import { activeSite, boothOf, MINUTE, START } from "../support/active-site.ts";
import { recordFault } from "../support/faults.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";

const DAYS = 30;
/** Records a second. The drain then takes minutes, and live records arrive meanwhile. */
const RATE = 200;
const LIVE_WITHIN_MS = 5_000;

it("the sender delivers a backlog of 30 days once and in order, and meanwhile delivers new records within 5 s", async () => {
  const { site, agent, folder } = await activeSite({
    for_ms: 5 * MINUTE,
    seed: 11,
    backlog_rate: RATE,
    commit_interval_ms: MINUTE,
    summary_interval_ms: HOUR_MS,
    booth: { poll: { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: MINUTE } } },
  });
  const log = () => boothOf(agent).log;
  site.service.way.down = true;
  await site.clock.run(DAYS * 24 * HOUR_MS);
  const { newest_seq, acked_seq } = log();
  const backlog = newest_seq - acked_seq;
  expect(backlog).toBeGreaterThan(2_000);
  site.service.way.down = false;
  await site.clock.runUntil(() => agent.status().service.kind === "up", 10 * MINUTE);
  const back = site.clock.wall();
  const committed = new Map<number, number>();
  while (log().acked_seq < newest_seq && site.clock.wall() < back + HOUR_MS) {
    await site.clock.run(1_000);
    const now = log().newest_seq;
    if (!committed.has(now)) committed.set(now, site.clock.wall());
  }
  const took_s = ((site.clock.wall() - back) / 1000).toFixed(0);
  await site.clock.run(5 * MINUTE);
  await site.stop();
  await site.clock.run(MINUTE);

  const { db } = site.service;
  const stored = storedIn(db);
  const receivedAt = new Map(stored.map(({ seq, received_at }) => [seq, received_at]));
  // In seq order, the time of arrival decreases once: at the first record of the live lane.
  const turns = stored.filter(({ received_at }, index) => received_at < (stored[index - 1]?.received_at ?? 0));
  expect(turns).toHaveLength(1);
  const first = turns[0]?.seq ?? 0;
  expect(first).toBeGreaterThan(newest_seq);
  const delays = [...committed].flatMap(([seq, at]) => (seq >= first ? [(receivedAt.get(seq) ?? Infinity) - at] : []));
  expect(delays.length).toBeGreaterThan(10);
  const worst = Math.max(0, ...delays);
  expect(worst).toBeLessThan(LIVE_WITHIN_MS);
  // Nearly the whole backlog is sent in chunks, the format of the store.
  const chunked = row<{ n: number }>(db, "SELECT ifnull(sum(to_seq - from_seq + 1), 0) AS n FROM segments")?.n ?? 0;
  expect(chunked).toBeGreaterThan(backlog - 10_000);
  const lost = (stored.at(-1)?.seq ?? 0) - stored.length;
  const doubled = stored.length - receivedAt.size;
  const fault = `service away for ${DAYS} days, then a drain beside live data`;
  recordFault({ row: 32, fault, injected: backlog, lost, doubled, wrong: 0, passed: lost + doubled === 0 });
  expect([lost, doubled]).toEqual([0, 0]);
  expect(row(db, "SELECT conflicts_offered FROM streams")).toEqual({ conflicts_offered: 0 });
  const { source, close } = openSource(folder, site.clock.wall());
  const window = { start: START + MINUTE, end: site.clock.wall() - 3 * MINUTE };
  expect(serviceFigures(site.service, window)).toEqual(gatewayFigures(source, window));
  close();
  process.stdout.write(
    `${backlog} records (${chunked} in chunks) drained in ${took_s} s at ${RATE}/s; ${delays.length} live commits arrived at most ${worst} ms later\n`,
  );
});

/** Returns every record at the service with its time of arrival. Records of a chunk count individually. */
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
