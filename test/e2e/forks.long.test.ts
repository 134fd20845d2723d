import { render } from "../../src/domain/messages/render.ts";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import type { ProvisioningRow } from "../../src/domain/provisioning.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { activeSite, boothOf, type ActiveSite } from "../support/active-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

interface StreamAtService {
  readonly stream_id: string;
  readonly predecessor: string | null;
  readonly conflicts: number;
  readonly stored: number;
  readonly least: number;
  readonly most: number;
}

const streamsOf = ({ site }: ActiveSite): readonly StreamAtService[] =>
  rows<StreamAtService>(
    site.service.db,
    `SELECT s.stream_id, s.predecessor_stream_id AS predecessor, s.conflicts_offered AS conflicts, count(r.seq) AS stored,
       min(r.seq) AS least, max(r.seq) AS most
     FROM streams s LEFT JOIN records r ON r.stream_no = s.id GROUP BY s.id ORDER BY s.id`,
  );

/** Replaces the store by a copy that is some minutes old. The service has the records of those minutes. */
async function putBack({ site, folder }: ActiveSite, minutes: number): Promise<Agent> {
  await site.stop();
  const copy = temporaryFolder();
  cpSync(join(folder, "store.db"), join(copy, "store.db"));
  await site.start();
  await site.clock.run(minutes * MINUTE_MS);
  await site.stop();
  cpSync(join(copy, "store.db"), join(folder, "store.db"));
  for (const suffix of ["-wal", "-shm"]) rmSync(join(folder, `store.db${suffix}`), { force: true });
  return site.start();
}

it("a store restored from an old copy gets a new stream name after an hour, and at most one per day", async () => {
  const bed = await activeSite({ for_ms: 5 * MINUTE_MS });
  const { clock } = bed.site;
  const first = await putBack(bed, 6);
  await clock.run(10 * MINUTE_MS);
  const held_to = streamsOf(bed)[0]?.most ?? 0;
  expect(render(boothOf(first).log.forked?.reason ?? "")).toMatch(
    new RegExp(`from seq \\d+ to ${held_to}: readings wait until`),
  );
  await clock.run(55 * MINUTE_MS);
  const { label, forked } = boothOf(first).log;
  const told = `the service had different records than this gateway from seq ${label?.from_seq ?? 0} to ${held_to}: since`;
  expect(render(forked?.reason ?? "")).toContain(told);
  expect(bed.site.lines.filter((line) => line.includes(told))).toHaveLength(1);
  const [old, next, ...others] = streamsOf(bed);
  expect(others).toEqual([]);
  // The service keeps its records. The differing records arrive under the new name without a gap.
  expect(old).toMatchObject({ least: 1, most: held_to, stored: held_to });
  expect(next).toMatchObject({ predecessor: old?.stream_id, conflicts: 0, least: label?.from_seq });
  expect(next?.stored).toBe((next?.most ?? 0) - (next?.least ?? 0) + 1);
  expect(boothOf(first).log.newest_seq - boothOf(first).log.acked_seq).toBeLessThan(100);
  const second = await putBack(bed, 6);
  await clock.run(20 * MINUTE_MS);
  expect(render(boothOf(second).log.forked?.reason ?? "")).toMatch(
    /readings wait until the service accepts them, or until 2026-03-03/,
  );
  expect(second.status().service.kind).toBe("up");
  expect(streamsOf(bed)).toHaveLength(2);
  clock.stepWall(24 * HOUR_MS);
  await clock.run(70 * MINUTE_MS);
  expect(streamsOf(bed)).toHaveLength(3);
  expect(boothOf(second).log.newest_seq - boothOf(second).log.acked_seq).toBeLessThan(100);
});

it("a stored stream name that starts before the log is repaired at startup, and all records are delivered", async () => {
  const bed = await activeSite({ for_ms: 5 * MINUTE_MS });
  const { site, stream, folder } = bed;
  await site.stop();
  const identity = openIdentity(folder, () => "never");
  const row = identity.provisioning("booth-1") as ProvisioningRow;
  const bogus = { id: "bogus", from_seq: 0, predecessor: { stream_id: stream, last_seq: -1 }, booth_from_seq: 1 };
  identity.setProvisioning("booth-1", { ...row, stream: bogus });
  identity.close();
  const agent = await site.start();
  expect(site.lines.join("\n")).toMatch(/the log's name at the service was to begin before the log does/);
  await site.clock.run(5 * MINUTE_MS);
  expect(streamsOf(bed).map(({ stream_id }) => stream_id)).toEqual([stream, "bogus"]);
  const { newest_seq, acked_seq, refused } = boothOf(agent).log;
  expect([newest_seq - acked_seq < 100, refused.count]).toEqual([true, 0]);
  const held = rows<{ n: number; d: number }>(site.service.db, "SELECT count(*) n, count(DISTINCT seq) d FROM records");
  expect(held[0]?.n).toBe(held[0]?.d);
  expect(held[0]?.n).toBeGreaterThanOrEqual(acked_seq);
});
