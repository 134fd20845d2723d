import { expect, it } from "vitest";
import type { Command } from "../../simulators/service/ingest/commands.ts";
import { row, rows, run } from "../../simulators/service/storage/db.ts";
import { activeSite, MINUTE, START } from "../support/active-site.ts";
import { answersTo, gatewayOf, order, settled } from "./orders.ts";
import { SERIAL } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

const storedSeqs = ({ service }: VirtualSite): number[] =>
  rows<{ seq: number }>(service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
const batchesSince = ({ service }: VirtualSite, from: number) =>
  service.came.slice(from) as readonly { s0: number; k: readonly unknown[] }[];

it("backfill: the records named are sent again and nothing else; the same command again changes nothing and gets the same answer", async () => {
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

it("backfill of what isn't there: counted as missing; of another booth's stream: refused", async () => {
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

it("digest: equal on both sides, hour by hour; the service answers with nothing to send", async () => {
  const { site } = await activeSite();
  const window = { start: START - 50 * MINUTE, end: START + 70 * MINUTE };
  const command = order(site, "digest", { serial: SERIAL, ...window });
  expect(await settled(site, command.id, MINUTE)).toMatchObject({ state: "done", result: { hours: 2 } });
  await site.clock.run(MINUTE);
  expect(rows(site.service.db, "SELECT compared, differing FROM digests")).toEqual([{ compared: 2, differing: 0 }]);
  const answer = row<{ state: string; args: string }>(
    site.service.db,
    "SELECT state, args FROM commands WHERE type = 'backfill'",
  );
  expect(answer?.state).toBe("done");
  expect(JSON.parse(answer?.args ?? "")).toMatchObject({ digest: command.id, ranges: [] });
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

it("malformed commands of each type are refused, with what is wrong; those after their time are, too; nothing happens", async () => {
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

it("a command that nobody hears waits for the next session; one that a kill cuts off is carried out after it, once", async () => {
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

it("release by the office: what was recorded is delivered first, the binding ends, the command counts as done", async () => {
  const { site, agent } = await activeSite();
  const { id } = order(site, "release", { serial: SERIAL });
  expect(await settled(site, id)).toMatchObject({ state: "done" });
  await site.clock.run(MINUTE);
  const booth = agent.status().booths[0];
  expect(booth).toMatchObject({ serial: null, provisioning: { state: "released", generation: null } });
  expect(site.service.get("/api/booths_provisioning/" + SERIAL)).toMatchObject({ status: "released" });
});

it("reassign: the box turns out to stand beside another booth; everything goes on there under another stream", async () => {
  const { site, agent } = await activeSite();
  run(
    site.service.db,
    `INSERT INTO booths (id, account_id, facility_id, serial_number, name, config, created_at, updated_at)
     SELECT 'b-2', account_id, facility_id, 'WXYZ-456-456', 'Booth 2', config, created_at, updated_at FROM booths`,
  );
  const { id } = order(site, "reassign", { serial: SERIAL, to_serial: "WXYZ-456-456", wrong_serial: true });
  expect(await settled(site, id)).toMatchObject({ state: "done", result: { serial: "WXYZ-456-456", generation: 1 } });
  expect(agent.status().booths[0]).toMatchObject({ serial: "WXYZ-456-456", provisioning: { state: "active" } });
  const streams = rows(
    site.service.db,
    "SELECT booth_id, withdrawn_at IS NOT NULL AS withdrawn FROM streams ORDER BY id",
  );
  expect(streams).toEqual([
    { booth_id: "b-1", withdrawn: 1 },
    { booth_id: "b-2", withdrawn: 0 },
  ]);
});
