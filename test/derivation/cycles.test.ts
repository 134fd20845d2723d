import { expect, test } from "vitest";
import { run, script, stay, T0, valuesOf } from "../support/booth.ts";
import { live } from "../support/lives.ts";
import { PLAIN } from "../support/parameters.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const CODE = {
  off: 0,
  idle: 1,
  prep: 2,
  spray: 3,
  flash: 4,
  purge: 5,
  bake: 6,
  cool_down: 8,
  fault: 20,
  estop: 21,
} as const;

type Part = readonly [mode: keyof typeof CODE | "gap", ms: number];

/** Plays the parts and an hour of idle; returns the cycles as text. */
function cyclesOf(parts: readonly Part[]): string[] {
  const booth = script(PLAIN);
  for (const [mode, ms] of [...parts, ["idle", 60 * MINUTE_MS] as const]) {
    if (mode === "gap") {
      // The gap begins at the last poll, 1 ms before the end of the part.
      live(booth, { gap_ms: ms - 1 });
    } else stay(booth, ms, { mode: CODE[mode] });
  }
  return valuesOf(run(booth, PLAIN).facts, "c").map(({ start, end, result, reason, gap }) => {
    const times = `${(start - T0) / MINUTE_MS}-${(end - T0) / MINUTE_MS}`;
    return [times, result, reason, gap ? "gap" : ""].filter((word) => word !== "").join(" ");
  });
}

const SPRAY: Part = ["spray", 10 * MINUTE_MS];
const PURGE: Part = ["purge", 3 * MINUTE_MS];

test.each<[string, Part[], string[]]>([
  [
    "the standard cycle ends with its bake",
    [
      ["prep", 8 * MINUTE_MS],
      SPRAY,
      ["flash", 6 * MINUTE_MS],
      SPRAY,
      PURGE,
      ["bake", 30 * MINUTE_MS],
      ["cool_down", 10 * MINUTE_MS],
    ],
    ["8-67 complete"],
  ],
  ["bake one below 5 min", [SPRAY, ["bake", 299_999]], [`0-${(600_000 + 299_999) / MINUTE_MS} short_bake`]],
  ["bake at 5 min", [SPRAY, ["bake", 300_000]], ["0-15 complete"]],
  ["bake one above", [SPRAY, ["bake", 300_001]], [`0-${900_001 / MINUTE_MS} complete`]],
  ["spray one below 3 min", [["spray", 179_999]], [`0-${179_999 / MINUTE_MS} aborted short`]],
  ["spray at 3 min", [["spray", 180_000]], ["0-3 complete_no_bake"]],
  [
    "spray sums up over flashes",
    [
      ["spray", 100_000],
      ["flash", MINUTE_MS],
      ["spray", 80_000],
    ],
    ["0-4 complete_no_bake"],
  ],
  [
    "idle one below 120 s",
    [SPRAY, ["idle", 119_999], SPRAY],
    [`0-${(1_200_000 + 119_999) / MINUTE_MS} complete_no_bake`],
  ],
  ["idle at 120 s", [SPRAY, ["idle", 120_000], SPRAY], ["0-10 complete_no_bake", "12-22 complete_no_bake"]],
  [
    "prep and idle add up",
    [SPRAY, ["idle", MINUTE_MS], ["prep", MINUTE_MS], SPRAY],
    ["0-10 complete_no_bake", "12-22 complete_no_bake"],
  ],
  [
    "off breaks at once",
    [SPRAY, ["off", 5000], SPRAY],
    ["0-10 complete_no_bake", `${605_000 / MINUTE_MS}-${1_205_000 / MINUTE_MS} complete_no_bake`],
  ],
  ["fault in a long bake", [SPRAY, ["bake", 20 * MINUTE_MS], ["fault", MINUTE_MS]], ["0-30 aborted fault"]],
  [
    "fault after a long bake was left",
    [SPRAY, ["bake", 20 * MINUTE_MS], ["cool_down", MINUTE_MS], ["fault", MINUTE_MS]],
    ["0-30 complete"],
  ],
  ["estop in spray", [SPRAY, ["estop", MINUTE_MS]], ["0-10 aborted estop"]],
  [
    "fire contact: bake to spray",
    [SPRAY, ["bake", 10 * MINUTE_MS], SPRAY],
    ["0-20 complete", "20-30 complete_no_bake"],
  ],
  ["purge alone opens none", [PURGE], []],
  ["warm-up bake without spray opens none", [["bake", 20 * MINUTE_MS]], []],
  [
    "no_data under 30 min in the usual order",
    [SPRAY, ["gap", 1_799_999], ["bake", 10 * MINUTE_MS]],
    [`0-${2_999_998 / MINUTE_MS} complete gap`],
  ],
  [
    "no_data of 30 min",
    [SPRAY, ["gap", 1_800_000], ["bake", 10 * MINUTE_MS]],
    [`0-${599_999 / MINUTE_MS} indeterminate`],
  ],
  [
    "no_data against the usual order",
    [SPRAY, PURGE, ["gap", 5 * MINUTE_MS], SPRAY],
    [`0-${779_999 / MINUTE_MS} indeterminate`, `${1_079_999 / MINUTE_MS}-${1_679_999 / MINUTE_MS} complete_no_bake`],
  ],
  ["fault after a pause", [SPRAY, ["idle", MINUTE_MS], ["fault", MINUTE_MS]], ["0-11 aborted fault"]],
  [
    "fault after no_data one below 120 s",
    [SPRAY, ["gap", 119_999], ["fault", MINUTE_MS]],
    [`0-${719_998 / MINUTE_MS} aborted fault gap`],
  ],
  [
    "fault after no_data at 120 s: nobody saw how the run ended",
    [SPRAY, ["gap", 120_000], ["fault", MINUTE_MS]],
    [`0-${599_999 / MINUTE_MS} indeterminate`],
  ],
  [
    "no_data between idle and idle is no pause between two run stages",
    [SPRAY, ["idle", MINUTE_MS], ["gap", 2 * MINUTE_MS], ["idle", MINUTE_MS], SPRAY],
    [`0-${659_999 / MINUTE_MS} indeterminate`, `${839_999 / MINUTE_MS}-${1_439_999 / MINUTE_MS} complete_no_bake`],
  ],
  ["off after no_data", [SPRAY, ["gap", MINUTE_MS], ["off", MINUTE_MS]], [`0-${599_999 / MINUTE_MS} indeterminate`]],
])("%s", (_name, parts, expected) => {
  expect(cyclesOf(parts)).toEqual(expected);
});
