import { expect, it } from "vitest";
import { rows } from "../../simulators/service/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { order, settled } from "./orders.ts";

const FLOOD = 5_000;

it("a flood of orders is looked at as far as there is room; polls, delivery and later orders are unharmed", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE });
  const { gateway_id } = agent.status();
  const expires_at = site.clock.wall() + 60 * MINUTE;
  for (let nth = 0; nth < FLOOD; nth += 1) {
    site.service.order(gateway_id, { id: `flood-${nth.toString()}`, type: "no such type", args: {}, expires_at });
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
