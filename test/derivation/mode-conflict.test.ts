import { expect, it } from "vitest";
import type { Parameters } from "../../src/domain/parameters.ts";
import { fold, script, stageTexts, stay, T0 } from "../support/booth.ts";
import { incidentsOf, live, lived } from "../support/lives.ts";
import { PLAIN } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** A profile with a bit for each mode, polled every second: two polls are 2 s. */
const BITS: Parameters = {
  ...PLAIN,
  modes: { none: "idle", spray: "spray", flash: "flash", bake: "bake", fault: "fault", prep: "prep" },
};

it.each([
  ["bake & spray", 1999, []],
  ["bake & spray", 2000, []],
  ["bake & spray", 2001, [MINUTE_MS + 2000]],
  ["bake & flash & spray", 10_000, [MINUTE_MS + 2000]],
  ["fault & spray", 10_000, []],
  ["spray & prep", 10_000, []],
])("the mode bits %s, on together for %i ms, open incidents mode_conflict at %j ms", (mode, ms, seen) => {
  const booth = lived(BITS, [MINUTE_MS, { mode: "spray" }], [ms, { mode }], [MINUTE_MS, { mode: "bake" }]);
  const facts = incidentsOf(booth, BITS, "mode_conflict");
  expect(facts.map(({ first_seen_at }) => first_seen_at - T0)).toEqual(seen);
});

it('the mode with the highest priority applies if several mode bits are on, and the profile\'s mode "none" if all are off', () => {
  const booth = script(BITS);
  stay(booth, MINUTE_MS, { mode: "none" });
  live(booth, [MINUTE_MS, { mode: "bake & spray" }], [MINUTE_MS, { mode: "fault & bake & spray" }]);
  live(booth, [MINUTE_MS, { mode: "maintenance & spray" }], [MINUTE_MS, { mode: "spray" }]);
  const { facts } = fold(booth.entries, BITS, [6]);
  expect(stageTexts(facts).map((text) => text.split(" ")[0])).toEqual(["idle", "bake", "fault", "unknown"]);
});

it("the incident mode_conflict is resolved 10 min after the last conflict", () => {
  const booth = lived(BITS, [MINUTE_MS, { mode: "spray" }], [30 * MINUTE_MS, { mode: "bake & spray" }]);
  stay(booth, 30 * MINUTE_MS, { mode: "spray" });
  const facts = incidentsOf(booth, BITS, "mode_conflict");
  expect(facts).toHaveLength(2);
  const resolved = (facts[1]?.resolved_at ?? 0) - T0;
  expect(Math.abs(resolved - 41 * MINUTE_MS)).toBeLessThanOrEqual(MINUTE_MS);
});
