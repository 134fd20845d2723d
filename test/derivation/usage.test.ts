import { describe, expect, it } from "vitest";
import { usedMinutes } from "../../src/derivation/filters/installation.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, poll, put, run, script, type Script, silence, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const COUNTED = withFilters(
  { exhaust_filter: { limits: { minutes: 100 } }, pre_filter: { limits: { minutes: 100 } } },
  {
    exhaust: minutesTag("exhaust_filter"),
    pre: minutesTag("pre_filter"),
    button: tag("filter_reset", "", { filter: "exhaust_filter" }),
  },
);

/** Returns the changes of the exhaust filter: source, time, and whether the time is inferred. */
function changes(booth: Script, parameters: Parameters = COUNTED): unknown[] {
  stay(booth, 5 * MINUTE_MS, { mode: 1 });
  const facts = valuesOf(run(booth, parameters).facts, "f").filter(({ filter }) => filter === "exhaust_filter");
  return facts.map(({ source, installed_at, flagged }) => [source, installed_at - T0, flagged]);
}

const ASSUMED = ["assumed", 0, true];

describe("filter resets by the PLC", () => {
  it("a counter's fall after a button press belongs to the press, and the next fall is another filter change", () => {
    const booth = script(COUNTED);
    stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 10, button: false });
    stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 0, button: true });
    live(booth, [10 * MINUTE_MS, { mode: 3, exhaust: 20, button: false }], [10 * MINUTE_MS, { mode: 3, exhaust: 0 }]);
    expect(changes(booth)).toEqual([
      ASSUMED,
      ["plc_reset", 10 * MINUTE_MS, false],
      ["plc_reset", 30 * MINUTE_MS, false],
    ]);
  });

  it("a second button press within 10 min keeps the use counted since the first press", () => {
    const booth = script(COUNTED);
    stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 10, button: false });
    live(booth, [MINUTE_MS, { mode: 3, exhaust: 0, button: true }], [5 * MINUTE_MS, { exhaust: 5, button: false }]);
    live(booth, [MINUTE_MS, { button: true }], [MINUTE_MS, { exhaust: 6, button: false }]);
    const filter = exhaustFilter(booth, COUNTED)?.current;
    expect(filter === undefined ? null : usedMinutes(filter)).toBe(6);
  });

  it("two button presses an hour apart are two filter changes an hour apart", () => {
    const booth = script(COUNTED);
    stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 10, button: false });
    live(booth, [MINUTE_MS, { mode: 3, exhaust: 0, button: true }], [59 * MINUTE_MS, { exhaust: 5, button: false }]);
    live(booth, [MINUTE_MS, { button: true, exhaust: 0 }], [5000, { mode: 1 }]);
    expect(exhaustFilter(booth, COUNTED)?.former).toMatchObject({
      installed_at: T0 + 10 * MINUTE_MS,
      removed_at: T0 + 70 * MINUTE_MS,
    });
  });

  it.each([
    [14_999, false],
    [15_000, false],
    [15_001, true],
  ])("a reset that is read after %i ms without a poll is flagged as uncertain in time: %s", (apart, flagged) => {
    const booth = lived(COUNTED, [MINUTE_MS, { mode: 3, exhaust: 60, pre: 10 }]);
    // The last poll comes 1 ms before the end.
    booth.now += apart - 1;
    poll(booth, { exhaust: 0 });
    booth.now += 1;
    stay(booth, MINUTE_MS);
    // Eight polls make the first commit: the silence lies between two.
    const { facts } = fold(booth.entries, COUNTED, [booth.entries.findIndex((one) => one.kind === "poll") + 7]);
    const found = valuesOf(facts, "f").filter(({ source }) => source === "plc_reset");
    stay(booth, 5 * MINUTE_MS, { mode: 1 });
    const all = valuesOf(fold(booth.entries, COUNTED, [9, 1000]).facts, "f");
    expect(all.filter(({ source }) => source === "plc_reset").map((one) => one.flagged)).toEqual([flagged]);
    expect(found.length).toBeLessThanOrEqual(1);
  });
});

describe("filter use", () => {
  it("continues after the PLC lost its memory", () => {
    const booth = lived(COUNTED, [10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 10 }]);
    live(booth, [10 * MINUTE_MS, { exhaust: 3, pre: 2 }], [10 * MINUTE_MS, { exhaust: 7, pre: 7 }]);
    const { filters } = run(booth, COUNTED).state;
    const used = [filters.exhaust_filter, filters.pre_filter].map((one) =>
      one === undefined ? null : usedMinutes(one.current),
    );
    expect(used).toEqual([64, 15]);
  });

  it.each([
    [0, false],
    [HOUR_MS, true],
  ])("overuse that the counter shows after a silence of %i ms is flagged: %s", (silent, flagged) => {
    const booth = lived(COUNTED, [10 * MINUTE_MS, { mode: 3, exhaust: 90, pre: 10 }]);
    silence(booth, silent);
    live(booth, [10 * MINUTE_MS, { exhaust: 100.5, pre: 20.5 }], [5000, { mode: 1 }]);
    const [episode] = exhaustFilter(booth, COUNTED)?.current.overuse ?? [];
    expect(episode?.flagged).toBe(flagged);
  });

  it("a logged filter record with the source plc_reset does not count as a filter entry", () => {
    const booth = lived(COUNTED, [10 * MINUTE_MS, { mode: 3, exhaust: 60, pre: 10 }]);
    const value = {
      filter: "exhaust_filter",
      source: "plc_reset",
      installed_at: T0 + MINUTE_MS,
      flagged: false,
    } as const;
    put(booth, { kind: "f", value });
    expect(changes(booth)).toEqual([ASSUMED]);
  });
});
