import { expect, it, onTestFinished } from "vitest";
import { DEMO_ADMIN_KEY, seedDemo } from "../../../simulators/service/demo/seed-demo.ts";
import { demoSerial } from "../../../simulators/service/demo/stories.ts";
import { row } from "../../../simulators/service/storage/db.ts";
import { recordFault } from "../../support/faults.ts";
import { startBench } from "./service-http.ts";
import { memoryFolder } from "../../support/temporary.ts";

const BOOTHS = 15;
/** Thirteen years: as long as a report may be. */
const YEARS = "start=2012-08-01T00:00:00Z";
/** Each is asked at once by three, and made from every booth's whole log. */
const HEAVY = [
  `/api/utilization?${YEARS}&limit=1`,
  `/api/bucketed_utilization?${YEARS}&limit=1`,
  `/api/utilization/trends?${YEARS}&limit=1`,
  `/api/filters/maintenance_timeline?${YEARS}&limit=1`,
  `/api/booths?${YEARS}&includes=utilization_times:energy_usage:overuse_data`,
  `/api/facilities?${YEARS}&includes=cycle_count:utilization_times:energy_usage:overuse_data:service_events`,
];
/** Requests made meanwhile, one after the other: the account's rows, one booth's log, and a provisioning record. */
const LIGHT = ["/api/accounts", "/api/booths/BOOTH/duration_by_mode", `/api/booths_provisioning/${demoSerial(0)}`];

it("three simultaneous reports over several years do not delay the answers to other requests", async () => {
  const bench = await startBench({ dataDir: memoryFolder() });
  onTestFinished(() => bench.running.stop());
  await seedDemo(bench.running.db, { seed: 1, booths: BOOTHS, days: 5, now: bench.clock.now });
  const id =
    row<{ id: string }>(bench.running.db, "SELECT id FROM booths WHERE serial_number = ?", demoSerial(0))?.id ?? "";
  const get = async (path: string): Promise<number> =>
    (await bench.call("GET", path.replace("BOOTH", id), { key: DEMO_ADMIN_KEY })).status;
  let late = 0;
  for (const path of HEAVY) {
    let answered = 0;
    const heavy = [1, 2, 3].map(() => get(path).then((status) => ((answered += 1), status)));
    for (const light of LIGHT) expect([light, await get(light)]).toEqual([light, 200]);
    if (answered > 0) late += 1;
    expect(await Promise.all(heavy)).toEqual([200, 200, 200]);
  }
  recordFault({
    row: 45,
    fault: "three reports over thirteen years at once, at the service",
    injected: 3 * HEAVY.length,
    lost: late,
    doubled: 0,
    wrong: 0,
    passed: late === 0,
  });
  expect(late).toBe(0);
});

it.each([
  ["/api/utilization?start=1970-01-01T00:00:00Z&limit=1", /^too many days from start to end: at most 5000$/],
  ["/api/booths/b1/utilization_timeline?start=2025-01-01T00:00:00Z&interval=1", /^too many intervals/],
])("a report over too many days or intervals is rejected with the reason: %s", async (path, sentence) => {
  const bench = await startBench();
  onTestFinished(() => bench.running.stop());
  const { status, body } = await bench.call("GET", path);
  expect([status, body["error"]]).toEqual([400, expect.stringMatching(sentence)]);
});
