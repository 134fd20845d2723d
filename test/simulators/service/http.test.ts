import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { seedSite } from "../../../simulators/service/accounts/seed.ts";
import { batchOf, claimBody, EPOCH, HOUR, MINUTE, script } from "./service-log.ts";
import { claim, type Running, startBench } from "./service-http.ts";

const PATHS = [
  "/api/booths",
  "/api/booths/b1",
  "/api/booths/latest_updates",
  "/api/booths/b1/duration_by_mode",
  "/api/booths/b1/frequency_by_mode",
  "/api/booths/b1/history?tags=mode",
  "/api/booths/b1/latest_values_for?tags=mode",
  "/api/booths/b1/revision_history",
  "/api/booths/b1/filter_maintenances",
  "/api/booths/b1/filter_maintenance_history",
  "/api/booths/b1/runtime",
  "/api/booths/b1/utilization_stats",
  "/api/facilities/fac-demo-body-shop-main-street",
  "/api/booths_provisioning/ABCD1234",
];

/** 97 min of a standard cycle, begun at 08:00 local time, a filter changed in it. */
function feed(bench: Running): void {
  const log = script()
    .set("firmware_version", "1.4")
    .set("plc_program", "SPRAY")
    .set("plc_program_revision", "14C")
    .set("exhaust_minutes", 100)
    .set("exhaust_reset", false);
  log
    .stage("prep", 8 * MINUTE)
    .stage("spray", 34 * MINUTE)
    .stage("purge", 3 * MINUTE)
    .set("exhaust_reset", true)
    .stage("bake", 30 * MINUTE);
  const records = log
    .stage("cool_down", 10 * MINUTE)
    .stage("idle", 12 * MINUTE)
    .records();
  ingestBatch(bench.running.db, { gatewayId: "gw-1", nowMs: EPOCH + 97 * MINUTE }, batchOf(records));
  bench.clock.now = EPOCH + 97 * MINUTE;
}

describe("HTTP side of the reference service", () => {
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
    seedSite(bench.running.db, { serial: "ELSE-1", account: "Other", boothId: "b2", adminKey: "stranger", now: EPOCH });
    feed(bench);
  });
  afterAll(() => bench.running.stop());

  it.each(PATHS)("%s wants a key, and hides what is another account's", async (path) => {
    const nobody = await bench.call("GET", path, { key: null });
    expect([nobody.status, Object.keys(nobody.body)]).toEqual([401, ["error"]]);
    expect((await bench.call("GET", path, { key: "wrong" })).status).toBe(401);
    expect((await bench.call("GET", path)).status).toBe(200);
    const listing = path === "/api/booths" || path.endsWith("latest_updates");
    const stranger = await bench.call("GET", path, { key: "stranger" });
    expect(stranger.status).toBe(listing ? 200 : 404);
    if (!listing) expect(Object.keys(stranger.body)).toEqual(["error"]);
    else expect(JSON.stringify(stranger.body)).not.toContain("ABCD1234");
  });

  it("says 401 before 404, and both with error alone", async () => {
    expect((await bench.call("GET", "/api/nothing", { key: null })).status).toBe(401);
    const lost = await bench.call("GET", "/api/nothing");
    expect([lost.status, Object.keys(lost.body)]).toEqual([404, ["error"]]);
    expect((await bench.call("DELETE", "/api/booths")).status).toBe(404);
  });

  it("says 403 to a scope that may not, 400 and 413 to bad bodies", async () => {
    expect((await bench.call("POST", "/api/booths_provisioning", { key: "user", body: claimBody() })).status).toBe(403);
    expect((await bench.call("PUT", "/api/booths_provisioning/ABCD1234", { key: "user", body: {} })).status).toBe(403);
    const broken = await bench.call("POST", "/api/booths_provisioning", { body: "{" });
    expect([broken.status, Object.keys(broken.body)]).toEqual([400, ["error"]]);
    expect((await bench.call("POST", "/api/booths_provisioning", { body: { pad: "x".repeat(300_000) } })).status).toBe(
      413,
    );
  });

  it.each(["start=yesterday", "start=2026-02-30T00:00:00Z", "start=2026-03-02T15:00:00Z&end=2026-03-02T14:00:00Z"])(
    "says 400 to %s",
    async (query) => {
      expect((await bench.call("GET", `/api/booths/b1/duration_by_mode?${query}`)).status).toBe(400);
    },
  );

  it("says 400 to history of everything, or of no tag", async () => {
    expect((await bench.call("GET", "/api/booths/b1/history?tags=mode&limit=-1")).status).toBe(400);
    expect((await bench.call("GET", "/api/booths/b1/history")).status).toBe(400);
    expect((await bench.call("GET", "/api/booths?page=0")).status).toBe(400);
  });

  it("sends its own clock as Date", async () => {
    expect((await bench.call("GET", "/api/booths")).headers.get("date")).toBe(new Date(bench.clock.now).toUTCString());
  });

  it("gives the booth's and the fleet's use alike", async () => {
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

  it("finds booths, with what is included and known", async () => {
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

  it("shows a booth's 19 fields and those beside them", async () => {
    const { body } = await bench.call("GET", "/api/booths/b1");
    const stated =
      "account_id account_name facility_id created_at bay_count brand_name burner_size height length model_number motor_size width plc_program plc_program_revision firmware_version last_firmware_update last_program_update connectivity_status last_active_mode";
    const seen = "id external_id serial_number name status last_updated_at total_runtime";
    expect(Object.keys(body).sort()).toEqual(`${stated} ${seen}`.split(" ").sort());
    expect(body).toMatchObject({
      status: "active",
      firmware_version: "1.4",
      last_firmware_update: "2026-03-01 10:00:00Z",
      last_active_mode: "Bake Mode",
      width: "13.5",
      total_runtime: 77,
    });
  });

  it("shows figures by the day so far and by window, in three spellings of time", async () => {
    const day = await bench.call("GET", "/api/booths/b1/duration_by_mode");
    expect(day.body).toEqual({
      booth_id: "b1",
      start: "2026-03-02 06:00:00Z",
      end: "2026-03-02 15:37:00Z",
      modes: [
        { mode: "Spray Mode", duration: 34 },
        { mode: "Purge Mode", duration: 3 },
        { mode: "Bake Mode", duration: 30 },
        { mode: "Cool Down", duration: 10 },
        { mode: "Prep Mode", duration: 8 },
        { mode: "Idle", duration: 12 },
        { mode: "No Data", duration: 480 },
      ],
    });
    for (const start of ["2026-03-02T14:08:00Z", "2026-03-02 14:08:00Z", "2026-03-02 14:08:00"]) {
      const { body } = await bench.call(
        "GET",
        `/api/booths/b1/duration_by_mode?start=${start}&end=2026-03-02T14:18:00Z`,
      );
      expect(body["modes"]).toEqual([{ mode: "Spray Mode", duration: 10 }]);
    }
    const { body } = await bench.call(
      "GET",
      "/api/booths/b1/frequency_by_mode?start=2026-03-02T14:08:00Z&end=2026-03-02T14:46:00Z",
    );
    expect(body["modes"]).toEqual(["Spray Mode", "Purge Mode", "Bake Mode"].map((mode) => ({ mode, count: 1 })));
  });

  it("shows utilization and runtime", async () => {
    expect((await bench.call("GET", "/api/booths/b1/utilization_stats")).body).toEqual({
      utilization_minutes: 67,
      working_minutes: 97,
      utilization_pct: 69.0722,
      overtime_minutes: 0,
      cycle_count: 1,
      gas_usage: 0,
      kwh_usage: 0,
    });
    const { body } = await bench.call("GET", "/api/booths/b1/runtime?unit=hour&length=1");
    expect(body).toEqual({
      current_period: { months: 0, days: 0, secs: 48 * 60, microsecs: 0 },
      previous_period: { months: 0, days: 0, secs: 29 * 60, microsecs: 0 },
      delta: { months: 0, days: 0, secs: 19 * 60, microsecs: 0 },
    });
    expect((await bench.call("GET", "/api/booths/b1/runtime?unit=eon")).status).toBe(400);
  });

  it("shows readings, last values and revisions", async () => {
    const history = await bench.call("GET", "/api/booths/b1/history?tags=mode,none&limit=2&page=2");
    expect(history.body).toEqual({
      data: {
        mode: [
          { value: 5, system_time: "2026-03-02 14:42:00Z" },
          { value: 6, system_time: "2026-03-02 14:45:00Z" },
        ],
        none: [],
      },
      page: 2,
      limit: 2,
      pages: 3,
      total: 6,
    });
    const last = await bench.call("GET", "/api/booths/b1/latest_values_for?tags=mode,none");
    expect(last.body).toEqual({ data: { mode: { name: "mode", system_time: "2026-03-02 15:25:00Z", value: "1" } } });
    const before = await bench.call("GET", "/api/booths/b1/latest_values_at?tags=mode&before=2026-03-02T14:10:00Z");
    expect(before.body).toMatchObject({ data: { mode: { value: "3" } } });
    expect((await bench.call("GET", "/api/booths/b1/revision_history")).body).toEqual({
      firmware_versions: [{ version: "1.4", installed_at: "2026-03-02 14:00:00Z" }],
      program_versions: [{ version: "14C", plc_program: "SPRAY", installed_at: "2026-03-02 14:00:00Z" }],
    });
  });

  it("shows filters and their changes", async () => {
    const { body } = await bench.call("GET", "/api/booths/b1/filter_maintenance_history");
    expect(body["data"]).toEqual([
      {
        filter_type: "exhaust_filter",
        maintenance_date: "2026-03-02 14:45:00Z",
        duration: 0.0313,
        overuse: 0,
        active_spray_time: 34,
        booth_in_use_time: 100,
        booth_overuse_cycles: 0,
        booth_overuse_time: 0,
      },
    ]);
    const maintenances = await bench.call("GET", "/api/booths/b1/filter_maintenances");
    const [item] = maintenances.body["data"] as Record<
      string,
      { last_active_filter: string; filter_interval_log: unknown[] }
    >[];
    expect(Object.keys(item ?? {})).toEqual(["exhaust_filter"]);
    expect(item?.["exhaust_filter"]?.last_active_filter).toBe("2026-03-02 14:45:00Z");
    expect(item?.["exhaust_filter"]?.filter_interval_log).toHaveLength(2);
  });

  it("shows latest updates and the facility", async () => {
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

  it("opens a session that ends", async () => {
    const opened = await bench.call("POST", "/api/authenticate", { body: { api_key: "user" } });
    const key = `Bearer ${String(opened.body["session_token"])}`;
    expect((await bench.call("GET", "/api/booths", { key })).status).toBe(200);
    expect((await bench.call("POST", "/api/authenticate", { body: { api_key: "nope" } })).status).toBe(401);
    expect((await bench.call("POST", "/api/authenticate", { key: null, body: { api_key: "user" } })).status).toBe(401);
    bench.clock.now += 2 * HOUR;
    expect((await bench.call("GET", "/api/booths", { key })).status).toBe(401);
    bench.clock.now -= 2 * HOUR;
  });

  it("guards a write by the validator of the read", async () => {
    const path = "/api/booths_provisioning/abcd1234";
    const etag = (await bench.call("GET", path)).headers.get("etag") ?? "";
    const body = { completion_status: "COMPLETE", generation: 1 };
    expect((await bench.call("PUT", path, { body, headers: { "if-match": '"0.0"' } })).status).toBe(412);
    expect((await bench.call("PUT", path, { body, headers: { "if-match": etag } })).status).toBe(200);
    expect((await bench.call("GET", path)).headers.get("etag")).not.toBe(etag);
  });
});
