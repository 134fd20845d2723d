import { expect, it } from "vitest";
import { risesIn } from "../../src/reports/hours.ts";
import { put, run, script, stay, T0 } from "../support/booth.ts";
import { lived } from "../support/lives.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { readerOf, sourceOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

it("a counter's rise over hours of silence counts at the first reading after the silence", () => {
  const booth = lived(PARAMETERS, [10 * MINUTE_MS, { mode: 3, cycles: 100 }]);
  booth.now += 4 * HOUR_MS;
  const back = booth.now;
  stay(booth, 10 * MINUTE_MS, { mode: 3, cycles: 104 });
  const source = sourceOf(booth, PARAMETERS);
  const span = { start: T0 + 4 * HOUR_MS, end: T0 + 5 * HOUR_MS };
  expect(risesIn(source, "cycles", span)).toEqual([{ at: T0 + back, rise: 4 }]);
});

it("risesIn counts wraps and resets of a counter, but no implausible jump", () => {
  const booth = script(PARAMETERS);
  for (const cycles of [65_534, 65_535, 0, 2, 900, 1]) stay(booth, 20 * MINUTE_MS, { mode: 3, cycles });
  const source = sourceOf(booth, PARAMETERS);
  const rises = risesIn(source, "cycles", { start: T0, end: T0 + booth.now });
  // A rise from 2 to 900 in 20 min counts nothing; after the reset, 1 can have been counted from 0.
  expect(rises.map(({ rise }) => rise)).toEqual([1, 1, 2, 0, 1]);
});

it("risesIn returns the same rises as the derivation while corrected time stands still", () => {
  const booth = lived(PARAMETERS, [20 * MINUTE_MS, { mode: 3, meter: 1_000 }]);
  put(booth, { kind: "t", value: { wall: T0 + booth.now - 5 * MINUTE_MS, state: "synced", witness: "kernel" } });
  for (let minute = 1; minute <= 4; minute += 1) stay(booth, MINUTE_MS, { meter: 1_000 + minute });
  stay(booth, 10 * MINUTE_MS, { mode: 4 });
  const { state, ...ran } = run(booth, PARAMETERS);
  const source = { reader: readerOf({ state, ...ran }), stream: "s", now_ms: T0 + booth.now };
  const rises = risesIn(source, "meter", { start: T0, end: T0 + booth.now }).map(({ rise }) => Math.round(rise * 10));
  expect(rises.reduce((sum, rise) => sum + rise, 0)).toBe(state.counters["meter"]?.total_steps);
  expect(rises.filter((rise) => rise > 0)).toEqual([10, 10, 10, 10]);
});
