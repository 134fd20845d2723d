import { expect, it } from "vitest";
import { rows, run } from "../../simulators/service/storage/db.ts";
import { activeSite, MINUTE } from "../support/active-site.ts";
import { order, settled } from "./orders.ts";
import { SERIAL } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

/** Changes the booth's configuration at the service, without a command to the gateway. */
function change(
  site: VirtualSite,
  revision: number,
  { minutes, tz }: { minutes: number; tz?: string | undefined },
): void {
  const config = { revision, filters: { exhaust_filter: { limits: { minutes } } } };
  run(site.service.db, "UPDATE booths SET config = ?", JSON.stringify(config));
  if (tz !== undefined) run(site.service.db, "UPDATE facilities SET tz = ?", tz);
}

/** Returns the limits from the parameter records that the service received, in order. */
function limits({ service }: VirtualSite): (number | undefined)[] {
  const sql = "SELECT value FROM records WHERE kind = 'p' ORDER BY seq";
  return rows<{ value: string }>(service.db, sql).map(({ value }) => {
    const parameters = JSON.parse(value) as { filters: { exhaust_filter?: { limits: { minutes?: number } } } };
    return parameters.filters.exhaust_filter?.limits.minutes;
  });
}

it("the config_changed command applies a new configuration once, and keeps it if PLC and service answer", async () => {
  const { site } = await activeSite({ for_ms: MINUTE });
  const before = limits(site);
  change(site, 2, { minutes: 4_321 });
  const command = order(site, "config_changed", { serial: SERIAL, revision: 2 });
  expect(await settled(site, command.id, 10 * MINUTE)).toMatchObject({ state: "done", result: { revision: 2 } });
  const again = order(site, "config_changed", { serial: SERIAL, revision: 2 });
  expect(await settled(site, again.id, 10 * MINUTE)).toMatchObject({ state: "done", result: { unchanged: true } });
  await site.clock.run(MINUTE);
  expect(limits(site)).toEqual([...before, 4_321]);
});

it.each([
  ["an implausibly high limit", 99_999_999, undefined, "exhaust_filter: 99999999 minutes are more than"],
  ["an unknown time zone", 4_321, "America/Atlantis", "there is no time zone America/Atlantis"],
] as const)("the config_changed command rejects %s without any effect, even after a restart", async (...row) => {
  const [, minutes, tz, reason] = row;
  const { site } = await activeSite({ for_ms: MINUTE });
  const before = limits(site);
  change(site, 2, { minutes, tz });
  const { state, error } = await settled(site, order(site, "config_changed", { serial: SERIAL, revision: 2 }).id);
  expect(state).toBe("failed");
  expect(error).toContain("nothing was changed");
  expect(error).toContain(reason);
  await site.stop();
  await site.start();
  await site.clock.run(5 * MINUTE);
  expect(limits(site)).toEqual(before);
  // Another revision is tried again.
  change(site, 3, { minutes: 5_000, tz: "America/Denver" });
  expect((await settled(site, order(site, "config_changed", { serial: SERIAL, revision: 3 }).id)).state).toBe("done");
  await site.clock.run(MINUTE);
  expect(limits(site).at(-1)).toBe(5_000);
});

it.each([
  "the PLC doesn't answer within 120 s",
  "the service doesn't answer within 120 s",
  "the agent is killed during the trial",
])("the config_changed command restores the previous configuration if %s", async (what) => {
  const { site } = await activeSite({ for_ms: MINUTE });
  const before = limits(site);
  const isService = what.startsWith("the service");
  if (!isService) site.plc.fault = "timeout";
  await site.clock.run(MINUTE);
  change(site, 2, { minutes: 4_321 });
  let answers = 0;
  site.service.way.passing = (passing, { path }) => {
    if (isService && passing === "answer" && path.includes(SERIAL) && ++answers === 1) {
      // After this answer, the gateway has read the record and the service stops answering.
      void site.clock.sleep(1).then(() => (site.service.way.down = true));
    }
    return Promise.resolve();
  };
  const { id } = order(site, "config_changed", { serial: SERIAL, revision: 2, within_ms: 120_000 });
  await site.clock.run(MINUTE);
  if (what.includes("kill")) {
    site.kill();
    await site.start();
  }
  await site.clock.run(4 * MINUTE);
  site.service.way.passing = null;
  site.service.way.down = false;
  const { state, error } = await settled(site, id);
  expect(state).toBe("failed");
  expect(error).toBe(`rolled back: no answer of the ${isService ? "service" : "PLC"} within 120 s of the change`);
  site.plc.fault = null;
  // The record still has the rejected configuration.
  await site.stop();
  await site.start();
  await site.clock.run(5 * MINUTE);
  const told = limits(site).slice(before.length);
  expect(told.slice(0, 2)).toEqual([4_321, before.at(-1)]);
  expect(told.at(-1)).toBe(before.at(-1));
});

it("a configuration that changed at the service without a command is tried when the booth's record is next read", async () => {
  const { site } = await activeSite({ for_ms: MINUTE });
  const before = limits(site);
  change(site, 2, { minutes: 4_321 });
  await site.stop();
  await site.start();
  await site.clock.run(5 * MINUTE);
  expect(limits(site)).toEqual([...before, 4_321]);
  site.plc.fault = "timeout";
  change(site, 3, { minutes: 55 });
  await site.stop();
  await site.start();
  await site.clock.run(15 * MINUTE);
  expect(site.lines.filter((line) => line.includes("rolled back"))).toHaveLength(1);
  expect(limits(site).at(-1)).toBe(4_321);
});
