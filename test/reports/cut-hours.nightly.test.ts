import { expect, it } from "vitest";
import { counterWrap } from "../../simulators/plc/scenarios/counter-wrap.ts";
import { activeSite, MINUTE, START } from "../support/active-site.ts";
import { usePeriods } from "../../src/reports/periods.ts";
import type { Source } from "../../src/reports/source.ts";
import type { Window } from "../../src/store/port.ts";
import { explain } from "../../src/reports/explain.ts";
import { boxAnswer, openSource } from "../support/figures.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const QUARTER = 15 * MINUTE;

it("gateway and service report the same energy for windows that cut hours, and mark it as approximate if readings are deleted", async () => {
  const poll = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 20_000 } };
  // The meter rolls over within the first working hour.
  const scenario = { ...counterWrap, counters: { energy_kwh: (2 ** 32 - 60) / 10 } };
  const { site, folder } = await activeSite({ scenario, for_ms: 72 * MINUTE, booth: { poll } });
  // Stops reading; what was read so far reaches the service.
  site.plc.fault = "timeout";
  await site.clock.run(MINUTE);
  const { source, close } = openSource(folder, site.clock.wall());
  const first = Math.ceil(START / HOUR_MS) * HOUR_MS;
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
  const whole = usage(first, first + HOUR_MS);
  expect(whole[0]).toBeGreaterThan(8);
  expect(quarters.reduce((sum, [box]) => sum + box, 0)).toBeCloseTo(whole[0], 3);
  const { reader, stream } = source;
  const meter = [...reader.readings(stream, { start: 0, end: Infinity }, new Set(["energy"]))].map(
    ({ value }) => value,
  );
  expect(meter.some((value, index) => Number(value) < Number(meter[index - 1] ?? 0))).toBe(true);

  const month = {
    start: new Date(START - 30 * 24 * HOUR_MS).toISOString(),
    end: new Date(site.clock.wall()).toISOString(),
  };
  const today = { ...month, start: new Date(START).toISOString() };
  // Both sides count working hours from the booth's first reading on.
  expect(boxAnswer(source, "utilization_stats", month)).toEqual(
    site.service.get("/api/booths/b-1/utilization_stats", month),
  );
  expect(boxAnswer(source, "utilization_stats", month)).toEqual(boxAnswer(source, "utilization_stats", today));
  // The same log after its retention time has only the readings of the last half hour.
  const kept_from = first + HOUR_MS / 2;
  const aged = agedSource(source, kept_from);
  const stats = (at: Source, from: number, to: number): Record<string, unknown> => {
    const query = { start: new Date(first + from).toISOString(), end: new Date(first + to).toISOString() };
    return boxAnswer(at, "utilization_stats", query);
  };
  expect(stats(aged, 0, HOUR_MS)).toEqual(stats(source, 0, HOUR_MS));
  expect(stats(source, QUARTER, HOUR_MS)).not.toHaveProperty("approximate");
  for (const [from, to] of [
    [QUARTER, 2 * QUARTER],
    [QUARTER, HOUR_MS],
    [-HOUR_MS, 3 * QUARTER],
  ] as const)
    expect(stats(aged, from, to)).toHaveProperty("approximate", true);
  const chart = usePeriods(aged, { start: first + QUARTER, end: first + HOUR_MS }, "hour").periods;
  expect(chart.map(({ approximate }) => approximate)).toEqual([true]);
  expect(explain(aged, "kwh_usage", { start: first + QUARTER, end: first + HOUR_MS })?.rules).toContain(
    "approximate: an hour is only partly in the window, and its readings are deleted from the log",
  );
  close();
});

/** Returns the log without the records before an instant, as the age limit leaves it. */
function agedSource(source: Source, kept_from: number): Source {
  const { reader } = source;
  const later = (window: Window): Window => ({ ...window, start: Math.max(window.start, kept_from) });
  return {
    ...source,
    reader: {
      ...reader,
      streams: () => reader.streams().map((info) => ({ ...info, oldest_seq: 100 })),
      log: (stream, window) => reader.log(stream, later(window)),
      readings: (stream, window, tags) => reader.readings(stream, later(window), tags),
    },
  };
}
