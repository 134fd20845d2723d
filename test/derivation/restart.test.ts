import { describe, expect, it } from "vitest";
import type { TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { run, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { live } from "../support/lives.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const SCANNED: Parameters = { ...PARAMETERS, tags: { ...PARAMETERS.tags, first: tag("first_scan") } };

/** Returns each stage as text: mode, start and end in minutes, end reason, inferred minutes. */
function stages(booth: Script, parameters: Parameters = SCANNED): unknown[] {
  live(booth, [10 * MINUTE_MS, { mode: 0 }], [MINUTE_MS, { mode: 1 }]);
  const seen = valuesOf(run(booth, parameters).facts, "m").filter(({ mode }) => mode !== "off");
  return seen.map(({ mode, start, end, end_reason, uncertain_ms }) =>
    [mode, ...[start, end].map((at) => Math.round((at - T0) / MINUTE_MS)), end_reason, uncertain_ms / MINUTE_MS].join(
      " ",
    ),
  );
}

/** Plays ten minutes in a mode, a silence, and the readings after it. */
function back(mode: number, silent: number, values: Record<string, TagValue>): Script {
  const booth = script(SCANNED);
  stay(booth, 5 * MINUTE_MS, { mode, uptime: 600, cycles: 5, meter: 95, first: false });
  live(booth, [5 * MINUTE_MS, { uptime: 900, meter: 100 }], { gap_ms: silent - 1 });
  stay(booth, 10 * MINUTE_MS, { mode, uptime: 1500, cycles: 5, meter: 110, first: false, ...values });
  return booth;
}

describe("after a silence of 10 min that the meter proves", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    ["nothing shows one", {}, ["spray 0 30 changed 10"]],
    ["the uptime is the same", { uptime: 900 }, ["spray 0 30 changed 10"]],
    ["the uptime fell", { uptime: 899 }, ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"]],
    ["its first scan", { first: true }, ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"]],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 10 * MINUTE_MS, values))).toEqual(expected);
  });
});

describe("after a silence that nothing proves", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    ["nothing shows one", { meter: 100 }, ["spray 0 10 gap 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"]],
    [
      "the uptime fell",
      { meter: 100, uptime: 5 },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"],
    ],
    [
      "it came back in another mode",
      { meter: 100, uptime: 5, mode: 6 },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "bake 20 30 changed 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 10 * MINUTE_MS, values))).toEqual(expected);
  });

  it("outside of a run it ends nothing", () => {
    expect(stages(back(1, 10 * MINUTE_MS, { meter: 105, uptime: 5 }))).toEqual([
      "idle 0 10 gap 0",
      "no_data 10 20 changed 0",
      "idle 20 30 changed 0",
    ]);
    // The meter does not count idle time, so the silence is proven to be idle.
    expect(stages(back(1, 10 * MINUTE_MS, { meter: 100, uptime: 5 }))).toEqual(["idle 0 30 changed 10"]);
  });
});

describe("within the bridge", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    ["same mode, counters kept", { meter: 100, uptime: 5 }, ["spray 0 20 changed 0"]],
    ["counters lost", { meter: 0, cycles: 0, uptime: 5 }, ["spray 0 10 restart 0", "spray 10 20 changed 0"]],
    ["another mode", { mode: 6, meter: 100, uptime: 5 }, ["spray 0 10 restart 0", "bake 10 20 changed 0"]],
    [
      "another mode, no restart",
      { mode: 6, meter: 100, uptime: 905 },
      ["spray 0 10 changed 0", "bake 10 20 changed 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 5000, values))).toEqual(expected);
  });

  it("a bit that stays on, or goes off, is no first scan", () => {
    const booth = script(SCANNED);
    live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 100, first: true }], { gap_ms: 10 * MINUTE_MS - 1 });
    live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 110, first: true }], [5 * MINUTE_MS, { first: false }]);
    expect(stages(booth)).toEqual(["spray 0 25 changed 10"]);
  });
});
