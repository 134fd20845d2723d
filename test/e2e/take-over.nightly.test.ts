import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import type { BoothStatus } from "../../src/domain/status.ts";
import { row, rows, run } from "../../simulators/service/storage/db.ts";
import { serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Monday 2026-03-02 07:50 in Denver, shortly before the first cycles of the day. */
const START = Date.UTC(2026, 2, 2, 14, 50);
const BY = { by: "alex", note: "" };

const boothOf = (agent: Agent): BoothStatus => {
  const [booth] = agent.status().booths;
  if (booth === undefined) throw new Error("the agent has no booth");
  return booth;
};
const stateOf = (agent: Agent): string => boothOf(agent).provisioning.state;
const until = (site: VirtualSite, agent: Agent, state: string): Promise<void> =>
  site.clock.runUntil(() => stateOf(agent) === state, 30 * MINUTE_MS);

/** Returns the streams at the service in order of creation, each with its number of stored records. */
function streamsAt(site: VirtualSite): readonly StreamAtService[] {
  return rows<StreamAtService>(
    site.service.db,
    `SELECT s.stream_id, s.booth_id, s.generation, s.first_seq, s.acked_seq, s.withdrawn_at IS NOT NULL AS withdrawn,
       s.predecessor_stream_id AS predecessor, s.conflicts_offered AS conflicts, count(r.seq) AS stored,
       min(r.seq) AS least, max(r.seq) AS most
     FROM streams s LEFT JOIN records r ON r.stream_no = s.id GROUP BY s.id ORDER BY s.id`,
  );
}

interface StreamAtService {
  readonly stream_id: string;
  readonly booth_id: string;
  readonly generation: number;
  readonly first_seq: number;
  readonly acked_seq: number;
  readonly withdrawn: 0 | 1;
  readonly predecessor: string | null;
  readonly conflicts: number;
  readonly stored: number;
  readonly least: number;
  readonly most: number;
}

it("a replaced gateway that comes back delivers its records from before the replacement, and then stops sending", async () => {
  const old = virtualSite({ folder: temporaryFolder(), scenario: "busy-day", start: START, seed: 1 });
  await old.start();
  await old.clock.run(40 * MINUTE_MS);
  old.service.way.down = true;
  await old.clock.run(10 * MINUTE_MS);
  old.kill();
  old.service.way.down = false;
  const broke = old.clock.wall();
  await old.clock.run(15 * MINUTE_MS);

  const fresh = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    seed: 2,
    unnamed: true,
    beside: old,
  });
  const agent = await fresh.start();
  await agent.enterSerial("booth-1", SERIAL, BY);
  await until(fresh, agent, "conflict");
  expect(boothOf(agent).provisioning.reason).toMatch(/^bound to another gateway/);
  await agent.confirm("booth-1", { ...BY, replace: true });
  await until(fresh, agent, "active");
  expect(boothOf(agent).provisioning.generation).toBe(2);
  await fresh.clock.run(20 * MINUTE_MS);

  const revived = await old.start();
  await until(old, revived, "suspended");
  await fresh.clock.run(30 * MINUTE_MS);
  expect(boothOf(revived).provisioning.reason).toMatch(/^another gateway .* has replaced this one at the booth$/);
  const [first, second] = streamsAt(fresh);
  expect(second?.predecessor).toBe(first?.stream_id);
  // All records from before the fault arrived without a gap. Records read after the replacement are not sent.
  expect(first).toMatchObject({ generation: 1, first_seq: 1, least: 1, conflicts: 0 });
  expect(first?.stored).toBe(first?.most);
  const last = row<{ time: number }>(
    fresh.service.db,
    "SELECT max(time) AS time FROM records WHERE stream_no = 1 AND kind = 'h'",
  );
  expect(last?.time).toBeGreaterThan(broke - 2 * MINUTE_MS);
  expect(last?.time).toBeLessThan(broke + 15 * MINUTE_MS);
  expect(second).toMatchObject({ generation: 2, first_seq: 1, least: 1, conflicts: 0 });
  expect(second?.stored).toBe(second?.most);
  const sent = streamsAt(fresh)[0]?.acked_seq;
  await fresh.clock.run(30 * MINUTE_MS);
  expect(streamsAt(fresh)[0]?.acked_seq).toBe(sent);
  expect(stateOf(agent)).toBe("active");
  const { minutes } = serviceFigures(fresh.service, { start: START, end: fresh.clock.wall() - MINUTE_MS });
  // No gateway polled from the fault until the replacement started.
  expect(minutes["No Data"]).toBeGreaterThan(14);
  expect(minutes["No Data"]).toBeLessThan(17);
  expect([...old.lines, ...fresh.lines].filter((line) => line.startsWith("FAILED"))).toEqual([]);
  fresh.close();
  old.close();
});

it("a booth that is bound after a move and a mistyped serial number gets exactly the records since the move", async () => {
  const site = virtualSite({ folder: temporaryFolder(), scenario: "busy-day", start: START, seed: 4, unnamed: true });
  for (const [id, serial] of [
    ["b-2", "WXYZ-456-456"],
    ["b-3", "WXYZ-456-457"],
  ] as const)
    run(
      site.service.db,
      `INSERT INTO booths (id, account_id, facility_id, serial_number, name, config, created_at, updated_at)
       SELECT ?, account_id, facility_id, ?, ?, config, created_at, updated_at FROM booths WHERE id = 'b-1'`,
      ...[id, serial, id],
    );
  const agent = await site.start();
  const bind = async (serial: string): Promise<void> => {
    await agent.enterSerial("booth-1", serial, BY);
    await until(site, agent, "active");
    await site.clock.run(15 * MINUTE_MS);
  };
  await bind("WXYZ-456-457");
  await agent.leave("booth-1", { to: "released", reason: "moved" });
  await until(site, agent, "released");
  await bind("WXYZ-456-456");
  await agent.leave("booth-1", { to: "released", reason: "wrong_serial" });
  await until(site, agent, "released");
  await bind(SERIAL);
  await site.stop();
  const [first, wrong, right] = streamsAt(site);
  expect(first).toMatchObject({ booth_id: "b-3", withdrawn: 0, least: 1 });
  expect(wrong).toMatchObject({ booth_id: "b-2", withdrawn: 1, least: (first?.most ?? 0) + 1 });
  expect(right).toMatchObject({ booth_id: "b-1", withdrawn: 0, least: wrong?.least, conflicts: 0 });
  expect(right?.stored).toBe((right?.most ?? 0) - (right?.least ?? 0) + 1);
  site.close();
});
