import { expect, test } from "vitest";
import { run, script, stageTexts, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { PARAMETERS, PLAIN } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

test("a stage starts at the first reading of its mode and ends at the first reading of the next mode", () => {
  const booth = lived(PLAIN, [10 * MINUTE_MS, { mode: 3 }], [5 * MINUTE_MS, { mode: 4 }], [MINUTE_MS, { mode: 3 }]);
  expect(stageTexts(run(booth, PLAIN).facts)).toEqual(["spray 0-600000", "flash 600000-900000"]);
});

test("two consecutive codes of the same mode form one stage, whose raw value is the first code", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 6 }], [MINUTE_MS, { mode: 7 }], [MINUTE_MS, { mode: 1 }]);
  const [bake] = valuesOf(run(booth, PLAIN).facts, "m");
  expect(bake).toMatchObject({ mode: "bake", raw: "6", start: T0, end: T0 + 2 * MINUTE_MS, is_new_start: true });
});

test("a stage shorter than min_stage is merged into its successor if the modes before and after differ", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], [1000, { mode: 4 }], [MINUTE_MS, { mode: 5 }]);
  stay(booth, MINUTE_MS, { mode: 1 });
  expect(stageTexts(run(booth, PLAIN).facts)).toEqual(["spray 0-60000", "purge 60000-121000"]);
});

test.each([20, 21])("a stage of code %i (fault or estop) is kept however short it is", (code) => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], [500, { mode: code }], [MINUTE_MS, { mode: 3 }]);
  stay(booth, MINUTE_MS, { mode: 1 });
  expect(valuesOf(run(booth, PLAIN).facts, "m").map(({ end, start }) => end - start)).toEqual([
    MINUTE_MS,
    500,
    MINUTE_MS,
  ]);
});

test("an unmapped mode code is unknown, keeps its raw value and opens an incident", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 77 }], [20 * MINUTE_MS, { mode: 1 }]);
  const { facts } = run(booth, PLAIN);
  expect(valuesOf(facts, "m")[0]).toMatchObject({ mode: "unknown", raw: "77" });
  expect(valuesOf(facts, "i").map(({ check, resolved_at }) => [check, resolved_at === null])).toEqual([
    ["unmapped", true],
    ["unmapped", false],
  ]);
});

test("a stage after no_data is a new start only if its mode differs from the mode before no_data", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], { gap_ms: MINUTE_MS }, [MINUTE_MS, { mode: 3 }]);
  live(booth, { gap_ms: MINUTE_MS }, [MINUTE_MS, { mode: 4 }], [MINUTE_MS, { mode: 1 }]);
  expect(valuesOf(run(booth, PLAIN).facts, "m").map(({ mode, is_new_start }) => [mode, is_new_start])).toEqual([
    ["spray", true],
    ["no_data", true],
    ["spray", false],
    ["no_data", true],
    ["flash", true],
  ]);
});

test("time in a gap that is attributed to a mode counts as uncertain", () => {
  const booth = lived(PARAMETERS, [MINUTE_MS, { mode: 6, cycles: 5, meter: 100 }], { gap_ms: 40 * MINUTE_MS });
  live(booth, [MINUTE_MS, { mode: 6, cycles: 5, meter: 140 }], [MINUTE_MS, { mode: 8 }]);
  expect(valuesOf(run(booth, PARAMETERS).facts, "m")[0]).toMatchObject({
    mode: "bake",
    uncertain_ms: 40 * MINUTE_MS + 1,
  });
});

test("time with bad mode readings is no_data", () => {
  const booth = lived(PLAIN, [MINUTE_MS, { mode: 3 }], [MINUTE_MS, { mode: null }], [MINUTE_MS, { mode: 3 }]);
  stay(booth, MINUTE_MS, { mode: 1 });
  expect(stageTexts(run(booth, PLAIN).facts)).toEqual(["spray 0-60000", "no_data 60000-120000", "spray 120000-180000"]);
});

test("a PLC restart during a run ends the stage at the last good reading", () => {
  const booth = script(PARAMETERS);
  live(booth, [10 * MINUTE_MS, { mode: 3, cycles: 5, meter: 100, uptime: 5000 }], { gap_ms: MINUTE_MS });
  live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 101, uptime: 12 }], [5 * MINUTE_MS, { mode: 1 }]);
  const { facts } = run(booth, PARAMETERS);
  expect(valuesOf(facts, "m").map(({ mode, end_reason }) => [mode, end_reason])).toEqual([
    ["spray", "restart"],
    ["no_data", "changed"],
    ["spray", "changed"],
  ]);
  expect(valuesOf(facts, "c")[0]).toMatchObject({
    result: "aborted",
    reason: "plc_restart",
    end: T0 + 10 * MINUTE_MS - 1,
  });
});

test("a PLC restart within the bridge (a short gap) does not end the stage if mode and counters are kept", () => {
  const booth = script(PARAMETERS);
  live(booth, [10 * MINUTE_MS, { mode: 3, cycles: 5, meter: 100, uptime: 5000 }], { gap_ms: 14_000 });
  live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 100.2, uptime: 3 }], [5 * MINUTE_MS, { mode: 1 }]);
  expect(valuesOf(run(booth, PARAMETERS).facts, "m").map(({ mode }) => mode)).toEqual(["spray"]);
});
