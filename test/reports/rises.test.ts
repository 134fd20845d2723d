import { expect, it } from "vitest";
import { risesIn } from "../../src/reports/hours.ts";
import { put, run, script, stay, T0 } from "../support/booth.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { readerOf, sourceOf } from "../support/reader.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

it("what a counter went on by in a silence of hours is of the reading that shows it, however long ago the one before was", () => {
  const booth = script(PARAMETERS);
  stay(booth, 10 * MINUTE_MS, { mode: 3, cycles: 100 });
  booth.now += 4 * HOUR_MS;
  const back = booth.now;
  stay(booth, 10 * MINUTE_MS, { mode: 3, cycles: 104 });
  const source = sourceOf(booth, PARAMETERS);
  const span = { start: T0 + 4 * HOUR_MS, end: T0 + 5 * HOUR_MS };
  expect(risesIn(source, "cycles", span)).toEqual([{ at: T0 + back, rise: 4 }]);
});

it("a counter that rolled over, was set back or jumped went on by what was booked of it, and by no more", () => {
  const booth = script(PARAMETERS);
  for (const cycles of [65_534, 65_535, 0, 2, 900, 1]) stay(booth, 20 * MINUTE_MS, { mode: 3, cycles });
  const source = sourceOf(booth, PARAMETERS);
  const rises = risesIn(source, "cycles", { start: T0, end: T0 + booth.now });
  // From 2 to 900 in 20 min nothing is booked; 1 is what it can have counted from 0 since.
  expect(rises.map(({ rise }) => rise)).toEqual([1, 1, 2, 0, 1]);
});

it("where a clock was put back and time stands still a counter goes on by what was booked of it", () => {
  const booth = script(PARAMETERS);
  stay(booth, 20 * MINUTE_MS, { mode: 3, meter: 1_000 });
  put(booth, { kind: "t", value: { wall: T0 + booth.now - 5 * MINUTE_MS, state: "synced", witness: "kernel" } });
  for (let minute = 1; minute <= 4; minute += 1) stay(booth, MINUTE_MS, { meter: 1_000 + minute });
  stay(booth, 10 * MINUTE_MS, { mode: 4 });
  const { state, ...ran } = run(booth, PARAMETERS);
  const source = { reader: readerOf({ state, ...ran }), stream: "s", now_ms: T0 + booth.now };
  const rises = risesIn(source, "meter", { start: T0, end: T0 + booth.now }).map(({ rise }) => Math.round(rise * 10));
  expect(rises.reduce((sum, rise) => sum + rise, 0)).toBe(state.counters["meter"]?.total_steps);
  expect(rises.filter((rise) => rise > 0)).toEqual([10, 10, 10, 10]);
});
