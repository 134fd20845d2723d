import { describe, expect, it } from "vitest";
import { correctedNow, placeBoots, syncedOffset } from "../../src/derivation/clock.ts";
import { seqOfEntry } from "../../src/derivation/filters/entries.ts";
import { step } from "../../src/derivation/fold.ts";
import { emptyState } from "../../src/derivation/state.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { ClockRecord, LogRecord, Stored } from "../../src/domain/record.ts";
import { enterFilter, MONO0, poll, run, script, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN, tag, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

function record(...[kind, boot, mono, at]: readonly ["r" | "t", string, number, number]): Stored<LogRecord> {
  const base = { seq: 1000 + mono, boot, mono, at, tag: "", quality: "good" } as const;
  const clock: ClockRecord["value"] = { wall: at, state: "unsynced" };
  return kind === "r" ? { ...base, kind, tag: "mode", value: 1 } : { ...base, kind, value: clock };
}

/** Returns the state of a synced booth after a minute of polls. */
function begun() {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 1 }]);
  return run(booth, PLAIN).state;
}

describe("a new boot", () => {
  it.each([
    [false, { synced: true, unsure: false }],
    [true, { synced: false, unsure: true }],
  ])(
    "takes its clock offset from the time that the store assigned to the boot (uncertain: %s)",
    (uncertain, expected) => {
      const offset = T0 + HOUR_MS;
      const other = { boot: "boot-3", offset: T0 + 2 * HOUR_MS, uncertain: false };
      const state = placeBoots(begun(), [{ boot: "boot-2", offset, uncertain }, other]);
      const { clock } = step(state, record("r", "boot-2", 500, 0)).state;
      expect(clock).toMatchObject({ placed: true, offset, now: offset + 500, places: [other], ...expected });
    },
  );

  it("without an assigned time takes the time of its first record, and counts as placed after a clock record", () => {
    const read = step(begun(), record("r", "boot-2", 500, T0 + HOUR_MS)).state.clock;
    expect(read).toMatchObject({ placed: false, synced: false, now: T0 + HOUR_MS });
    const told = step(begun(), record("t", "boot-2", 500, T0 + HOUR_MS)).state.clock;
    expect(told).toMatchObject({ placed: true, synced: false, now: T0 + HOUR_MS });
  });

  it.each([
    [-HOUR_MS, HOUR_MS],
    [HOUR_MS, 2 * HOUR_MS],
  ])("with a step of %i ms in its first clock record moves corrected time forward, but never back", (by, expected) => {
    const read = step(begun(), record("r", "boot-2", 500, T0 + HOUR_MS)).state;
    const { clock } = step(read, record("t", "boot-2", 600, T0 + HOUR_MS + 100 + by)).state;
    expect(clock.now).toBe(T0 + expected + 100);
  });
});

describe("the present time", () => {
  const present = (boot: string, mono: number) => ({ boot, mono: () => mono, wall: () => 77 });

  it("correctedNow uses the boot's clock offset, or else the wall clock, and is never before the last known instant", () => {
    const state = begun();
    expect(correctedNow(state, present("boot-1", MONO0 + HOUR_MS))).toBe(T0 + HOUR_MS);
    expect(correctedNow(state, present("boot-1", 5))).toBe(state.clock.now);
    expect(correctedNow(state, present("boot-2", HOUR_MS))).toBe(state.clock.now + HOUR_MS);
    const wall = T0 + 2 * HOUR_MS;
    expect(correctedNow(state, { ...present("boot-2", HOUR_MS), wall: () => wall })).toBe(wall);
    expect(correctedNow(emptyState(), present("boot-2", 5))).toBe(77);
    expect(correctedNow(undefined, present("boot-1", 5))).toBe(77);
  });

  it("syncedOffset returns an offset only for the boot whose clock was synced", () => {
    const state = begun();
    expect(syncedOffset(state, "boot-1")).toEqual({ offset: T0 - MONO0, unsure: false });
    expect(syncedOffset(state, "boot-2")).toBeNull();
    expect(syncedOffset(emptyState(), "")).toBeNull();
  });
});

describe("a booth with two bays", () => {
  const TWO: Parameters = { ...PLAIN, tags: { left: tag("mode", "", { bay: 1 }), right: tag("mode", "", { bay: 2 }) } };

  it.each([
    [3, false],
    [6, true],
  ])("has, after a gap that ends in mode code %i, a stage with is_new_start %s", (code, is_new_start) => {
    const booth = lived(TWO, [10 * MINUTE_MS, { left: 3, right: 1 }], { gap_ms: HOUR_MS });
    live(booth, [10 * MINUTE_MS, { left: code, right: 1 }], [10 * MINUTE_MS, { left: 0, right: 0 }]);
    const stages = valuesOf(run(booth, TWO).facts, "m").filter(({ bay }) => bay === 0);
    expect(stages.slice(0, 3).map((one) => [one.mode, one.end_reason, one.is_new_start])).toEqual([
      ["spray", "gap", true],
      ["no_data", "changed", true],
      [code === 3 ? "spray" : "bake", "changed", is_new_start],
    ]);
  });

  it.each([
    ["uncertain time if a proven gap is in the bay that sets the booth's mode", 6, 1, 10, 10],
    ["no uncertain time if a proven gap is in the other bay", 1, 6, 0, 0],
  ])("has %s", (...[, left, right, meter, minutes]) => {
    const bays = { left: tag("mode", "", { bay: 1, group: "slow" }), right: tag("mode", "", { bay: 2 }) };
    const { cycles, meter: hours } = PARAMETERS.tags;
    if (cycles === undefined || hours === undefined) throw new Error("no counters");
    const parameters: Parameters = { ...PLAIN, tags: { ...bays, cycles, hours } };
    const booth = script(parameters);
    poll(booth, { left }, "slow");
    stay(booth, 10_000, { right, cycles: 5, hours: 100 });
    poll(booth, {}, "slow");
    live(booth, [10 * MINUTE_MS], [1000, { hours: 100 + meter }]);
    // After a gap, every value is logged again.
    Reflect.deleteProperty(booth.values, "left");
    poll(booth, { left }, "slow");
    stay(booth, 10_000);
    poll(booth, { left: 0 }, "slow");
    stay(booth, MINUTE_MS, { right: 0 });
    poll(booth, {}, "slow");
    stay(booth, MINUTE_MS);
    const [stage] = valuesOf(run(booth, parameters).facts, "m").filter(({ bay }) => bay === 0);
    expect([stage?.mode, Math.round((stage?.uncertain_ms ?? NaN) / MINUTE_MS)]).toEqual(["bake", minutes]);
  });
});

it("seqOfEntry returns the sequence number of the record of a filter entry", () => {
  const parameters = withFilters({ exhaust_filter: { limits: {} } });
  const booth = lived(parameters, [HOUR_MS, { mode: 1 }]);
  for (const id of ["one", "two"]) {
    enterFilter(booth, 0, { ago_ms: 0, id });
    stay(booth, HOUR_MS);
  }
  const { state, records } = run(booth, parameters);
  const seqs = records.filter(({ kind }) => kind === "f").map(({ seq }) => seq);
  expect([seqOfEntry(state, "one"), seqOfEntry(state, "two"), seqOfEntry(state, "three")]).toEqual([
    ...seqs,
    undefined,
  ]);
});
