import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOUR, MINUTE, script, type Script } from "./service-log.ts";
import { claim, feed, type Running, startBench } from "./service-http.ts";

/** 97 min of a standard cycle, started at 08:00 local time, with a filter change. */
function cycle(): Script {
  return script()
    .set("firmware_version", "1.4")
    .set("plc_program", "SPRAY")
    .set("plc_program_revision", "14C")
    .set("exhaust_minutes", 100)
    .set("exhaust_reset", false)
    .stage("prep", 8 * MINUTE)
    .stage("spray", 34 * MINUTE)
    .stage("purge", 3 * MINUTE)
    .set("exhaust_reset", true)
    .stage("bake", 30 * MINUTE)
    .stage("cool_down", 10 * MINUTE)
    .stage("idle", 12 * MINUTE);
}

describe("the reference service's HTTP API", () => {
  let bench: Running;
  beforeAll(async () => {
    bench = await startBench();
    await claim(bench, "gw-1", {
      reported: {
        seq: 1,
        firmware_version: "1.4",
        last_active_mode: "Bake Mode",
        last_firmware_update: "2026-03-01T10:00:00.000Z",
      },
    });
    feed(bench, cycle());
  });
  afterAll(() => bench.running.stop());

  it("reports the same use for a single booth as for the fleet", async () => {
    const get = async (path: string) => (await bench.call("GET", path)).body;
    const window = "start=2026-03-02T14:00:00Z&end=2026-03-02T15:37:00Z";
    expect(await get(`/api/booths/b1/utilization_summary?${window}`)).toMatchObject({
      all_active_modes: 97,
      in_use: 67,
      idle: 0,
      bake: 30,
    });
    const timeline = await get(`/api/booths/b1/utilization_timeline?interval=60&${window}`);
    expect(timeline["data"]).toMatchObject([{ duration: 60 }, { duration: 37 }]);
    expect((await bench.call("GET", `/api/booths/b1/utilization_timeline?interval=0`)).status).toBe(400);
    const stages = await bench.call("GET", `/api/booths/b1/recent_stages?${window}`);
    expect([stages.headers.get("deprecation"), stages.body["total"]]).toEqual(["true", 6]);
    const used = { gas_usage: 0, kwh_usage: 0, utilization_minutes: 67, cycle_count: 1 };
    expect((await get(`/api/bucketed_utilization?${window}`))["data"]).toEqual([{ group: "2026-03-02", ...used }]);
    expect((await bench.call("GET", "/api/bucketed_utilization?group_by=year")).status).toBe(400);
    const trend = { period: "2026-03-02", utilization_time: 67, median_cycles: 1 };
    expect((await get(`/api/utilization/trends?${window}`))["data"]).toEqual([trend]);
    expect((await get(`/api/utilization?${window}`))["data"]).toMatchObject([{ booth_id: "b1", duration: 67 }]);
    const facility = "/api/facilities/fac-demo-body-shop-main-street";
    expect(await get(`${facility}/utilization_summary?${window}`)).toMatchObject({ in_use: 67, idle: 0, bake: 30 });
    // The bake ended on Monday 09:15 in Chicago.
    const frequency = await get(`${facility}/utilization_frequency?${window}`);
    expect(frequency["data"]).toEqual([{ hour_of_week: 9, count: 1 }]);
    expect((await get(`${facility}/utilization_timeline?${window}`))["total"]).toBe(2);
    expect((await bench.call("GET", "/api/validation_incidents?sort=-last_seen_at")).status).toBe(200);
    expect((await get(`/api/filters/services?${window}`))["data"]).toMatchObject([
      { booth_id: "b1", exhaust_filter: { maintenance_event_count: 1, on_time_service_count: 1 } },
    ]);
  });

  it("finds booths by search text, and adds the known parts of `includes` to each booth", async () => {
    const { body } = await bench.call(
      "GET",
      "/api/booths?search=abcd&includes=cycle_count:utilization_times:energy_usage:bake_time:overuse_data:nonsense",
    );
    expect(body).toMatchObject({ page: 1, limit: 50, pages: 1, total: 1 });
    const more = {
      cycles_count: 1,
      utilization_minutes: 67,
      working_minutes: 97,
      gas_usage: 0,
      kwh_usage: 0,
      bake_time: 30,
      overuse_minutes: 0,
      overuse_cycles: 0,
    };
    expect(body["data"]).toMatchObject([{ id: "b1", ...more }]);
    expect((await bench.call("GET", "/api/booths?search=nope")).body).toMatchObject({ data: [], total: 0 });
  });

  it("shows each booth's latest update and its facility", async () => {
    const { body } = await bench.call("GET", "/api/booths/latest_updates");
    expect(body["data"]).toMatchObject([
      {
        booth_id: "b1",
        last_reading_at: "2026-03-02 15:25:00Z",
        acked: { stream_id: "stream-1" },
        connectivity_status: "Offline",
      },
    ]);
    const facility = await bench.call("GET", "/api/facilities/fac-demo-body-shop-main-street");
    expect(facility.body).toMatchObject({
      tz: "America/Chicago",
      region_name: "Default",
      account_name: "Demo Body Shop",
    });
    expect(facility.body["working_hours"]).toHaveLength(5);
  });

  it("opens a session for an API key, and rejects the session's token after two hours", async () => {
    const opened = await bench.call("POST", "/api/authenticate", { body: { api_key: "user" } });
    const key = `Bearer ${String(opened.body["session_token"])}`;
    expect((await bench.call("GET", "/api/booths", { key })).status).toBe(200);
    expect((await bench.call("POST", "/api/authenticate", { body: { api_key: "nope" } })).status).toBe(401);
    expect((await bench.call("POST", "/api/authenticate", { key: null, body: { api_key: "user" } })).status).toBe(401);
    bench.clock.now += 2 * HOUR;
    expect((await bench.call("GET", "/api/booths", { key })).status).toBe(401);
    bench.clock.now -= 2 * HOUR;
  });

  it("rejects a write whose If-Match differs from the present ETag", async () => {
    const path = "/api/booths_provisioning/abcd1234";
    const etag = (await bench.call("GET", path)).headers.get("etag") ?? "";
    const body = { completion_status: "COMPLETE", generation: 1 };
    expect((await bench.call("PUT", path, { body, headers: { "if-match": '"0.0"' } })).status).toBe(412);
    expect((await bench.call("PUT", path, { body, headers: { "if-match": etag } })).status).toBe(200);
    expect((await bench.call("GET", path)).headers.get("etag")).not.toBe(etag);
  });
});
