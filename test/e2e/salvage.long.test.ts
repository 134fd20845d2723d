import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { row, rows } from "../../simulators/service/storage/db.ts";
import { recordFault } from "../support/faults.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { VirtualService } from "../support/virtual-service.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 14, 50);

interface StreamAtService {
  readonly stream_id: string;
  readonly first_seq: number;
  readonly acked_seq: number;
  readonly predecessor_stream_id: string | null;
  readonly predecessor_last_seq: number | null;
  readonly conflicts_offered: number;
}

interface BoothLog {
  readonly newest_seq: number;
  readonly acked_seq: number;
}

/** As a failing card leaves it: the first page, the header with it, is gone. */
function spoil(folder: string, pages: number): void {
  const file = openSync(storePath(folder), "r+");
  writeSync(file, Buffer.alloc(pages * 512), 0, pages * 512, 0);
  closeSync(file);
}

/** Seqs up to `last` that are neither stored nor told to be missing, and how many are stored twice. */
function accountOf(
  { db }: VirtualService,
  last: number,
): { readonly lost: readonly number[]; readonly doubled: number } {
  const stored = rows<{ seq: number }>(db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  const gaps = rows<{ from_seq: number; to_seq: number }>(db, "SELECT DISTINCT from_seq, to_seq FROM seq_gaps");
  const isTold = (seq: number): boolean => gaps.some(({ from_seq, to_seq }) => seq >= from_seq && seq <= to_seq);
  const held = new Set(stored);
  const lost = Array.from({ length: last }, (_, i) => i + 1).filter((seq) => !held.has(seq) && !isTold(seq));
  return { lost, doubled: stored.length - held.size };
}

it("a store that lost its header is salvaged: what is left is delivered once, the rest declared, and a new stream goes on", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "busy-day", start: START, seed: 3 });
  await site.start();
  await site.clock.run(40 * MINUTE_MS);
  site.service.way.down = true;
  await site.clock.run(20 * MINUTE_MS);
  await site.stop();
  spoil(folder, 1);
  const agent = await site.start();
  site.service.way.down = false;
  await site.clock.run(20 * MINUTE_MS);
  const { log } = agent.status().booths[0] ?? { log: null };
  await site.stop();

  const { db } = site.service;
  const kept = rows<{ n: number }>(db, "SELECT count(*) AS n FROM records")[0]?.n ?? 0;
  const [before, after, ...more] = rows<StreamAtService>(db, "SELECT * FROM streams ORDER BY id");
  expect(more).toEqual([]);
  expect(after).toMatchObject({
    predecessor_stream_id: before?.stream_id,
    predecessor_last_seq: (after?.first_seq ?? 0) - 1,
  });
  expect(before?.conflicts_offered).toBe(0);
  const acked = after?.acked_seq ?? 0;
  const { lost, doubled } = accountOf(site.service, acked);
  recordFault({
    row: 6,
    fault: "header gone",
    injected: 1,
    lost: lost.length,
    doubled,
    wrong: 0,
    passed: lost.length + doubled === 0,
  });
  expect({ lost, doubled }).toEqual({ lost: [], doubled: 0 });
  expect(acked).toBeGreaterThan((before?.acked_seq ?? 0) + 100);
  expect(kept).toBeGreaterThan(2_000);
  expect(log?.storage?.health.damaged_files).toEqual(["store.db.damaged-1"]);
  expect(readdirSync(folder)).toContain("store.db.damaged-1");
  expect(row(db, "SELECT 1 AS there FROM records WHERE kind = 'i' AND value LIKE '%store_damaged%'")).toEqual({
    there: 1,
  });

  const { source, close } = openSource(folder, site.clock.wall());
  const window = { start: site.clock.wall() - 18 * MINUTE_MS, end: site.clock.wall() - 2 * MINUTE_MS };
  expect(serviceFigures(site.service, window).minutes).toEqual(gatewayFigures(source, window).minutes);
  close();
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  site.close();
});

it("what a full store gave up of a salvaged log, to the last record under the old name, doesn't keep the rest from the service", async () => {
  const folder = temporaryFolder();
  const budget = { max_bytes: 60_000, max_age_ms: 30 * 86_400_000 };
  const site = virtualSite({ folder, scenario: "busy-day", start: START, seed: 3, budget, commit_interval_ms: 60_000 });
  await site.start();
  await site.clock.run(2 * MINUTE_MS);
  site.service.way.down = true;
  await site.clock.run(5 * MINUTE_MS);
  await site.stop();
  spoil(folder, 1);
  const agent = await site.start();
  const log = (): BoothLog => agent.status().booths[0]?.log ?? { newest_seq: 0, acked_seq: 0 };
  const { newest_seq: salvaged, acked_seq: before } = log();
  await site.clock.runUntil(() => log().newest_seq > salvaged + 1_200, 600 * MINUTE_MS);
  site.service.way.down = false;
  await site.clock.run(10 * MINUTE_MS);
  const { acked_seq } = log();
  await site.stop();

  const { db } = site.service;
  expect(acked_seq).toBeGreaterThan(salvaged + 1_200);
  expect(row(db, "SELECT count(*) AS names FROM streams")).toEqual({ names: 2 });
  const left = rows(db, "SELECT seq FROM records WHERE seq > ? AND seq <= ?", before, salvaged);
  expect({ left, are_some: salvaged > before }).toEqual({ left: [], are_some: true });
  expect(accountOf(site.service, acked_seq)).toEqual({ lost: [], doubled: 0 });
  site.close();
});
