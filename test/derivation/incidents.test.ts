import { describe, expect, it } from "vitest";
import type { TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, forget, poll, put, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { SENSED } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

interface Found {
  readonly check: string;
  readonly tag: string;
  /** Minutes since the start. */
  readonly from: number;
  readonly to: number | null;
}

/** Returns the last fact of each incident. */
function found(booth: Script, parameters: Parameters = SENSED): Found[] {
  const facts = valuesOf(fold(booth.entries, parameters, [6]).facts, "i");
  const last = new Map(facts.map((one) => [`${one.check} ${one.tag_name} ${one.first_seen_at}`, one]));
  return [...last.values()].map(({ check, tag_name, first_seen_at, resolved_at }) => ({
    check,
    tag: tag_name,
    from: (first_seen_at - T0) / MINUTE_MS,
    to: resolved_at === null ? null : (resolved_at - T0) / MINUTE_MS,
  }));
}

function checks(booth: Script, parameters: Parameters = SENSED): string[] {
  return [...new Set(found(booth, parameters).map(({ check }) => check))];
}

it.each([
  [-51, true],
  [-50, false],
  [-49, false],
  [399, false],
  [400, false],
  [401, true],
])("between: %i C is an incident: %s", (air, is) => {
  const booth = lived(SENSED, [MINUTE_MS, { mode: 1, air: 20 }], [MINUTE_MS, { air }]);
  expect(checks(booth)).toEqual(is ? ["between"] : []);
});

describe("sensors that don't live", () => {
  it("time that isn't in use doesn't count, and another value begins anew", () => {
    const booth = lived(SENSED, [2 * HOUR_MS, { mode: 1, air: 21, fan: 100 }]);
    heartbeat(booth, { air: 21 });
    live(booth, [20 * MINUTE_MS, { mode: 3, air: 22 }], [20 * MINUTE_MS, { air: 23 }]);
    heartbeat(booth, { air: 23 });
    stay(booth, 5000, {});
    expect(checks(booth)).toEqual([]);
  });
});

/** Logs the values although they did not change. */
function heartbeat(booth: Script, values: Record<string, TagValue>): void {
  forget(booth);
  poll(booth, values);
}

describe("transition", () => {
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
  ])("from code %i to %i is in the graph: %s", (from, to, is) => {
    const booth = lived(SENSED, [2 * MINUTE_MS, { mode: from, fan: 100 }], [2 * MINUTE_MS, { mode: to }], [5000, {}]);
    expect(checks(booth).includes("transition")).toBe(!is);
  });
});

it("a clock that is put, a zone that nobody knows, and what acquisition saw are incidents", () => {
  const booth = lived({ ...SENSED, tz: "Mars/Olympus" }, [MINUTE_MS, { mode: 1 }]);
  put(booth, { kind: "t", value: { wall: T0 + HOUR_MS, state: "stepped" } });
  put(booth, { kind: "e", value: { event: "identity", detail: "another serial", tag: "serial" } });
  put(booth, { kind: "e", value: { event: "all_zero", detail: "every register is 0", tag: "" } });
  stay(booth, MINUTE_MS, {});
  expect(checks(booth).sort()).toEqual(["all_zero", "clock_skew", "config_tz", "identity"]);
});
