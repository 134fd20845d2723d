import { expect, it } from "vitest";
import type { Command } from "../../simulators/service/ingest/commands.ts";
import { rows, run } from "../../simulators/service/storage/db.ts";
import { activeSite, MINUTE, START } from "../support/active-site.ts";
import { answersTo, gatewayOf, order, settled } from "./orders.ts";
import { SERIAL } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

const storedSeqs = ({ service }: VirtualSite): number[] =>
  rows<{ seq: number }>(service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
const batchesSince = ({ service }: VirtualSite, from: number) =>
  service.came.slice(from) as readonly { s0: number; k: readonly unknown[] }[];

it("the backfill command resends exactly the named records, and a repeated command gets the same answer without a resend", async () => {
  const { site, stream } = await activeSite();
  const before = storedSeqs(site);
  run(site.service.db, "DELETE FROM records WHERE seq BETWEEN 20 AND 39");
  const came = site.service.came.length;
  const command = order(site, "backfill", { serial: SERIAL, stream_id: stream, ranges: [[20, 39]] });
  expect(await settled(site, command.id, MINUTE)).toMatchObject({
    state: "done",
    result: { records: 20, missing: 0, refused: 0 },
  });
  expect(storedSeqs(site).slice(0, before.length)).toEqual(before);
  const backwards = batchesSince(site, came).filter(({ s0 }) => s0 < 40);
  expect(backwards.reduce((sum, { k }) => sum + k.length, 0)).toBe(20);

  const again = site.service.came.length;
  site.service.order(gatewayOf(site.service), command);
  await site.clock.run(MINUTE);
  expect(batchesSince(site, again).filter(({ s0 }) => s0 < 40)).toEqual([]);
  expect(answersTo(site, command.id)).toEqual(["accepted", "done", "done"]);
});

it("the backfill command reports missing records, and fails for another booth or another booth's stream", async () => {
  const { site, stream } = await activeSite();
  const far = order(site, "backfill", { serial: SERIAL, stream_id: stream, ranges: [[9_000_000, 9_000_009]] });
  expect(await settled(site, far.id, MINUTE)).toMatchObject({ state: "done", result: { records: 0, missing: 10 } });
  const foreign = order(site, "backfill", { serial: SERIAL, stream_id: "another", ranges: [[1, 2]] });
  expect(await settled(site, foreign.id, MINUTE)).toMatchObject({
    state: "failed",
    error: expect.stringContaining("isn't this booth's") as string,
  });
  const stranger = order(site, "backfill", { serial: "WXYZ-1", stream_id: stream, ranges: [[1, 2]] });
  expect(await settled(site, stranger.id, MINUTE)).toMatchObject({
    state: "failed",
    error: expect.stringContaining("no booth WXYZ-1") as string,
  });
});

const MALFORMED: readonly (readonly [Command["type"] | "reboot", Readonly<Record<string, unknown>>, string])[] = [
  ["backfill", { serial: SERIAL, ranges: [[1, 2]] }, "args.stream_id"],
  ["backfill", { serial: SERIAL, stream_id: "s", ranges: [[2, 1]] }, "args.ranges.0"],
  ["digest", { serial: SERIAL, start: 5, end: 4 }, "no window"],
  ["config_changed", { serial: "; rm -rf /", revision: 2 }, "args.serial"],
  ["reassign", { serial: SERIAL }, "args.to_serial"],
  ["release", { serial: SERIAL, to: "burnt" }, "args.to"],
  ["reboot", {}, "there is no command reboot here"],
];

it("a remote command of any type has no effect if it is malformed or expired", async () => {
  const { site, stream } = await activeSite();
  const record = () => site.service.get(`/api/booths_provisioning/${SERIAL}`);
  const keys = (): unknown => rows(site.service.db, "SELECT hash, expires_at FROM api_keys WHERE scope = 'gateway'");
  const before = keys();
  for (const [type, args, reason] of MALFORMED) {
    const { state, error } = await settled(site, order(site, type as Command["type"], args).id, MINUTE);
    expect(state).toBe("failed");
    expect(error).toContain(reason);
  }
  const args = {
    serial: SERIAL,
    stream_id: stream,
    ranges: [[1, 5]],
    start: START,
    end: START + MINUTE,
    revision: 2,
    to_serial: "WXYZ-1",
    to: "released",
  };
  const came = site.service.came.length;
  for (const type of ["backfill", "digest", "config_changed", "rotate_key", "reassign", "release"] as const) {
    expect(await settled(site, order(site, type, { ...args, expires_in_ms: -1 }).id, MINUTE)).toMatchObject({
      state: "expired",
    });
  }
  await site.clock.run(5 * MINUTE);
  expect(batchesSince(site, came).filter(({ s0 }) => s0 < 5)).toEqual([]);
  expect(keys()).toEqual(before);
  expect(rows(site.service.db, "SELECT * FROM digests")).toEqual([]);
  expect(record()).toMatchObject({ status: "provisioned", generation: 1 });
});

it("a remote command sent during an outage is executed once after the reconnect, even if the agent is killed before it finishes", async () => {
  const { site, stream } = await activeSite();
  run(site.service.db, "DELETE FROM records WHERE seq BETWEEN 1 AND 30");
  site.service.way.down = true;
  await site.clock.run(MINUTE);
  const { id } = order(site, "backfill", { serial: SERIAL, stream_id: stream, ranges: [[1, 30]] });
  await site.clock.run(MINUTE);
  expect(answersTo(site, id)).toEqual([]);
  site.service.way.down = false;
  await site.clock.runUntil(() => answersTo(site, id).length > 0, 10 * MINUTE);
  site.kill();
  await site.clock.run(MINUTE);
  await site.start();
  expect(await settled(site, id)).toMatchObject({ state: "done", result: { records: 30 } });
  expect(storedSeqs(site).slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});
