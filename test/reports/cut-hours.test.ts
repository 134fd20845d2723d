import { expect, it } from "vitest";
import { counterWrap } from "../../simulators/plc/scenarios/counter-wrap.ts";
import { activeSite, MINUTE, START } from "../support/active-site.ts";
import { boxAnswer, openSource } from "../support/figures.ts";

const HOUR = 60 * MINUTE;
const QUARTER = 15 * MINUTE;

it("energy of windows that cut hours is the same on both sides, where the meter rolls over too, and their quarters add up", async () => {
  const poll = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 20_000 } };
  // The meter rolls over within the first working hour.
  const scenario = { ...counterWrap, counters: { energy_kwh: (2 ** 32 - 60) / 10 } };
  const { site, folder } = await activeSite({ scenario, for_ms: 72 * MINUTE, booth: { poll } });
  // Nothing more is read; what was read gets to the service.
  site.plc.fault = "timeout";
  await site.clock.run(MINUTE);
  const { source, close } = openSource(folder, site.clock.wall());
  const first = Math.ceil(START / HOUR) * HOUR;
  const usage = (start: number, end: number): readonly [number, number] => {
    const query = { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
    const box = boxAnswer(source, "utilization_stats", query) as { kwh_usage: number };
    const service = site.service.get("/api/booths/b-1/utilization_stats", query) as { kwh_usage: number };
    return [box.kwh_usage, service.kwh_usage];
  };
  const quarters = Array.from({ length: 4 }, (_, index) =>
    usage(first + index * QUARTER, first + (index + 1) * QUARTER),
  );
  expect(quarters.map(([box]) => box)).toEqual(quarters.map(([, service]) => service));
  const whole = usage(first, first + HOUR);
  expect(whole[0]).toBeGreaterThan(8);
  expect(quarters.reduce((sum, [box]) => sum + box, 0)).toBeCloseTo(whole[0], 3);
  const { reader, stream } = source;
  const meter = [...reader.readings(stream, { start: 0, end: Infinity }, new Set(["energy"]))].map(
    ({ value }) => value,
  );
  expect(meter.some((value, index) => Number(value) < Number(meter[index - 1] ?? 0))).toBe(true);
  close();
});
