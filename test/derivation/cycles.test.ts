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
    "the standard cycle ends with its bake and is complete",
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
  [
    "a cycle with a bake 1 ms shorter than 5 min is short_bake",
    [SPRAY, ["bake", 299_999]],
    [`0-${(600_000 + 299_999) / MINUTE_MS} short_bake`],
  ],
  ["a cycle with a bake of 5 min is complete", [SPRAY, ["bake", 300_000]], ["0-15 complete"]],
  [
    "a cycle with a bake 1 ms longer than 5 min is complete",
    [SPRAY, ["bake", 300_001]],
    [`0-${900_001 / MINUTE_MS} complete`],
  ],
  [
    "a cycle with 1 ms less than 3 min of spray is aborted",
    [["spray", 179_999]],
    [`0-${179_999 / MINUTE_MS} aborted short`],
  ],
  ["a cycle with 3 min of spray and no bake is complete_no_bake", [["spray", 180_000]], ["0-3 complete_no_bake"]],
  [
    "the spray time of a cycle is the sum of its spray stages",
    [
      ["spray", 100_000],
      ["flash", MINUTE_MS],
      ["spray", 80_000],
    ],
    ["0-4 complete_no_bake"],
  ],
  [
    "idle 1 ms shorter than 120 s does not split a cycle",
    [SPRAY, ["idle", 119_999], SPRAY],
    [`0-${(1_200_000 + 119_999) / MINUTE_MS} complete_no_bake`],
  ],
  [
    "idle of 120 s splits a cycle",
    [SPRAY, ["idle", 120_000], SPRAY],
    ["0-10 complete_no_bake", "12-22 complete_no_bake"],
  ],
  [
    "idle and prep of 120 s together split a cycle",
    [SPRAY, ["idle", MINUTE_MS], ["prep", MINUTE_MS], SPRAY],
    ["0-10 complete_no_bake", "12-22 complete_no_bake"],
  ],
  [
    "off splits a cycle at once",
    [SPRAY, ["off", 5000], SPRAY],
    ["0-10 complete_no_bake", `${605_000 / MINUTE_MS}-${1_205_000 / MINUTE_MS} complete_no_bake`],
  ],
  [
    "a fault during a long bake aborts the cycle",
    [SPRAY, ["bake", 20 * MINUTE_MS], ["fault", MINUTE_MS]],
    ["0-30 aborted fault"],
  ],
  [
    "a fault after the end of a long bake leaves the cycle complete",
    [SPRAY, ["bake", 20 * MINUTE_MS], ["cool_down", MINUTE_MS], ["fault", MINUTE_MS]],
    ["0-30 complete"],
  ],
  ["an estop during spray aborts the cycle", [SPRAY, ["estop", MINUTE_MS]], ["0-10 aborted estop"]],
  [
    "a change from bake to spray ends one cycle and starts the next",
    [SPRAY, ["bake", 10 * MINUTE_MS], SPRAY],
    ["0-20 complete", "20-30 complete_no_bake"],
  ],
  ["a purge alone starts no cycle", [PURGE], []],
  ["a warm-up bake without spray starts no cycle", [["bake", 20 * MINUTE_MS]], []],
  [
    "no_data shorter than 30 min does not end a cycle if the modes follow the usual order",
    [SPRAY, ["gap", 1_799_999], ["bake", 10 * MINUTE_MS]],
    [`0-${2_999_998 / MINUTE_MS} complete gap`],
  ],
  [
    "no_data of 30 min makes the cycle indeterminate",
    [SPRAY, ["gap", 1_800_000], ["bake", 10 * MINUTE_MS]],
    [`0-${599_999 / MINUTE_MS} indeterminate`],
  ],
  [
    "no_data makes the cycle indeterminate if the modes do not follow the usual order",
    [SPRAY, PURGE, ["gap", 5 * MINUTE_MS], SPRAY],
    [`0-${779_999 / MINUTE_MS} indeterminate`, `${1_079_999 / MINUTE_MS}-${1_679_999 / MINUTE_MS} complete_no_bake`],
  ],
  [
    "a fault after a short pause aborts the cycle",
    [SPRAY, ["idle", MINUTE_MS], ["fault", MINUTE_MS]],
    ["0-11 aborted fault"],
  ],
  [
    "a fault after no_data 1 ms shorter than 120 s aborts the cycle",
    [SPRAY, ["gap", 119_999], ["fault", MINUTE_MS]],
    [`0-${719_998 / MINUTE_MS} aborted fault gap`],
  ],
  [
    "a fault after no_data of 120 s makes the cycle indeterminate",
    [SPRAY, ["gap", 120_000], ["fault", MINUTE_MS]],
    [`0-${599_999 / MINUTE_MS} indeterminate`],
  ],
  [
    "no_data between two idle stages makes the cycle indeterminate",
    [SPRAY, ["idle", MINUTE_MS], ["gap", 2 * MINUTE_MS], ["idle", MINUTE_MS], SPRAY],
    [`0-${659_999 / MINUTE_MS} indeterminate`, `${839_999 / MINUTE_MS}-${1_439_999 / MINUTE_MS} complete_no_bake`],
  ],
  [
    "off after no_data makes the cycle indeterminate",
    [SPRAY, ["gap", MINUTE_MS], ["off", MINUTE_MS]],
    [`0-${599_999 / MINUTE_MS} indeterminate`],
  ],
])("%s", (_name, parts, expected) => {
  expect(cyclesOf(parts)).toEqual(expected);
});
