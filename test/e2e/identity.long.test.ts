import { message } from "../../src/domain/message.ts";
import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 15);
const OTHER = "WXYZ-987-654";

/** Simulates that the network cable is moved to another PLC. */
async function swap(site: VirtualSite, plc_serial: string): Promise<void> {
  site.plc.fault = "reset";
  await site.clock.run(1000);
  site.booth.inject({ kind: "identity", identity: { plc_serial } }, site.clock.wall());
  site.plc.fault = null;
}

it("a PLC with another booth's serial number opens an incident, and its readings are ignored until the right PLC is back", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  const agent = await site.start();
  const booth = () => agent.status().booths[0];
  await site.clock.run(10 * MINUTE_MS);
  expect(booth()?.plc).toMatchObject({ kind: "up", shows_serial: SERIAL });

  const wrongFrom = site.clock.wall();
  await swap(site, OTHER);
  await site.clock.run(30 * MINUTE_MS);
  const wrongTo = site.clock.wall();
  expect(booth()?.plc).toMatchObject({ kind: "degraded", shows_serial: OTHER });
  expect(booth()?.plc).toMatchObject({ reason: message("plc.foreign", { shown: OTHER, expected: SERIAL }) });
  expect(booth()?.now?.in_gap).toBe(true);

  await swap(site, SERIAL);
  await site.clock.run(10 * MINUTE_MS);
  expect(booth()?.plc).toMatchObject({ kind: "up", shows_serial: SERIAL });
  await site.stop();

  const { source, close } = openSource(folder, site.clock.wall());
  const stream = source.reader.streams()[0]?.stream ?? "";
  const log = [...source.reader.log(stream, { start: START, end: site.clock.wall() })];
  const during = log.filter(({ at }) => at > wrongFrom && at <= wrongTo);
  const wrong = during.filter(({ kind }) => kind === "r").length;
  expect(wrong).toBe(0);
  expect(during.filter((record) => record.kind === "h" && record.value.polls > 0)).toEqual([]);
  expect(during.filter((record) => record.kind === "e" && record.value.event === "identity")).toHaveLength(6);
  expect(log.some(({ kind, at }) => kind === "r" && at > wrongTo)).toBe(true);

  const window = { start: START, end: site.clock.wall() };
  const incidents = source.reader.facts(stream, "i", window).filter(({ value }) => value.check === "identity");
  expect(incidents.map(({ value }) => [value.severity, value.resolved_at === null])).toEqual([
    ["error", true],
    ["error", false],
  ]);
  expect(incidents[1]?.value.resolved_at).toBeGreaterThan(wrongTo);
  expect(incidents[1]?.value.resolved_at).toBeLessThan(wrongTo + 5000);
  const stages = source.reader.facts(stream, "m", { start: wrongFrom + 16_000, end: wrongTo });
  expect(stages.map(({ value }) => value.mode)).toEqual(["no_data"]);
  close();
  site.close();
  recordFault({ row: 42, fault: "another booth's PLC", injected: 1, lost: 0, doubled: 0, wrong, passed: wrong === 0 });
});

it("a PLC with another booth's serial number at first contact gives no readings", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  site.booth.inject({ kind: "identity", identity: { plc_serial: OTHER } }, START);
  await site.start();
  await site.clock.run(10 * MINUTE_MS);
  await site.stop();
  const { source, close } = openSource(folder, site.clock.wall());
  const stream = source.reader.streams()[0]?.stream ?? "";
  const log = [...source.reader.log(stream, { start: START, end: site.clock.wall() })];
  expect(log.filter(({ kind }) => kind === "r")).toEqual([]);
  expect(log.filter(({ kind }) => kind === "e")).toHaveLength(2);
  close();
  site.close();
});
