import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { IncidentFact } from "../../src/domain/record.ts";
import { fold, forget, poll, put, script, silence, stay, T0, valuesOf, type Script } from "../support/booth.ts";
import { tag, SENSED } from "../support/parameters.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

const ALL: Parameters = { ...SENSED, tags: { ...SENSED.tags, fan: tag("fan_speed", "%", { group: "slow" }) } };

function found(booth: Script, check: string, parameters: Parameters = ALL): IncidentFact["value"][] {
  return valuesOf(fold(booth.entries, parameters, [6]).facts, "i").filter((one) => one.check === check);
}

/** Last instant at which it was wrong, and when it was resolved, in minutes since the start. */
function ends(booth: Script, check: string, parameters: Parameters = ALL): number[] {
  return found(booth, check, parameters).flatMap(({ resolved_at }) =>
    resolved_at === null ? [] : [Math.round((resolved_at - T0) / MINUTE_MS)],
  );
}

describe("a sensor that is stuck", () => {
  function stuck(value: number): Script {
    const booth = script(ALL);
    stay(booth, 40 * MINUTE_MS, { mode: 3, air: value });
    forget(booth);
    stay(booth, MINUTE_MS, { mode: 3, air: value });
    return booth;
  }

  it.each([
    ["stuck", 21, { op: "stuck", duration_minutes: 30, in_use_only: true }],
    ["non_zero", 0, { op: "non_zero", min_count: 1, in_use_only: true, duration_minutes: 30 }],
  ])("%s says by what rule", (check, value, logic) => {
    const booth = stuck(value);
    stay(booth, MINUTE_MS);
    expect(found(booth, check)[0]?.logic).toEqual(logic);
  });

  it("is well again after ten values that differ", () => {
    const booth = stuck(21);
    for (let turn = 1; turn <= 12; turn += 1) stay(booth, 5000, { air: 21 + turn });
    stay(booth, MINUTE_MS);
    expect(ends(booth, "stuck")).toEqual([42]);
  });
});

describe("what acquisition refused goes on until a good value comes, and 10 min longer", () => {
  it.each(["sentinel", "between"])("%s", (event) => {
    const booth = script(ALL);
    stay(booth, MINUTE_MS, { mode: 1, air: 20 });
    put(booth, { kind: "e", value: { event, detail: "refused", tag: "air" } });
    stay(booth, 30 * MINUTE_MS, { air: null });
    stay(booth, 30 * MINUTE_MS, { air: 21 });
    expect(ends(booth, event)).toEqual([41]);
  });

  it("another check of the same tag doesn't", () => {
    const booth = script(ALL);
    stay(booth, MINUTE_MS, { mode: 1, air: 20 });
    put(booth, { kind: "e", value: { event: "torn", detail: "refused", tag: "air" } });
    stay(booth, 30 * MINUTE_MS, { air: null });
    stay(booth, 30 * MINUTE_MS, { air: 21 });
    expect(ends(booth, "torn")).toEqual([11]);
  });
});

it("a code that isn't mapped is wrong as long as it is read", () => {
  const booth = script(ALL);
  stay(booth, 30 * MINUTE_MS, { mode: 77 });
  silence(booth, HOUR_MS);
  forget(booth);
  stay(booth, MINUTE_MS, { mode: 1 });
  expect(ends(booth, "unmapped")).toEqual([40]);
});

describe("contradictions", () => {
  it("a bake that was cold in its first minutes only is none", () => {
    const booth = script(ALL);
    for (let minute = 0; minute < 15; minute += 1) stay(booth, MINUTE_MS, { mode: 6, air: 20 + minute });
    stay(booth, 20 * MINUTE_MS, { air: 60 });
    expect(found(booth, "cross")).toEqual([]);
  });

  /** The fan stands while the burner is on, for two minutes. */
  function standing(): Script {
    const booth = script(ALL);
    for (let turn = 0; turn < 12; turn += 1) {
      poll(booth, { fan: 0 }, "slow");
      stay(booth, 10_000, { mode: 1, burner: true });
    }
    return booth;
  }

  it("ten good readings end one", () => {
    const booth = standing();
    for (let turn = 0; turn < 12; turn += 1) {
      poll(booth, { fan: 50 + turn }, "slow");
      stay(booth, 5000);
    }
    expect(ends(booth, "cross")).toEqual([3]);
  });

  it("a fan that isn't read any more doesn't keep one up", () => {
    const booth = standing();
    stay(booth, HOUR_MS);
    const [end = NaN] = ends(booth, "cross");
    expect(end).toBeGreaterThanOrEqual(12);
    expect(end).toBeLessThanOrEqual(13);
  });

  it("of two bays that bake the one that is in it longer counts", () => {
    const bays: Parameters = {
      ...ALL,
      tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }), air: tag("air_temperature", "C") },
    };
    const booth = script(bays);
    stay(booth, 20 * MINUTE_MS, { left: 6, right: 1, air: 30 });
    stay(booth, MINUTE_MS, { right: 6, air: 31 });
    stay(booth, MINUTE_MS, { air: 32 });
    expect(found(booth, "cross", bays)).toHaveLength(1);
  });
});

describe("the gateway's clock", () => {
  it("says by what rule", () => {
    const booth = script(ALL);
    stay(booth, MINUTE_MS, { mode: 1 });
    put(booth, { kind: "t", value: { wall: T0, state: "stepped" } });
    stay(booth, MINUTE_MS);
    expect(found(booth, "clock_skew")[0]?.logic).toEqual({ op: "clock_skew", max_seconds: 2 });
  });

  it("one that nobody vouches for has not been put", () => {
    const booth = script(ALL);
    stay(booth, MINUTE_MS, { mode: 1 });
    put(booth, { kind: "t", value: { wall: T0 + HOUR_MS, state: "unsynced" } });
    stay(booth, MINUTE_MS);
    expect(found(booth, "clock_skew")).toEqual([]);
  });
});
