import { describe, expect, it } from "vitest";
import type { Take } from "../ledger.ts";
import type { Held } from "../records.ts";
import { storyOf } from "../stories.ts";
import type { FaultKind } from "../story.ts";
import { liedTimes } from "./lied-times.ts";
import { MINUTE_MS, HOUR_MS } from "../../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 13);

const takes: readonly Take[] = [0, 6 * HOUR_MS].map((mono) => ({
  at: START + mono,
  entry: {
    kind: "poll",
    stream: "s",
    take: 1,
    boot: "b",
    mono,
    at: START + mono,
    group: "g",
    answered: true,
    changes: [],
  },
}));

/** Returns clock records with the booth's clock wrong by `off` at these times of the story. */
function heldOf(told: readonly (readonly [at: number, off: number, unsure?: boolean])[]): readonly Held[] {
  return told.map(([mono, off, unsure = false], i) => ({
    stream: "s",
    seq: i + 1,
    kind: "t",
    tag: "",
    boot: "b",
    mono,
    time: START + mono + off,
    quality: "good",
    value: { wall: START + mono + off, state: "synced", ...(unsure ? { unsure } : {}) },
    received_at: START + mono,
  }));
}

/**
 * Returns the spans for a lie of that kind in the story's second hour that lasts ten minutes, in minutes after the
 * start.
 */
function spansOf(lie: Extract<FaultKind, { kind: "lying" }>["lie"], held: readonly Held[]): readonly string[] {
  const faults = [{ at_ms: HOUR_MS, kind: "lying", lie, times: null, salt: 1, for_ms: 10 * MINUTE_MS }] as const;
  const story = { ...storyOf(1), start: START, commit_interval_ms: 15 * MINUTE_MS, faults };
  const minute = (at: number): string => ((at - START) / MINUTE_MS).toString();
  return liedTimes({ takes, held, story }).map(({ start, end }) => `${minute(start)} to ${minute(end)}`);
}

const believed = (off: number, until: number): readonly Held[] =>
  heldOf([
    [0, 0],
    [62 * MINUTE_MS, off],
    [until, 0],
  ]);

describe("the spans in which a simulated time may be wrong", () => {
  it("start at a provable false time of up to an hour, and end at the service's next true time", () => {
    expect(spansOf("ack_time", believed(20 * MINUTE_MS, 75 * MINUTE_MS))).toEqual(["62 to 95"]);
    expect(spansOf("http_date", believed(-20 * MINUTE_MS, 75 * MINUTE_MS))).toEqual(["42 to 75"]);
  });

  it.each(["unhashed_time", "any_field", "conflict"] as const)(
    "do not include the false time in the answer %s, because the gateway never uses that answer's time",
    (lie) => {
      expect(spansOf(lie, believed(20 * MINUTE_MS, 75 * MINUTE_MS))).toEqual([]);
    },
  );

  it("exclude false times of more than an hour, unless the time is marked as unsure", () => {
    expect(spansOf("ack_time", believed(100 * MINUTE_MS, 75 * MINUTE_MS))).toEqual([]);
    const marked = heldOf([
      [0, 24 * HOUR_MS, true],
      [90 * MINUTE_MS, 0],
    ]);
    expect(spansOf("unhashed_time", marked)).toEqual(["0 to 90", "1440 to 1530"]);
  });

  it("do not include a false time that was already corrected or that is too old", () => {
    expect(
      spansOf(
        "ack_time",
        heldOf([
          [0, 0],
          [80 * MINUTE_MS, 20 * MINUTE_MS],
          [90 * MINUTE_MS, 0],
        ]),
      ),
    ).toEqual([]);
    expect(spansOf("ack_time", believed(20 * MINUTE_MS, 94 * MINUTE_MS))).toEqual(["62 to 114"]);
    expect(spansOf("ack_time", believed(20 * MINUTE_MS, 96 * MINUTE_MS))).toEqual([]);
  });
});
