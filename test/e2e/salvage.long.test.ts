import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { storePath } from "../../src/store/open.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import type { VirtualService } from "../support/virtual-service.ts";

/** Overwrites the first page of the store with its header, as a failing card does. */
function spoil(folder: string): void {
  const file = openSync(storePath(folder), "r+");
  writeSync(file, Buffer.alloc(512), 0, 512, 0);
  closeSync(file);
}

/** Returns the seqs up to `last` that are neither stored nor declared missing, and the number of duplicates. */
function accountOf({ db }: VirtualService, last: number): { readonly lost: number[]; readonly doubled: number } {
  const stored = rows<{ seq: number }>(db, "SELECT seq FROM records").map(({ seq }) => seq);
  const gaps = rows<{ from_seq: number; to_seq: number }>(db, "SELECT DISTINCT from_seq, to_seq FROM seq_gaps");
  const isDeclared = (seq: number): boolean => gaps.some(({ from_seq, to_seq }) => seq >= from_seq && seq <= to_seq);
  const held = new Set(stored);
  const lost = Array.from({ length: last }, (_, i) => i + 1).filter((seq) => !held.has(seq) && !isDeclared(seq));
  return { lost, doubled: stored.length - held.size };
}

it("a salvaged log is delivered once and declares every lost record, even if the full store drops further records", async () => {
  const budget = { max_bytes: 60_000, max_age_ms: 30 * 86_400_000 };
  const { site, folder } = await activeSite({ for_ms: 2 * MINUTE, seed: 3, budget, commit_interval_ms: MINUTE });
  site.service.way.down = true;
  await site.clock.run(5 * MINUTE);
  await site.stop();
  spoil(folder);
  const agent = await site.start();
  const log = () => boothOf(agent).log;
  const { newest_seq: salvaged, acked_seq: before } = log();
  expect(salvaged).toBeGreaterThan(before);
  await site.clock.runUntil(() => log().newest_seq > salvaged + 1_200, 600 * MINUTE);
  site.service.way.down = false;
  await site.clock.run(10 * MINUTE);
  const { acked_seq, storage } = log();
  expect(storage?.health.damaged_files).toEqual(["store.db.damaged-1"]);
  expect(readdirSync(folder)).toContain("store.db.damaged-1");
  await site.stop();

  const { db } = site.service;
  expect(acked_seq).toBeGreaterThan(salvaged + 1_200);
  const [old, next, ...more] = rows<{ stream_id: string; predecessor: string | null }>(
    db,
    "SELECT stream_id, predecessor_stream_id AS predecessor FROM streams ORDER BY id",
  );
  expect([next?.predecessor, more]).toEqual([old?.stream_id, []]);
  expect(rows(db, "SELECT seq FROM records WHERE seq > ? AND seq <= ?", before, salvaged)).toEqual([]);
  expect(accountOf(site.service, acked_seq)).toEqual({ lost: [], doubled: 0 });
});
