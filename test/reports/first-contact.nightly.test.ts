import { expect, it } from "vitest";
import { boothFigures } from "../../simulators/service/figures/booth.ts";
import { filterMaintenances } from "../../src/reports/filters.ts";
import { openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

it("a filter present at first contact is counted from the first reading on by gateway and service, even if the agent ran long before", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "filter-change", start: Date.UTC(2026, 2, 2, 15) });
  site.plc.fault = "timeout";
  await site.start();
  await site.clock.run(20 * MINUTE_MS);
  site.plc.fault = null;
  await site.clock.run(5 * MINUTE_MS);
  site.plc.fault = "timeout";
  await site.clock.run(MINUTE_MS);

  const now = site.clock.wall();
  const { source, close } = openSource(folder, now);
  const box = filterMaintenances(source, { start: 0, end: now }).map(
    ({ type, installed_at, removed_at, overuse_since }) => [type, installed_at, removed_at, overuse_since],
  );
  const { installations, stages } = boothFigures(site.service.db, "b-1", now);
  expect(box).toEqual(
    installations.map(({ type, installed_at, removed_at, overuse }) => [
      type,
      installed_at,
      removed_at,
      overuse.at(-1)?.start ?? null,
    ]),
  );
  expect(box.length).toBeGreaterThan(1);
  expect(Math.min(...box.map(([, at]) => Number(at)))).toBe(stages[0]?.start);
  close();
  await site.stop();
  site.close();
});
