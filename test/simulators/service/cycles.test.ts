import { describe, expect, it } from "vitest";
import { COUNTING, EPOCH, figuresOf, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";

const spray = (minutes = 12): Script =>
  script()
    .stage("idle", MINUTE)
    .stage("spray", minutes * MINUTE);
const results = (log: Script, after = 0): unknown[] =>
  figuresOf(log, after).cycles.map(({ result, reason, end }) =>
    [result, reason, (end - EPOCH) / MINUTE].filter((part) => part !== ""),
  );

describe("cycles of the reference service", () => {
  it.each<[string, () => Script, unknown[]]>([
    [
      "a full bake left for cool_down",
      () =>
        spray()
          .stage("bake", 30 * MINUTE)
          .stage("cool_down", 5 * MINUTE)
          .stage("off", 5 * MINUTE),
      [["complete", 43]],
    ],
    ["a fault in spray", () => spray().stage("fault", MINUTE).stage("off", MINUTE), [["aborted", "fault", 13]]],
    [
      "a fault in the bake ramp",
      () =>
        spray()
          .stage("bake", 4 * MINUTE)
          .stage("fault", MINUTE),
      [["aborted", "fault", 17]],
    ],
    [
      "estop directly out of a long bake",
      () =>
        spray()
          .stage("bake", 29 * MINUTE)
          .stage("estop", MINUTE),
      [["aborted", "estop", 42]],
    ],
    [
      "a fault after the bake was left",
      () =>
        spray()
          .stage("bake", 29 * MINUTE)
          .stage("cool_down", MINUTE)
          .stage("fault", MINUTE),
      [["complete", 42]],
    ],
    ["a fault after a pause", () => spray().stage("idle", MINUTE).stage("fault", MINUTE), [["aborted", "fault", 14]]],
    [
      "a fault after a longer silence: nobody saw how the run ended",
      () =>
        spray()
          .silence(5 * MINUTE)
          .stage("fault", MINUTE),
      [["indeterminate", 13]],
    ],
    [
      "silence between idle and idle: the pause counts as a whole",
      () =>
        spray()
          .stage("idle", MINUTE)
          .silence(3 * MINUTE)
          .stage("idle", MINUTE)
          .stage("spray", 4 * MINUTE)
          .stage("off", MINUTE),
      [
        ["indeterminate", 14],
        ["complete_no_bake", 22],
      ],
    ],
    [
      "idle and prep of a minute and a half each: the pause counts as a whole",
      () =>
        spray()
          .stage("idle", 1.5 * MINUTE)
          .stage("prep", 1.5 * MINUTE)
          .stage("spray", 4 * MINUTE)
          .stage("off", MINUTE),
      [
        ["complete_no_bake", 13],
        ["complete_no_bake", 20],
      ],
    ],
    ["silence to the end", () => spray().silence(HOUR).stage("off", MINUTE), [["indeterminate", 13]]],
    [
      "short bakes only",
      () =>
        spray()
          .stage("bake", 4 * MINUTE)
          .stage("off", 5 * MINUTE),
      [["short_bake", 17]],
    ],
    ["no bake, enough spray", () => spray(3).stage("off", 5 * MINUTE), [["complete_no_bake", 4]]],
    ["no bake, little spray", () => spray(2.9).stage("off", 5 * MINUTE), [["aborted", "short", 3.9]]],
    [
      "purge and prep alone",
      () =>
        script()
          .stage("prep", MINUTE)
          .stage("purge", 3 * MINUTE)
          .stage("idle", 5 * MINUTE),
      [],
    ],
    [
      "a warm-up bake without spray",
      () =>
        script()
          .stage("bake", 20 * MINUTE)
          .stage("idle", 5 * MINUTE),
      [],
    ],
    [
      "an idle pause under 120 s",
      () =>
        spray()
          .stage("idle", 119_000)
          .stage("bake", 5 * MINUTE)
          .stage("off", MINUTE),
      [["complete", 13 + 119 / 60 + 5]],
    ],
    [
      "an idle pause of 120 s",
      () =>
        spray()
          .stage("idle", 120_000)
          .stage("bake", 5 * MINUTE)
          .stage("off", MINUTE),
      [["complete_no_bake", 13]],
    ],
    [
      "spray after the bake",
      () =>
        spray()
          .stage("bake", 5 * MINUTE)
          .stage("spray", 5 * MINUTE)
          .stage("bake", 5 * MINUTE)
          .stage("off", MINUTE),
      [
        ["complete", 18],
        ["complete", 28],
      ],
    ],
    [
      "no data of 29 min in the usual order",
      () =>
        spray()
          .silence(29 * MINUTE)
          .stage("bake", 6 * MINUTE)
          .stage("off", MINUTE),
      [["complete", 48]],
    ],
    [
      "no data of 30 min",
      () =>
        spray()
          .silence(30 * MINUTE)
          .stage("bake", 6 * MINUTE)
          .stage("off", MINUTE),
      [["indeterminate", 13]],
    ],
    [
      "no data against the usual order",
      () =>
        spray()
          .stage("purge", MINUTE)
          .silence(5 * MINUTE)
          .stage("spray", MINUTE)
          .stage("off", MINUTE),
      [
        ["indeterminate", 14],
        ["aborted", "short", 20],
      ],
    ],
    [
      "a PLC restart in mid-bake",
      () =>
        script()
          .set("uptime_s", 9000)
          .stage("spray", 12 * MINUTE)
          .stage("bake", 10 * MINUTE)
          .silence(MINUTE)
          .set("uptime_s", 20)
          .stage("off", 5 * MINUTE),
      [["aborted", "plc_restart", 22]],
    ],
  ])("%s", (_, log, expected) => {
    expect(results(log())).toEqual(expected);
  });

  it("leaves a cycle open until it is decided", () => {
    expect(results(spray())).toEqual([]);
    expect(results(spray().stage("bake", 30 * MINUTE))).toEqual([]);
    expect(results(spray().stage("idle", 100_000))).toEqual([]);
    expect(results(spray(), 20 * MINUTE)).toEqual([]);
    expect(results(spray(), 31 * MINUTE)).toEqual([["indeterminate", 13.25]]);
  });

  it("flags a cycle with a silence inside", () => {
    const { cycles } = figuresOf(
      spray()
        .silence(5 * MINUTE)
        .stage("bake", 6 * MINUTE)
        .stage("off", MINUTE),
    );
    expect(cycles).toMatchObject([{ gap: true, counted: true }]);
  });

  it("goes on over a PLC that is back at once in the same mode with its counters", () => {
    const log = script(PARAMETERS)
      .set("uptime_s", 9000)
      .stage("spray", 12 * MINUTE)
      .silence(9000)
      .set("uptime_s", 3)
      .stage("spray", MINUTE);
    expect(results(log.stage("off", 5 * MINUTE))).toEqual([["complete_no_bake", 13.15]]);
  });

  describe("a PLC that is back within the bridge, its counters lost", () => {
    /** Coverage begins anew where a commit happened to be; that is no silence. */
    const commit = (log: Script): Script => log.silence(1000);
    const lost = (log: Script): Script => log.set("cycle_count", 0).set("run_minutes", 0);
    const sprayed = (): Script =>
      script(COUNTING)
        .set("cycle_count", 1844)
        .set("run_minutes", 900)
        .stage("spray", 12 * MINUTE);

    it.each<[string, () => Script, unknown[]]>([
      [
        "in another mode",
        () => lost(commit(sprayed()).wait(1000)).stage("off", 5 * MINUTE),
        [["aborted", "plc_restart", 12 + 2 / 60]],
      ],
      [
        "in another mode, soon after a change of it",
        () => lost(sprayed().stage("flash", 2000)).stage("off", 5 * MINUTE),
        [["aborted", "plc_restart", 12 + 2 / 60]],
      ],
      [
        "in the same mode",
        () =>
          lost(commit(sprayed()).wait(1000))
            .stage("spray", 4 * MINUTE)
            .stage("off", 5 * MINUTE),
        [
          ["aborted", "plc_restart", 12 + 2 / 60],
          ["complete_no_bake", 16 + 2 / 60],
        ],
      ],
    ])("ends the cycle at the reading that shows it: %s", (_, log, expected) => {
      expect(results(log())).toEqual(expected);
    });
  });
});
