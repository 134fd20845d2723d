import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractSite, type ContractSite } from "./contract-site.ts";

/** Monday 06:00 UTC is midnight in Chicago; two cycles, each begun at 08:00 or so. */
const WINDOW = "start=2026-03-02T06:00:00Z&end=2026-03-04T06:00:00Z";

describe("the reference service's reports", () => {
  let site: ContractSite;
  beforeAll(async () => void (site = await contractSite()));
  afterAll(() => site.running.stop());

  const get = async (path: string) => (await site.call("GET", path)).body;
  const status = async (path: string): Promise<number> => (await site.call("GET", path)).status;

  it("show runtime by day and by hour, for the last hours or days, and for requested modes", async () => {
    const series = async (query: string) => (await get(`/api/booths/b1/runtime_series?${query}`))["data"];
    expect(await series(WINDOW)).toEqual([
      { time: "2026-03-02 06:00:00Z", value: 77 },
      { time: "2026-03-03 06:00:00Z", value: 77 },
    ]);
    expect(await series(`unit=hour&start=2026-03-02T14:00:00Z&end=2026-03-02T15:30:00Z`)).toEqual([
      { time: "2026-03-02 14:00:00Z", value: 60 },
      { time: "2026-03-02 15:00:00Z", value: 17 },
    ]);
    expect(await series(`${WINDOW}&states=${encodeURIComponent("Bake Mode,Purge Mode")}`)).toMatchObject([
      { value: 33 },
      { value: 33 },
    ]);
    // Two hours up to now, 14:34, cut at the hours of the day.
    expect(await series("unit=hour&length=2")).toEqual(
      ["12:34", "13:00", "14:00"].map((time) => ({ time: `2026-03-04 ${time}:00Z`, value: 0 })),
    );
    expect(await status("/api/booths/b1/runtime_series?states=Dance")).toBe(400);
    expect(await status("/api/booths/b1/runtime_series?length=0&unit=day")).toBe(400);
  });

  it("sum up figures by facility, with the requested includes, as JSON and CSV", async () => {
    const includes =
      "includes=active_alerts:cycle_count:utilization_times:energy_usage:overuse_data:service_events:nonsense";
    const path = `/api/facilities?${WINDOW}&${includes}&sort=-utilization_minutes`;
    const { data } = (await get(path)) as { data: Record<string, unknown>[] };
    expect(data).toMatchObject([
      {
        name: "Main Street",
        active_alerts: 0,
        cycle_count: 2,
        utilization_minutes: 134,
        working_minutes: 1140,
        gas_usage: 0,
        kwh_usage: 0,
        overuse_minutes: 0,
        overuse_cycles: 0,
        events_missed: 0,
        service_events: 2,
      },
      { name: "Side Street", cycle_count: 0, utilization_minutes: 0, working_minutes: 0, service_events: 0 },
    ]);
    const csv = await site.call("GET", `${path}&format=csv&filter=name:eq:Main Street`);
    expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const [head = "", line = "", ...rest] = csv.text.split("\n");
    expect(rest).toEqual([""]);
    expect(head.split(",").slice(-3)).toEqual(["overuse_cycles", "events_missed", "service_events"]);
    expect(line.endsWith(",134,1140,0,0,0,0,0,2")).toBe(true);
    expect(await status("/api/facilities?format=xml")).toBe(400);
    expect(await status(`/api/facilities?${WINDOW}&sort=utilization_minutes`)).toBe(400);
  });

  it("return filter changes and readings as CSV, readings in time order", async () => {
    const changes = await site.call("GET", `/api/filters/maintenance_history?${WINDOW}&format=csv`);
    expect(changes.text.split("\n").map((line) => line.split(",")[1])).toEqual([
      ...["filter_type", "exhaust_filter", "exhaust_filter", undefined],
    ]);
    const readings = await site.call("GET", `/api/booths/b1/export_csv?${WINDOW}&tags=mode`);
    const lines = readings.text.trim().split("\n");
    expect(lines[0]).toBe("time,tag,value,quality");
    expect(lines.slice(1, 3)).toEqual(["2026-03-02 14:00:00Z,mode,3,good", "2026-03-02 14:34:00Z,mode,5,good"]);
    expect(lines).toHaveLength(11);
  });

  it("group use by day, week, month, booth, facility and region", async () => {
    const used = { gas_usage: 0, kwh_usage: 0, utilization_minutes: 134, cycle_count: 2 };
    const none = { gas_usage: 0, kwh_usage: 0, utilization_minutes: 0, cycle_count: 0 };
    const grouped = async (by: string) => (await get(`/api/bucketed_utilization?${WINDOW}&group_by=${by}`))["data"];
    expect(await grouped("week")).toEqual([{ group: "2026-03-02", ...used }]);
    expect(await grouped("month")).toEqual([{ group: "2026-03-01", ...used }]);
    expect(await grouped("region")).toEqual([{ group: "reg-demo-body-shop", ...used }]);
    expect(await grouped("booth")).toEqual([
      { group: "b1", ...used },
      { group: "b3", ...none },
    ]);
    expect(await grouped("facility")).toMatchObject([used, none]);
  });

  it("show each booth's daily cycles, the hours in which cycles end, and the median number of cycles", async () => {
    const cycles = (await get(`/api/reports/cycles_utilization?${WINDOW}`)) as { data: unknown[] };
    expect(cycles.data.slice(0, 2)).toEqual(
      ["2026-03-02", "2026-03-03"].map((period) => ({
        booth_id: "b1",
        period,
        cycle_count: 1,
        utilization_minutes: 67,
        working_minutes: 570,
      })),
    );
    const trends = await get(`/api/utilization/trends?${WINDOW}`);
    expect(trends["data"]).toMatchObject([
      { utilization_time: 67, median_cycles: 0.5 },
      { utilization_time: 67, median_cycles: 0.5 },
    ]);
    const frequency = await get(`/api/facilities/fac-demo-body-shop-main-street/utilization_frequency?${WINDOW}`);
    // 09:07 on Monday and 09:24 on Tuesday.
    expect(frequency["data"]).toEqual([
      { hour_of_week: 9, count: 1 },
      { hour_of_week: 33, count: 1 },
    ]);
  });
});
