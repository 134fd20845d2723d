import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run } from "../../../simulators/service/storage/db.ts";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { workingTime } from "../../../simulators/service/figures/working-hours.ts";
import { FACILITY } from "./contract-site.ts";
import { claim, type Running, startBench } from "./service-http.ts";
import { batchOf, HOUR, MINUTE, script } from "./service-log.ts";

const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;
const daily = (start: string, stop: string, days: readonly (typeof DAYS)[number][] = DAYS) =>
  days.map((day) => ({ day, enabled: true, start, stop }));

const minutesOf = (hours: ReturnType<typeof daily>, tz: string, [start, end]: readonly [string, string]): number => {
  const window = { start: Date.parse(start), end: Date.parse(end) };
  const spans = workingTime({ tz, working_hours: hours }, window);
  return spans.reduce((sum, span) => sum + span.end - span.start, 0) / MINUTE;
};

describe("working time", () => {
  const ordinary = ["2026-03-07T07:00:00Z", "2026-03-08T07:00:00Z"] as const;
  const short = ["2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"] as const;
  const long = ["2026-11-01T06:00:00Z", "2026-11-02T07:00:00Z"] as const;
  it.each([
    { of: "a shift on an ordinary night", start: "00:00:00", stop: "06:00:00", day: ordinary, minutes: 360 },
    { of: "a night shift with a skipped hour", start: "00:00:00", stop: "06:00:00", day: short, minutes: 300 },
    { of: "a night shift with a repeated hour", start: "00:00:00", stop: "06:00:00", day: long, minutes: 420 },
    {
      of: "a shift from within the skipped hour",
      start: "02:30:00",
      stop: "03:30:00",
      day: short,
      minutes: 30,
    },
    {
      of: "a shift from within the repeated hour",
      start: "01:30:00",
      stop: "02:30:00",
      day: long,
      minutes: 120,
    },
    { of: "a 24-hour shift on a day of 23 hours", start: "00:00:00", stop: "00:00:00", day: short, minutes: 1380 },
    { of: "a 24-hour shift on a day of 25 hours", start: "06:00:00", stop: "06:00:00", day: long, minutes: 1500 },
  ])("is $minutes min for $of", ({ start, stop, day, minutes }) => {
    expect(minutesOf(daily(start, stop), "America/Denver", day)).toBe(minutes);
  });

  it("counts a shift past midnight on both days, and counts overlapping shifts once", () => {
    const night = daily("22:00:00", "02:00:00", ["friday"]);
    expect(minutesOf(night, "UTC", ["2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z"])).toBe(120);
    expect(minutesOf(night, "UTC", ["2026-03-07T00:00:00Z", "2026-03-08T00:00:00Z"])).toBe(120);
    const more = [...night, ...daily("01:00:00", "03:00:00", ["saturday"])];
    expect(minutesOf(more, "UTC", ["2026-03-06T00:00:00Z", "2026-03-08T00:00:00Z"])).toBe(300);
  });
});

describe("changed working hours", () => {
  let bench: Running;
  beforeEach(async () => {
    bench = await startBench();
    await claim(bench);
    const log = script().stage("spray", 24 * HOUR);
    ingestBatch(bench.running.db, { gatewayId: "gw-1", nowMs: bench.clock.now }, batchOf(log.records()));
  });
  afterEach(() => bench.running.stop());

  const put = (more: Record<string, unknown>) =>
    bench.call("PUT", `/api/facilities/${FACILITY}`, { body: { tz: "America/Chicago", ...more } });
  const stats = async () => {
    const window = "start=2026-03-02T06:00:00Z&end=2026-03-03T06:00:00Z";
    return (await bench.call("GET", `/api/booths/b1/utilization_stats?${window}`)).body;
  };

  it("apply from the facility's updated_at on, while earlier time keeps the earlier hours", async () => {
    // From 08:00 to 17:30; at 12:00 the day is made to end at 15:00, with the box's clock at 18:00 UTC.
    bench.clock.now += 4 * HOUR;
    const changed = await put({ working_hours: daily("10:00:00", "15:00:00") });
    expect(changed.body["updated_at"]).toBe("2026-03-02 18:00:00Z");
    bench.clock.now += 20 * HOUR;
    expect(await stats()).toMatchObject({
      working_minutes: 4 * 60 + 3 * 60,
      utilization_minutes: 16 * 60,
      utilization_pct: 100,
    });
    await put({ city: "X" });
    expect(await stats()).toMatchObject({ working_minutes: 420, overtime_minutes: 9 * 60 });
  });

  it("apply in a new time zone from the zone's change on, and the first known hours apply to all earlier time", async () => {
    const made = await bench.call("POST", "/api/facilities", { body: { name: "East", tz: "America/New_York" } });
    run(bench.running.db, "UPDATE booths SET facility_id = ?", String(made.body["id"]));
    bench.clock.now += 4 * HOUR;
    const path = `/api/facilities/${String(made.body["id"])}`;
    const working_hours = daily("08:00:00", "16:00:00");
    await bench.call("PUT", path, { body: { tz: "America/New_York", working_hours } });
    bench.clock.now += HOUR;
    // 13:00 to 21:00 UTC, counted from the first reading at 14:00 on; from 19:00 on Los Angeles: 16:00 to 24:00 UTC.
    await bench.call("PUT", path, { body: { tz: "America/Los_Angeles" } });
    bench.clock.now += 19 * HOUR;
    expect((await stats())["working_minutes"]).toBe(5 * 60 + 5 * 60);
  });
});
