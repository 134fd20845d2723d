import { describe, expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { IncidentFact } from "../../src/domain/record.ts";
import { forget, poll, put, script, type Script, stay, T0 } from "../support/booth.ts";
import { incidentsOf, live, lived } from "../support/lives.ts";
import { SENSED, tag } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const ALL: Parameters = { ...SENSED, tags: { ...SENSED.tags, fan: tag("fan_speed", "%", { group: "slow" }) } };

function found(booth: Script, check: string, parameters: Parameters = ALL): IncidentFact["value"][] {
  return incidentsOf(booth, parameters, check);
}

/** Returns the minutes since the start at which incidents of the check were resolved. */
function ends(booth: Script, check: string, parameters: Parameters = ALL): number[] {
  return found(booth, check, parameters).flatMap(({ resolved_at }) =>
    resolved_at === null ? [] : [Math.round((resolved_at - T0) / MINUTE_MS)],
  );
}

describe("a sensor with a constant value", () => {
  function stuck(value: number): Script {
    const booth = lived(ALL, [40 * MINUTE_MS, { mode: 3, air: value }]);
    forget(booth);
    stay(booth, MINUTE_MS, { mode: 3, air: value });
    return booth;
  }

  it.each([
    ["stuck", 21, { op: "stuck", duration_minutes: 30, in_use_only: true }],
    ["non_zero", 0, { op: "non_zero", min_count: 1, in_use_only: true, duration_minutes: 30 }],
  ])("opens an incident of the check %s with the check's rule", (check, value, logic) => {
    const booth = stuck(value);
    stay(booth, MINUTE_MS);
    expect(found(booth, check)[0]?.logic).toEqual(logic);
  });

  it("is resolved after ten different values", () => {
    const booth = stuck(21);
    for (let turn = 1; turn <= 12; turn += 1) stay(booth, 5000, { air: 21 + turn });
    stay(booth, MINUTE_MS);
    expect(ends(booth, "stuck")).toEqual([42]);
  });
});

describe("a value that acquisition rejects", () => {
  it.each(["sentinel", "between"])(
    "opens an incident of the check %s, which is resolved 10 min after the first good value",
    (event) => {
      const booth = lived(ALL, [MINUTE_MS, { mode: 1, air: 20 }]);
      put(booth, { kind: "e", value: { event, detail: "refused", tag: "air" } });
      live(booth, [30 * MINUTE_MS, { air: null }], [30 * MINUTE_MS, { air: 21 }]);
      expect(ends(booth, event)).toEqual([41]);
    },
  );

  it("opens, if torn, an incident that is resolved after 10 min even without a good value", () => {
    const booth = lived(ALL, [MINUTE_MS, { mode: 1, air: 20 }]);
    put(booth, { kind: "e", value: { event: "torn", detail: "refused", tag: "air" } });
    live(booth, [30 * MINUTE_MS, { air: null }], [30 * MINUTE_MS, { air: 21 }]);
    expect(ends(booth, "torn")).toEqual([11]);
  });
});

it("an unmapped mode code keeps its incident open for as long as the code is read", () => {
  const booth = lived(ALL, [30 * MINUTE_MS, { mode: 77 }], { gap_ms: HOUR_MS }, [MINUTE_MS, { mode: 1 }]);
  expect(ends(booth, "unmapped")).toEqual([40]);
});

describe("a contradiction between readings", () => {
  it("is not reported for a bake that is cold only in its first 15 minutes", () => {
    const booth = script(ALL);
    for (let minute = 0; minute < 15; minute += 1) stay(booth, MINUTE_MS, { mode: 6, air: 20 + minute });
    stay(booth, 20 * MINUTE_MS, { air: 60 });
    expect(found(booth, "cross")).toEqual([]);
  });

  /** Plays two minutes with the burner on and the fan off. */
  function standing(): Script {
    const booth = script(ALL);
    for (let turn = 0; turn < 12; turn += 1) {
      poll(booth, { fan: 0 }, "slow");
      stay(booth, 10_000, { mode: 1, burner: true });
    }
    return booth;
  }

  it("is resolved after ten readings without the contradiction", () => {
    const booth = standing();
    for (let turn = 0; turn < 12; turn += 1) {
      poll(booth, { fan: 50 + turn }, "slow");
      stay(booth, 5000);
    }
    expect(ends(booth, "cross")).toEqual([3]);
  });

  it("is resolved if the PLC's fan speed is no longer read", () => {
    const booth = standing();
    stay(booth, HOUR_MS);
    const [end = NaN] = ends(booth, "cross");
    expect(end).toBeGreaterThanOrEqual(12);
    expect(end).toBeLessThanOrEqual(13);
  });

  it("is reported for a cold bake if one bay has baked long enough, even if the other bay has just started", () => {
    const bays: Parameters = {
      ...ALL,
      tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }), air: tag("air_temperature", "C") },
    };
    const booth = lived(bays, [20 * MINUTE_MS, { left: 6, right: 1, air: 30 }], [MINUTE_MS, { right: 6, air: 31 }]);
    stay(booth, MINUTE_MS, { air: 32 });
    expect(found(booth, "cross", bays)).toHaveLength(1);
  });
});

describe("the gateway's clock", () => {
  it("opens an incident with the check's rule if the clock is corrected", () => {
    const booth = lived(ALL, [MINUTE_MS, { mode: 1 }]);
    put(booth, { kind: "t", value: { wall: T0, state: "stepped" } });
    stay(booth, MINUTE_MS);
    expect(found(booth, "clock_skew")[0]?.logic).toEqual({ op: "clock_skew", max_seconds: 2 });
  });

  it("opens no incident while the clock is unconfirmed, even if the clock is an hour off", () => {
    const booth = lived(ALL, [MINUTE_MS, { mode: 1 }]);
    put(booth, { kind: "t", value: { wall: T0 + HOUR_MS, state: "unsynced" } });
    stay(booth, MINUTE_MS);
    expect(found(booth, "clock_skew")).toEqual([]);
  });
});
