import { describe, expect, it } from "vitest";
import type { TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { forget, poll, put, run, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { SENSED } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

/** Returns the start of each incident of the check, ms since the start of the script. */
function firstSeen(booth: Script, check: string, parameters: Parameters = SENSED): number[] {
  const facts = valuesOf(run(booth, parameters).facts, "i").filter((one) => one.check === check);
  return [...new Set(facts.map(({ first_seen_at }) => first_seen_at - T0))];
}

/** Plays `ms` with these values, then reads the same values once more at that very instant. */
function again(ms: number, values: Record<string, TagValue>): Script {
  const booth = lived(SENSED, [ms, values]);
  forget(booth);
  poll(booth, values);
  booth.now += 1;
  stay(booth, 5000);
  return booth;
}

function checksOf(booth: Script): string[] {
  return [...new Set(valuesOf(run(booth, SENSED).facts, "i").map(({ check }) => check))];
}

describe("the check dwell (a mode lasts too long)", () => {
  it.each([
    [3, 12 * HOUR_MS - 1, 0],
    [3, 12 * HOUR_MS, 0],
    [3, 12 * HOUR_MS + 1, 1],
    [6, 4 * HOUR_MS - 1, 0],
    [6, 4 * HOUR_MS, 0],
    [6, 4 * HOUR_MS + 1, 1],
    [1, 13 * HOUR_MS, 0],
  ])("reports mode code %i, after a duration of %i ms, as %i incident(s)", (mode, ms, count) => {
    const booth = lived(SENSED, [ms, { mode }], [MINUTE_MS, { mode: 0 }]);
    expect(firstSeen(booth, "dwell")).toHaveLength(count);
  });

  it.each([
    [59_999, 6, 1],
    [60_000, 6, 0],
    [60_001, 6, 0],
    [59_999, 3, 0],
  ])("reports a purge of %i ms followed by mode code %i as %i incident(s)", (ms, next, count) => {
    const booth = lived(SENSED, [ms, { mode: 5 }], [MINUTE_MS, { mode: next }]);
    expect(firstSeen(booth, "dwell")).toHaveLength(count);
  });
});

describe("a constant sensor value", () => {
  it.each([
    [30 * MINUTE_MS - 1, 21, "stuck", []],
    [30 * MINUTE_MS, 21, "stuck", [30 * MINUTE_MS]],
    [30 * MINUTE_MS + 1, 21, "stuck", [30 * MINUTE_MS + 1]],
    [30 * MINUTE_MS - 1, 0, "non_zero", []],
    [30 * MINUTE_MS, 0, "non_zero", [30 * MINUTE_MS]],
    [30 * MINUTE_MS + 1, 0, "non_zero", [30 * MINUTE_MS + 1]],
    [30 * MINUTE_MS, 21, "non_zero", []],
    [30 * MINUTE_MS, 0, "stuck", []],
  ])("after %i ms in use at the value %i opens incidents of the check %s at %j ms", (...[ms, air, check, seen]) => {
    expect(firstSeen(again(ms, { mode: 3, air, fan: 100 }), check)).toEqual(seen);
  });
});

describe("the gateway's clock", () => {
  it.each([
    [-2001, 1],
    [-2000, 0],
    [-1999, 0],
    [1999, 0],
    [2000, 0],
    [2001, 1],
  ])("after a correction by %i ms from a time source has %i incident(s)", (by, count) => {
    const booth = lived(SENSED, [MINUTE_MS, { mode: 1 }]);
    put(booth, { kind: "t", value: { wall: T0 + booth.now + by, state: "synced", witness: "service" } });
    stay(booth, MINUTE_MS);
    expect(firstSeen(booth, "clock_skew")).toHaveLength(count);
  });
});

describe("the check gap (silence in working hours)", () => {
  const shifts = (start: string, stop: string): Parameters => ({
    ...SENSED,
    working_hours: [{ day: "monday", enabled: true, start, stop }],
  });

  it.each([
    ["00:00:00", "01:00:00", 10 * MINUTE_MS, 300_000 - 1, 0],
    ["00:00:00", "01:00:00", 10 * MINUTE_MS, 300_000, 0],
    ["00:00:00", "01:00:00", 10 * MINUTE_MS, 300_001, 1],
    // Only the part of the silence inside the shift counts.
    ["00:00:00", "00:15:00", 10 * MINUTE_MS, HOUR_MS, 0],
    ["00:00:00", "00:15:01", 10 * MINUTE_MS, HOUR_MS, 1],
    ["02:00:00", "03:00:00", 10 * MINUTE_MS, HOUR_MS, 0],
    // Ten days without power, from Monday morning on.
    ["00:00:00", "01:00:00", 10 * MINUTE_MS, 250 * HOUR_MS, 1],
  ])(
    "reports, for the shift %s-%s and a silence from %i ms that lasts %i ms, %i incident(s)",
    (...[start, stop, from, gap, count]) => {
      const parameters = shifts(start, stop);
      const booth = lived(parameters, [from + 1, { mode: 1 }], { gap_ms: gap - 1 }, [MINUTE_MS, { mode: 1 }]);
      expect(firstSeen(booth, "gap", parameters)).toHaveLength(count);
    },
  );
});

describe("open incidents", () => {
  it.each([
    [600_000 - 1, []],
    [600_000, [600_000]],
    [600_001, [600_000]],
  ])("%i ms after the last occurrence are resolved at %j ms", (after, resolved) => {
    const booth = script(SENSED);
    put(booth, { kind: "e", value: { event: "all_zero", detail: "every register is 0", tag: "" } });
    stay(booth, after, { mode: 1 });
    poll(booth);
    const facts = valuesOf(run(booth, SENSED).facts, "i").filter(({ resolved_at }) => resolved_at !== null);
    expect(facts.map(({ resolved_at }) => (resolved_at ?? 0) - T0)).toEqual(resolved);
  });

  it.each([
    [9, 0],
    [10, 1],
    [11, 1],
  ])("after %i good readings in a row of their sensor are resolved: %i incident(s)", (good, count) => {
    const booth = lived(SENSED, [5000, { mode: 1, air: 401 }]);
    for (let turn = 0; turn < good; turn += 1) stay(booth, 5000, { air: 20 + turn });
    poll(booth);
    const facts = valuesOf(run(booth, SENSED).facts, "i").filter(({ resolved_at }) => resolved_at !== null);
    expect(facts).toHaveLength(count);
  });

  it.each([
    [99, 0],
    [100, 0],
    [101, 1],
  ])("are limited to 100, and the oldest are resolved (%i opened, %i resolved)", (open, count) => {
    const booth = script(SENSED);
    for (let turn = 0; turn < open; turn += 1) {
      put(booth, {
        kind: "e",
        value: { event: "all_zero", detail: "every register is 0", tag: `tag ${turn}` },
      });
    }
    stay(booth, 5000, { mode: 1 });
    const facts = valuesOf(run(booth, SENSED).facts, "i").filter(({ resolved_at }) => resolved_at !== null);
    expect(facts.map(({ tag_name }) => tag_name)).toEqual(count === 0 ? [] : ["tag 0"]);
  });
});

it.each([
  [-51, true],
  [-50, false],
  [-49, false],
  [399, false],
  [400, false],
  [401, true],
])("an air temperature of %i C opens an incident of the check between: %s", (air, is) => {
  const booth = lived(SENSED, [MINUTE_MS, { mode: 1, air: 20 }], [MINUTE_MS, { air }]);
  expect(checksOf(booth)).toEqual(is ? ["between"] : []);
});

describe("a stuck sensor", () => {
  it("is not reported for time outside use, and a new value restarts the timer", () => {
    const booth = lived(SENSED, [2 * HOUR_MS, { mode: 1, air: 21, fan: 100 }]);
    forget(booth);
    poll(booth, { air: 21 });
    live(booth, [20 * MINUTE_MS, { mode: 3, air: 22 }], [20 * MINUTE_MS, { air: 23 }]);
    forget(booth);
    poll(booth, { air: 23 });
    stay(booth, 5000, {});
    expect(checksOf(booth)).toEqual([]);
  });
});

describe("the check transition", () => {
  it.each([
    [3, 4, true],
    [4, 3, true],
    [4, 5, true],
    [5, 6, true],
    [6, 8, true],
    [6, 3, true],
    [8, 3, true],
    [3, 0, true],
    [6, 20, true],
    [20, 1, true],
    [21, 0, true],
    [3, 6, false],
    [4, 6, false],
    [6, 1, false],
    [20, 3, false],
    [0, 6, false],
    [3, 99, true],
  ])("accepts a change from mode code %i to code %i: %s", (from, to, is) => {
    const booth = lived(SENSED, [2 * MINUTE_MS, { mode: from, fan: 100 }], [2 * MINUTE_MS, { mode: to }], [5000, {}]);
    expect(checksOf(booth).includes("transition")).toBe(!is);
  });
});
