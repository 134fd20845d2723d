import { describe, expect, it } from "vitest";
import { cyclesDiffer, timeDiffers } from "../../src/derivation/checks/checks.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, forget, poll, put, script, type Script, silence, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, withFilters } from "../support/parameters.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const FILTERED = withFilters(
  { exhaust_filter: { limits: { minutes: 5000 } } },
  { exhaust: minutesTag("exhaust_filter") },
);

interface Mismatch {
  readonly check: string;
  readonly at: number;
}

function mismatches(booth: Script, parameters: Parameters = FILTERED): Mismatch[] {
  return valuesOf(fold(booth.entries, parameters).facts, "i")
    .filter(({ check }) => check.endsWith("mismatch"))
    .map(({ check, first_seen_at }) => ({ check, at: first_seen_at - T0 }));
}

/** Reads and logs every value once more. */
function heartbeat(booth: Script): void {
  const values = { ...booth.values };
  forget(booth);
  poll(booth, values);
}

/** Plays a day of idle in which the counters rise by these amounts, and an hour more. */
function idleDay(by: { cycles?: number; meter?: number; exhaust?: number }): Script {
  const booth = script(FILTERED);
  const cycles = by.cycles ?? 0;
  const meter = by.meter ?? 0;
  const exhaust = by.exhaust ?? 0;
  stay(booth, HOUR_MS, { mode: 1, cycles: 10, meter: 100, exhaust: 100 });
  for (let part = 1; part <= 20; part += 1) {
    const share = (total: number): number => Math.round(((total * part) / 20) * 10) / 10;
    stay(booth, HOUR_MS, {
      cycles: 10 + Math.floor((cycles * part) / 20),
      meter: 100 + share(meter),
      exhaust: 100 + share(exhaust),
    });
  }
  stay(booth, 4 * HOUR_MS);
  heartbeat(booth);
  return booth;
}

describe("the daily comparison of PLC counts and derived counts", () => {
  it.each([
    [DAY_MS + 15 * MINUTE_MS - 1, []],
    [DAY_MS + 15 * MINUTE_MS, [DAY_MS + 15 * MINUTE_MS]],
    [DAY_MS + 15 * MINUTE_MS + 1, [DAY_MS + 15 * MINUTE_MS + 1]],
  ])("runs 15 min after the end of the day (last record at %i ms, mismatches reported at %j ms)", (last, at) => {
    const booth = lived(FILTERED, [HOUR_MS, { mode: 1, cycles: 10 }], [HOUR_MS, { cycles: 11 }]);
    live(booth, [DAY_MS - 3 * HOUR_MS, { cycles: 12 }], [last - DAY_MS + HOUR_MS]);
    heartbeat(booth);
    expect(mismatches(booth).map((one) => one.at)).toEqual(at);
  });

  it("waits for the end of a gap that spans midnight, and ignores the counters' rise over the gap", () => {
    const booth = script(FILTERED);
    live(booth, [23 * HOUR_MS, { mode: 1, cycles: 10, meter: 100, exhaust: 100 }], [MINUTE_MS, { cycles: 13 }]);
    silence(booth, 2 * HOUR_MS);
    // Time passes, and the day with it.
    put(booth, { kind: "h", value: { group: "fast", from: 0, to: 0, polls: 0, max_interval_ms: 0 } });
    expect(mismatches(booth)).toEqual([]);
    live(booth, { gap_ms: 2 * HOUR_MS }, [HOUR_MS, { mode: 1, cycles: 14, meter: 300, exhaust: 100 }]);
    heartbeat(booth);
    expect(new Set(mismatches(booth).map(({ check }) => check))).toEqual(new Set(["cycle_mismatch"]));
  });

  it.each([
    [{ cycles: 1, meter: 5.1, exhaust: 6 }, []],
    [{ meter: 5.2 }, ["runtime_mismatch"]],
    [{ cycles: 2, meter: 5.2, exhaust: 6.1 }, ["cycle_mismatch", "runtime_mismatch", "filter_mismatch"]],
  ])("reports, for an idle day in which the counters rise by %j, the mismatches %j", (by, checks) => {
    expect(mismatches(idleDay(by)).map(({ check }) => check)).toEqual(checks);
  });

  it("counts from zero each day", () => {
    const booth = lived(FILTERED, [HOUR_MS, { mode: 1, cycles: 10 }], [HOUR_MS, { cycles: 11 }], [DAY_MS, {}]);
    heartbeat(booth);
    live(booth, [HOUR_MS, { cycles: 12 }], [DAY_MS, {}]);
    heartbeat(booth);
    expect(mismatches(booth)).toEqual([]);
  });
});

describe("the daily comparison of PLC counts and derived counts", () => {
  it("skips filters that were changed or configured during the day", () => {
    const later = withFilters(
      { ...FILTERED.filters, pre_filter: { limits: { minutes: 5000 } } },
      { exhaust: minutesTag("exhaust_filter"), pre: minutesTag("pre_filter") },
    );
    const booth = lived(FILTERED, [8 * HOUR_MS, { mode: 1, cycles: 10, meter: 100, exhaust: 400, pre: 0 }]);
    put(booth, { kind: "p", value: later });
    heartbeat(booth);
    live(booth, [8 * HOUR_MS, { exhaust: 0 }], [10 * HOUR_MS]);
    heartbeat(booth);
    expect(mismatches(booth)).toEqual([]);
  });

  it("reports times in minutes and gives the reason as a sentence", () => {
    const booth = lived(FILTERED, [HOUR_MS, { mode: 1, cycles: 10, meter: 100, exhaust: 100 }]);
    live(booth, [HOUR_MS, { mode: 3, meter: 130.5, exhaust: 120 }], [DAY_MS, { mode: 1, cycles: 14 }]);
    heartbeat(booth);
    const told = valuesOf(fold(booth.entries, FILTERED).facts, "i").filter(({ check }) => check.endsWith("mismatch"));
    expect(told.map(({ tag_name, logic, reason }) => [tag_name, logic["plc"], logic["derived"], reason])).toEqual([
      ["cycles", 4, 1, "over the day the PLC counted 4, 1 were derived"],
      ["meter", 30.5, 60, "over the day the PLC counted 30.5, 60 were derived"],
      ["exhaust_filter", 20, 60, "over the day the PLC counted 20, 60 were derived"],
    ]);
  });
});

/** Limit: max(1, 5 %) of the larger count. */
it.each([
  [1, 0, false],
  [2, 0, true],
  [0, 1, false],
  [0, 2, true],
  [20, 19, false],
  [20, 18, true],
  [40, 38, false],
  [40, 37, true],
  [38, 40, false],
  [37, 40, true],
])("%i cycles counted by the PLC and %i derived cycles are a mismatch: %s", (plc, derived, is) => {
  expect(cyclesDiffer(plc, derived)).toBe(is);
});

/** Limit: max(2 %, 5 min) of the larger time, and one step of the meter. */
it.each([
  [HOUR_MS, -300_000 - 6000 + 1, false],
  [HOUR_MS, -300_000 - 6000, false],
  [HOUR_MS, -300_000 - 6000 - 1, true],
  [10 * HOUR_MS, -720_000 - 6000 + 1, false],
  [10 * HOUR_MS, -720_000 - 6000, false],
  [10 * HOUR_MS, -720_000 - 6000 - 1, true],
])("%i ms by the PLC's meter and a derived time that differs by %i ms are a mismatch: %s", (plc, by, is) => {
  expect(timeDiffers(plc, plc + by, 6000)).toBe(is);
  expect(timeDiffers(plc + by, plc, 6000)).toBe(is);
});
