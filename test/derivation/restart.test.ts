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

describe("a silence of 10 min that the hour meter proves to be spray", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    ["does not end the stage if nothing shows a PLC restart", {}, ["spray 0 30 changed 10"]],
    ["does not end the stage if the uptime is the same", { uptime: 900 }, ["spray 0 30 changed 10"]],
    [
      "ends the stage with the reason restart if the uptime fell",
      { uptime: 899 },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"],
    ],
    [
      "ends the stage with the reason restart if the PLC reports its first scan",
      { first: true },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 10 * MINUTE_MS, values))).toEqual(expected);
  });
});

describe("a silence of 10 min in an unproven mode", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    [
      "ends spray with the reason gap if nothing shows a PLC restart",
      { meter: 100 },
      ["spray 0 10 gap 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"],
    ],
    [
      "ends spray with the reason restart if the uptime fell",
      { meter: 100, uptime: 5 },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "spray 20 30 changed 0"],
    ],
    [
      "ends spray with the reason restart if the uptime fell and the mode changed",
      { meter: 100, uptime: 5, mode: 6 },
      ["spray 0 10 restart 0", "no_data 10 20 changed 0", "bake 20 30 changed 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 10 * MINUTE_MS, values))).toEqual(expected);
  });

  it("does not end idle with the reason restart, even if the PLC's uptime fell", () => {
    expect(stages(back(1, 10 * MINUTE_MS, { meter: 105, uptime: 5 }))).toEqual([
      "idle 0 10 gap 0",
      "no_data 10 20 changed 0",
      "idle 20 30 changed 0",
    ]);
    // The meter does not count idle time, so the silence is proven to be idle.
    expect(stages(back(1, 10 * MINUTE_MS, { meter: 100, uptime: 5 }))).toEqual(["idle 0 30 changed 10"]);
  });
});

describe("a silence", () => {
  it.each<[string, Record<string, TagValue>, string[]]>([
    [
      "within the bridge does not end spray if the PLC restarts in the same mode and keeps its counters",
      { meter: 100, uptime: 5 },
      ["spray 0 20 changed 0"],
    ],
    [
      "within the bridge ends spray with the reason restart if the PLC loses its counters",
      { meter: 0, cycles: 0, uptime: 5 },
      ["spray 0 10 restart 0", "spray 10 20 changed 0"],
    ],
    [
      "within the bridge ends spray with the reason restart if the PLC restarts in another mode",
      { mode: 6, meter: 100, uptime: 5 },
      ["spray 0 10 restart 0", "bake 10 20 changed 0"],
    ],
    [
      "within the bridge ends spray with the reason changed if the mode changes without a restart",
      { mode: 6, meter: 100, uptime: 905 },
      ["spray 0 10 changed 0", "bake 10 20 changed 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(stages(back(3, 5000, values))).toEqual(expected);
  });

  it("lasting 10 min does not end spray if the first_scan bit stays on or turns off", () => {
    const booth = script(SCANNED);
    live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 100, first: true }], { gap_ms: 10 * MINUTE_MS - 1 });
    live(booth, [5 * MINUTE_MS, { mode: 3, cycles: 5, meter: 110, first: true }], [5 * MINUTE_MS, { first: false }]);
    expect(stages(booth)).toEqual(["spray 0 25 changed 10"]);
  });
});
