import { describe, expect, it } from "vitest";
import type { TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, forget, poll, put, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { SENSED, tag } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const SLOW_FAN: Parameters = { ...SENSED, tags: { ...SENSED.tags, fan: tag("fan_speed", "%", { group: "slow" }) } };

/** Returns start and last occurrence of each incident, ms since the start; null while it is open. */
function seen(
  booth: Script,
  parameters = SENSED,
  sizes: readonly number[] = [6],
): (readonly [number, number | null])[] {
  const facts = valuesOf(fold(booth.entries, parameters, sizes).facts, "i").filter(({ check }) => check === "cross");
  const opened = facts.filter(({ resolved_at }) => resolved_at === null).map(({ first_seen_at }) => first_seen_at);
  return opened.map((first) => {
    const end = facts.find(({ first_seen_at, resolved_at }) => first_seen_at === first && resolved_at !== null);
    return [first - T0, end === undefined ? null : end.last_seen_at - T0];
  });
}

const firstSeen = (booth: Script, parameters = SENSED): number[] => seen(booth, parameters).map(([first]) => first);

/** Plays these values for `ms`, then values without a contradiction. */
function shown(ms: number, values: Record<string, TagValue>, after: Record<string, TagValue>): Script {
  const booth = lived(SENSED, [ms, values], [MINUTE_MS, after]);
  return booth;
}

describe("the cross-check for a cold bake (20 min allowed for warm-up)", () => {
  const DUE = 20 * MINUTE_MS;
  it.each([
    [DUE + 14_999, 39.9, []],
    [DUE + 15_000, 39.9, []],
    [DUE + 15_001, 39.9, [DUE + 15_000]],
    [30 * MINUTE_MS, 40, []],
    [30 * MINUTE_MS, 40.1, []],
  ])("after a bake of %i ms at %f °C reports contradictions at %j ms", (ms, air, expected) => {
    const booth = lived(SENSED, [DUE, { mode: 6, air, fan: 100 }]);
    forget(booth);
    live(booth, [ms - DUE, { air }], [MINUTE_MS, { air: 50 }]);
    expect(firstSeen(booth)).toEqual(expected);
  });
});

describe("the cross-check for fans in spray (60 s allowed for the start)", () => {
  it.each([
    [60_000, 0.9, []],
    [60_001, 0.9, [60_000]],
    [60_002, 0.9, [60_000]],
    [90_000, 1, []],
    [90_000, 1.1, []],
  ])("after a spray of %i ms with fans at %f percent reports contradictions at %j ms", (ms, fan, expected) => {
    expect(firstSeen(shown(ms, { mode: 3, air: 20, fan }, { fan: 100 }))).toEqual(expected);
  });

  it("allows 60 s without fans even if the fans stop during spray", () => {
    const booth = lived(SENSED, [10 * MINUTE_MS, { mode: 3, fan: 100 }], [30_000, { fan: 0 }]);
    stay(booth, 10 * MINUTE_MS, { fan: 100 });
    expect(firstSeen(booth)).toEqual([]);
  });
});

describe("the cross-check for a burner without airflow", () => {
  it.each([
    [14_999, 0.9, true, []],
    [15_000, 0.9, true, []],
    [15_001, 0.9, true, [15_000]],
    [15_001, 1, true, []],
    [15_001, 1.1, true, []],
    [15_001, 0.9, false, []],
    [15_001, 0, 1, [15_000]],
  ])(
    "after %i ms with fans at %f percent and burner %s reports contradictions at %j ms",
    (...[ms, fan, burner, expected]) => {
      expect(firstSeen(shown(ms, { mode: 1, fan, burner }, { fan: 100 }))).toEqual(expected);
    },
  );
});

describe("the cross-check for an open door in bake (2 min allowed)", () => {
  it.each([
    [2 * MINUTE_MS - 1, 6, []],
    [2 * MINUTE_MS, 6, []],
    [2 * MINUTE_MS + 1, 6, [2 * MINUTE_MS]],
    [3 * MINUTE_MS, 3, []],
  ])("after %i ms with an open door in mode code %i reports contradictions at %j ms", (ms, mode, expected) => {
    expect(firstSeen(shown(ms, { mode, fan: 100, door: true }, { door: false }))).toEqual(expected);
  });

  it("restarts the allowed time after the door was shut", () => {
    const booth = shown(90_000, { mode: 6, fan: 100, door: true }, { door: false });
    live(booth, [90_000, { door: true }], [5000, { door: false }]);
    expect(seen(booth)).toEqual([]);
  });
});

describe("the cross-check of two tags with different poll intervals", () => {
  /** Reads the burner each second, and the fan `lag` ms after it started. */
  function started(lag: number, burner_ms: number): Script {
    const booth = script(SLOW_FAN);
    poll(booth, { fan: 0 }, "slow");
    stay(booth, 10_000, { mode: 1, burner: false });
    poll(booth, {}, "slow");
    live(booth, [burner_ms, { mode: 3 }], [lag, { burner: true }]);
    poll(booth, { fan: 100 }, "slow");
    for (let turn = 0; turn < 6; turn += 1) {
      stay(booth, 10_000);
      poll(booth, {}, "slow");
    }
    return booth;
  }

  it.each([
    [1, []],
    [10_000, []],
    [15_001, []],
    [29_999, []],
    [30_000, []],
  ])("reports no contradiction if the fan is read %i ms after the burner starts", (lag, expected) => {
    expect(firstSeen(started(lag, 1), SLOW_FAN)).toEqual(expected);
  });

  it("reports a contradiction if the fan is still off at the next reading of the fan", () => {
    const booth = script(SLOW_FAN);
    poll(booth, { fan: 0 }, "slow");
    stay(booth, 10_000, { mode: 1, burner: false });
    for (let turn = 0; turn < 5; turn += 1) {
      poll(booth, {}, "slow");
      stay(booth, 10_000, { burner: true });
    }
    expect(firstSeen(booth, SLOW_FAN)).toEqual([40_000]);
  });

  it("reports no contradiction if the fan is no longer read", () => {
    const booth = script(SLOW_FAN);
    poll(booth, { fan: 0 }, "slow");
    live(booth, [10_000, { mode: 1, burner: false }], [5 * MINUTE_MS, { burner: true }]);
    expect(seen(booth, SLOW_FAN)).toEqual([]);
  });
});

it("a contradiction stays open without further readings until it ends, whatever the commit size", () => {
  const booth = shown(45 * MINUTE_MS, { mode: 1, fan: 0, burner: true }, { burner: false });
  stay(booth, 20 * MINUTE_MS, { mode: 0 });
  const [one, ...more] = seen(booth);
  expect(more).toEqual([]);
  expect(one?.[0]).toBe(15_000);
  // The last coverage before the reading that ends it is at most a commit old.
  expect(45 * MINUTE_MS - (one?.[1] ?? 0)).toBeLessThanOrEqual(MINUTE_MS);
  expect(seen(booth, SENSED, [1]).map(([first]) => first)).toEqual([15_000]);
  expect(seen(booth, SENSED, [50]).map(([first]) => first)).toEqual([15_000]);
});

it("a clock correction by an hour does not lengthen a contradiction", () => {
  const booth = lived(SENSED, [10_000, { mode: 1, fan: 0, burner: true }]);
  put(booth, { kind: "t", value: { wall: T0 + 60 * MINUTE_MS + booth.now, state: "synced", witness: "service" } });
  stay(booth, 4000);
  forget(booth);
  stay(booth, MINUTE_MS, { mode: 1, fan: 0, burner: false });
  expect(seen(booth)).toEqual([]);
});
