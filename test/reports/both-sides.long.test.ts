import { expect, it } from "vitest";
import { ordered } from "../scenarios/figures.ts";
import { boxAnswer, openSource } from "../support/figures.ts";
import { changedBy, rebuild } from "../support/rebuild.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Operations that both sides serve for a booth, with their queries. */
function questions(start: number, end: number): readonly (readonly [string, Record<string, string>])[] {
  const at = (ms: number): string => new Date(ms).toISOString();
  const middle = start + (end - start) / 2;
  const windows = [
    { start: at(start), end: at(end) },
    { start: at(start - HOUR_MS), end: at(middle) },
    { start: at(middle), end: at(end + HOUR_MS) },
    {},
  ];
  const overWindows = ["duration_by_mode", "frequency_by_mode", "runtime", "utilization_stats", "filter_maintenances"];
  const tags = "mode,cycle_count,gas,no_such_tag";
  return [
    ...windows.flatMap((window) => overWindows.map((operation) => [operation, window] as const)),
    ["runtime", { unit: "hours", length: "3" }],
    ["filter_maintenance_history", {}],
    ["filter_maintenance_history", { start: at(middle) }],
    ["revision_history", {}],
    ["history", { tags, limit: "20", page: "2", start: at(start), end: at(end) }],
    ["history", { tags: "energy", start: at(middle), end: at(end) }],
    ["latest_values_for", { tags }],
    ["latest_values_at", { tags, before: at(middle) }],
    ["latest_values_at", { tags: "firmware,mode", before: at(end) }],
  ];
}

it.each([
  ["filter-change", Date.UTC(2026, 2, 2, 15), 4.2 * HOUR_MS],
  ["program-update", Date.UTC(2026, 2, 2, 15), 2.3 * HOUR_MS],
] as const)(
  "gateway and service return the same JSON for the same records of the scenario %s",
  async (scenario, start, length) => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario, start });
    await site.start();
    await site.clock.run(length);
    // Stops reading; what was read so far reaches the service.
    site.plc.fault = "timeout";
    await site.clock.run(45_000);
    const { source, close } = openSource(folder, site.clock.wall());
    const differences = questions(start, start + length).flatMap(([operation, query]) => {
      const box = boxAnswer(source, operation, query);
      const service = site.service.get(`/api/booths/b-1/${operation}`, query);
      // The order of an object's keys has no meaning.
      return ordered(box) === ordered(service) ? [] : [{ operation, query, box, service }];
    });
    close();
    site.kill();
    const writer = writerIn(folder);
    const rebuilt = rebuild(writer, writer.openStream("booth-1").stream);
    writer.close();
    site.close();
    expect(changedBy(rebuilt)).toBe(0);
    expect(differences).toEqual([]);
  },
);
