import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claim, feed, type Running, startBench } from "./service-http.ts";
import { HOUR, MINUTE, PARAMETERS, script } from "./service-log.ts";

const LIMITED = { ...PARAMETERS, filters: { exhaust_filter: { limits: { minutes: 60 } } } };

describe("the filter reports by local day", () => {
  let bench: Running;
  beforeAll(async () => {
    bench = await startBench();
    await claim(bench);
    // Monday 08:00: 40 min in use, a second hour in use on Tuesday, of which 20 min lie within the limit; then changed.
    const log = script(LIMITED)
      .set("exhaust_reset", true)
      .wait(1000)
      .set("exhaust_reset", false)
      .set("exhaust_minutes", 0);
    log
      .stage("spray", 40 * MINUTE)
      .set("exhaust_minutes", 40)
      .stage("idle", 23 * HOUR + 20 * MINUTE - 1000);
    log
      .stage("spray", 20 * MINUTE)
      .set("exhaust_minutes", 60)
      .wait(10 * MINUTE);
    log
      .stage("bake", 30 * MINUTE)
      .set("exhaust_minutes", 100)
      .stage("cool_down", 10 * MINUTE)
      .stage("idle", MINUTE);
    log.set("exhaust_reset", true).set("exhaust_minutes", 0).wait(MINUTE);
    feed(bench, log);
  });
  afterAll(() => bench.running.stop());

  const window = "start=2026-03-02T06:00:00Z&end=2026-03-04T06:00:00Z";

  it("show the use and the filter changes per day and region", async () => {
    const { body } = await bench.call("GET", `/api/filters/maintenance_timeline?${window}`);
    const region_id = "reg-demo-body-shop";
    expect(body["data"]).toEqual([
      {
        period: "2026-03-02",
        region_id,
        in_use: 40,
        cycle_count: 1,
        overuse_cycles: 0,
        overuse_minutes: 0,
        on_time: 0,
        late: 0,
        events_during_period: 0,
      },
      {
        period: "2026-03-03",
        region_id,
        in_use: 60,
        cycle_count: 1,
        overuse_cycles: 1,
        overuse_minutes: 40,
        on_time: 0,
        late: 1,
        events_during_period: 1,
      },
    ]);
  });

  it("show overuse per day, and ignore the obsolete parameter period", async () => {
    const asked = await bench.call("GET", `/api/filters/overuse_trend?${window}`);
    expect(asked.body["data"]).toEqual([
      { period: "2026-03-02", overuse_count: 0, overuse_cycles: 0, overuse_time: 0 },
      { period: "2026-03-03", overuse_count: 1, overuse_cycles: 1, overuse_time: 40 },
    ]);
    const old = await bench.call("GET", `/api/filters/overuse_trend?${window}&period=month`);
    expect(old.body).toEqual(asked.body);
  });
});
