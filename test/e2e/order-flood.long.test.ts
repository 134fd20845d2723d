import { expect, it } from "vitest";
import { SERIAL } from "../support/virtual-service.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { order, settled } from "./orders.ts";

const FLOOD = 5_000;

it("the agent answers at most 64 commands of a flood of 5,000, and continues delivery and later commands", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE });
  const { gateway_id } = agent.status();
  const expires_at = site.clock.wall() + 60 * MINUTE;
  for (let nth = 0; nth < FLOOD; nth += 1) {
    site.service.order(gateway_id, { id: `flood-${nth}`, type: "no such type", args: {}, expires_at });
  }
  const { newest_seq } = boothOf(agent).log;
  await site.clock.run(MINUTE);
  const answers = rows<{ payload: string }>(
    site.service.db,
    "SELECT payload FROM uplink_messages WHERE topic = 'up/result'",
  );
  expect(answers.filter(({ payload }) => payload.includes("flood-")).length).toBeGreaterThan(0);
  expect(answers.length).toBeLessThanOrEqual(64);
  expect(boothOf(agent).log.acked_seq).toBeGreaterThan(newest_seq);
  const { id } = order(site, "digest", { start: site.clock.wall() - 10 * MINUTE, end: site.clock.wall() });
  expect((await settled(site, id, 5 * MINUTE)).state).toMatch(/^(done|failed)$/);
});

it("16 backfill commands that each request the whole log 1,000 times cause at most three resends, and delay no other command", async () => {
  const { site, agent, stream } = await activeSite({ for_ms: MINUTE });
  const { newest_seq } = boothOf(agent).log;
  const before = site.service.came.length;
  const ranges = Array.from({ length: 1_000 }, () => [1, newest_seq]);
  const backfills = Array.from({ length: 16 }, () =>
    order(site, "backfill", { serial: SERIAL, stream_id: stream, ranges }),
  );
  const rotation = order(site, "rotate_key");
  expect(await settled(site, rotation.id, 5 * MINUTE)).toMatchObject({ state: "done" });
  for (const { id } of backfills)
    expect(await settled(site, id, 5 * MINUTE)).toMatchObject({ state: "done", result: { records: newest_seq } });
  const again = (site.service.came.slice(before) as { s0: number; k: unknown[] }[])
    .flatMap(({ s0, k }) => k.map((_, index) => s0 + index))
    .filter((seq) => seq <= newest_seq);
  expect(again.length).toBeLessThanOrEqual(3 * newest_seq);
});
