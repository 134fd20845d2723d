import { describe, expect, it } from "vitest";
import { type Mode, wireNameOf } from "../../../src/domain/booth.ts";
import { closeCalls } from "./close-calls.ts";
import { cycleFaults } from "./events.ts";
import { modeFaults } from "./modes.ts";
import type { OracleRow } from "./oracle.ts";
import { spacingsOf, type Covered } from "./spacings.ts";
import { SECOND_MS, MINUTE_MS } from "../../../src/domain/time.ts";

const POLL_MS = 10 * SECOND_MS;
const SLACK_MS = 15 * SECOND_MS;
/** The booth is switched off 9 s after the last poll before a silence of 29 s, which is within the bridge of 30 s. */
const LEFT = 60 * MINUTE_MS;
const LAST_POLL = LEFT - 9 * SECOND_MS;
const NEXT_POLL = LAST_POLL + 29 * SECOND_MS;
const END = 120 * MINUTE_MS;

const covered = (start: number, end: number, max_interval_ms = POLL_MS): Covered => ({ start, end, max_interval_ms });
const BRIDGED = [covered(0, LAST_POLL), covered(NEXT_POLL, END)];
const seen = (covers: readonly Covered[]) => ({
  blind: [],
  slack_ms: SLACK_MS,
  spacings: spacingsOf(covers, { poll_ms: POLL_MS, bridge_ms: 30 * SECOND_MS }),
});

const stage = (mode: Mode, start: number, end: number) => ({ mode, start, end });
const shown = (mode: Mode, start: number, end: number) => ({ mode: wireNameOf(mode), start, end });

describe("a mode change between two late polls (a gap that the bridge covers)", () => {
  const truth = { stages: [stage("spray", 0, LEFT), stage("off", LEFT, END)] };
  const told = (covers: readonly Covered[], mode: Mode, until: number): readonly string[] =>
    modeFaults(truth, [shown("spray", 0, LEFT), shown(mode, LEFT, until), shown("off", until, END)], seen(covers));

  it("is accepted if the service shows the change at the second poll", () => {
    expect(told(BRIDGED, "spray", NEXT_POLL)).toEqual([]);
    // The same holds inside a coverage record that contains a distance of 29 s between polls.
    expect(told([covered(0, END, 29 * SECOND_MS)], "spray", NEXT_POLL)).toEqual([]);
  });

  it.each<[string, readonly Covered[], Mode, number]>([
    ["at the second poll although polls were on time", [covered(0, END)], "spray", NEXT_POLL],
    ["long after the second poll", BRIDGED, "spray", NEXT_POLL + 6 * SECOND_MS],
    ["as a mode other than the previous one", BRIDGED, "bake", NEXT_POLL],
    ["later than the distance between the polls", [covered(0, END, 29 * SECOND_MS)], "spray", LEFT + 35 * SECOND_MS],
    [
      "at a poll although the late polls were at another time",
      [...BRIDGED.slice(0, 1), covered(LAST_POLL, END)],
      "spray",
      NEXT_POLL,
    ],
  ])("is reported as a fault if the service shows it %s", (...[, covers, mode, until]) => {
    expect(told(covers, mode, until)).toEqual([expect.stringContaining(`the service shows ${wireNameOf(mode)}`)]);
  });
});

describe("a cycle that ends between two late polls (a gap that the bridge covers)", () => {
  const cycle = { start: 30 * MINUTE_MS, end: LEFT, counted: true, spray_ms: 30 * MINUTE_MS, bake_ms: 0 };
  const stages = [stage("idle", 0, cycle.start), stage("spray", cycle.start, LEFT), stage("off", LEFT, END)];
  const truth = { from: 0, to: END, stages, cycles: [{ ...cycle, result: "complete_no_bake", reason: "" }] } as const;
  const told = (covers: readonly Covered[], end: number): readonly string[] => {
    const value = { bay: 0, start: cycle.start, end, counted: true };
    const at = { stream: "s", seq: 1, tag: "", boot: "b", mono: 0, time: end, received_at: end };
    const row: OracleRow = { ...at, kind: "c", value };
    return cycleFaults(truth, [row], seen(covers));
  };

  it("may end up to the second poll, and is reported as a fault if it ends at another time", () => {
    expect(told(BRIDGED, NEXT_POLL)).toEqual([]);
    expect(told(BRIDGED, NEXT_POLL + 6 * SECOND_MS)).toHaveLength(2);
    expect(told([covered(0, END)], NEXT_POLL)).toHaveLength(2);
    expect(told(BRIDGED, LEFT - SLACK_MS - 1)).toHaveLength(2);
  });
});

it("a bake is a close call (undecidable from the polls) if late polls may make it look long enough to count", () => {
  const bake = stage("bake", LEFT - 280 * SECOND_MS, LEFT);
  expect(closeCalls({ stages: [bake], cycles: [] }, seen(BRIDGED))).toEqual([{ start: bake.start, end: bake.end }]);
  expect(closeCalls({ stages: [bake], cycles: [] }, seen([covered(0, END)]))).toEqual([]);
});

it("a stage is a close call (undecidable from the polls) if it may lie between two polls", () => {
  const pause = stage("cool_down", LEFT, LEFT + SECOND_MS);
  const long = stage("cool_down", LEFT, LEFT + 60 * SECOND_MS);
  expect(closeCalls({ stages: [pause], cycles: [] }, seen([covered(0, END)]))).toEqual([
    { start: pause.start, end: pause.end },
  ]);
  expect(closeCalls({ stages: [long], cycles: [] }, seen([covered(0, END)]))).toEqual([]);
});
