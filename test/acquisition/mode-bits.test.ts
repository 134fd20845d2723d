import { expect, test } from "vitest";
import { createIntake } from "../../src/acquisition/intake.ts";
import { modeBitTags } from "../../src/domain/mode-bits.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { fold, MONO0, stageTexts, T0, script } from "../support/booth.ts";
import { PLAIN, tag } from "../support/parameters.ts";

const BITS = { is_spray: tag("mode_bit", "", { mode: "spray" }), is_bake: tag("mode_bit", "", { mode: "bake" }) };
const PARAMETERS: Parameters = {
  ...PLAIN,
  tags: { ...BITS, ...modeBitTags(BITS) },
  modes: { spray: "spray", bake: "bake", none: "idle" },
};

test("a PLC with one bit per mode gets a mode record at each change of the bits, and stages follow from these records", () => {
  const booth = script(PARAMETERS);
  const entries: TakenEntry[] = [...booth.entries];
  const now = { mono: MONO0 };
  const intake = createIntake(
    {
      clock: {
        boot: "boot-1",
        mono: () => now.mono,
        wall: () => T0 + now.mono - MONO0,
      },
      tail: { leftover: () => [], append: () => undefined, committed: () => undefined, close: () => undefined },
      stream: { stream: "s", booth: "b", oldest_seq: 1, newest_seq: 0, sendable_seq: 0, acked_seq: 0, last_take: 0 },
      parameters: () => PARAMETERS,
      identity: null,
      isFull: () => false,
      taken: (entry) => void entries.push(entry),
    },
    entries.length,
  );
  const polls = [
    [false, false],
    [true, false],
    [true, true],
    [false, true],
    [false, false],
  ] as const;
  for (const [spray, bake] of polls) {
    for (let second = 0; second < 60; second += 1) {
      intake.answered(
        new Map([
          [
            "fast",
            [
              { tag: "is_spray", value: spray, quality: "good" },
              { tag: "is_bake", value: bake, quality: "good" },
            ],
          ],
        ]),
      );
      now.mono += 1000;
    }
  }
  const logged = entries.flatMap((entry) => (entry.kind === "poll" ? entry.changes : []));
  expect(logged.filter(([name]) => name === "mode").map(([, value]) => value)).toEqual([
    "none",
    "spray",
    "bake & spray",
    "bake",
    "none",
  ]);
  const { facts } = fold(entries, PARAMETERS, [40]);
  expect(stageTexts(facts)).toEqual(["idle 0-60000", "spray 60000-120000", "bake 120000-240000"]);
});
