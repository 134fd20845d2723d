import { render } from "../../../src/domain/messages/render.ts";
import { describe, expect, test } from "vitest";

import { NO_UNUSABLE_TAGS, unusableTrouble, withSamples } from "../../../src/acquisition/rules/link.ts";
import { sampleOf } from "../../../src/acquisition/opcua/value.ts";
import type { OpcuaPoint } from "../../../src/domain/profile.ts";
import type { Sample } from "../../../src/domain/taken.ts";

const good = (tag: string): Sample => ({ tag, value: 1, quality: "good" });
const bad = (tag: string, reason: string): Sample => ({ tag, value: null, quality: "bad", reason });
const WATCHED = new Set(["mode", "gas", "air", "fan", "bake", "wash"]);

/** Polls these samples once a second. Returns the state after the last poll. */
function polled(polls: readonly (readonly Sample[])[], every_ms = 1_000) {
  return polls.reduce(
    (before, samples, index) => withSamples(before, samples, { watched: WATCHED, mono: index * every_ms }),
    NO_UNUSABLE_TAGS,
  );
}
const times = (count: number, ...samples: readonly Sample[]) => Array.from({ length: count }, () => samples);

describe("a tag with a role (such as mode)", () => {
  test.each(["wrong_type", "missing", "BadWaitingForInitialData", "nan", "sentinel", "above_max", "no_answer"])(
    "degrades the link if it stays bad (%s) for at least three polls and ten seconds",
    (reason) => {
      expect(unusableTrouble(polled(times(10, bad("mode", reason))))).toBeNull();
      expect(render(unusableTrouble(polled(times(11, bad("mode", reason))))?.reason ?? "")).toContain("mode");
      expect(unusableTrouble(polled(times(2, bad("mode", reason)), 60_000))).toBeNull();
      expect(render(unusableTrouble(polled(times(3, bad("mode", reason)), 60_000))?.reason ?? "")).toContain("mode");
    },
  );

  test("restores the link with its first usable value", () => {
    const degraded = polled([...times(20, bad("mode", "nan")), [good("mode")]]);
    expect(unusableTrouble(degraded)).toBeNull();
    expect(degraded.size).toBe(0);
  });

  test("keeps its first reason while two faults alternate, so that the log has one line", () => {
    const alternating = Array.from({ length: 40 }, (_, i) => [bad("air", i % 2 === 0 ? "nan" : "above_max")]);
    expect(unusableTrouble(polled(alternating.slice(0, 30)))).toEqual(unusableTrouble(polled(alternating)));
  });

  test("is not reported as unusable if the device rejects it, because it is already reported as rejected", () => {
    expect(unusableTrouble(polled(times(20, bad("mode", "exception_2"), bad("gas", "BadNodeIdUnknown"))))).toBeNull();
  });
});

test("a tag without a role never degrades the link", () => {
  expect(unusableTrouble(polled(times(20, bad("spare", "nan"))))).toBeNull();
});

test("the report of unusable tags names up to five tags with their reasons and counts the rest", () => {
  const tags = [...WATCHED];
  const some = unusableTrouble(polled(times(20, bad("mode", "wrong_type"), bad("gas", "nan"))));
  expect(render(some?.reason ?? "")).toBe(
    "2 tags have had no usable value for several polls: mode (wrong_type), gas (nan)",
  );
  expect(render(unusableTrouble(polled(times(20, ...tags.map((tag) => bad(tag, "nan")))))?.reason ?? "")).toContain(
    "and 1 more",
  );
});

test("the advice for an unusable tag names the sensor after a NaN reading, and the profile after a wrong type", () => {
  expect(render(unusableTrouble(polled(times(20, bad("air", "nan"))))?.advice ?? "")).toContain("sensor");
  expect(render(unusableTrouble(polled(times(20, bad("mode", "wrong_type"))))?.advice ?? "")).toContain("profile");
});

const point: OpcuaPoint = {
  node: { namespace: "urn:x", id: "i=1" },
  type: "uint16",
  scale: 1,
  offset: 0,
  sentinels: [],
};
const raw = { type: 5, isScalar: true, value: 1 as unknown, status: "Good", code: 0, source_at: null };

test.each([
  ["an array", { isScalar: false, value: [1, 1] }],
  ["an array of one element", { isScalar: false, value: [1] }],
  ["a text", { type: 12, value: "1" }],
  ["null", { type: 0, value: null }],
  ["BadWaitingForInitialData", { type: 0, value: null, status: "BadWaitingForInitialData", code: 0x8032_0000 }],
  ["GoodNoData", { type: 0, value: null, status: "GoodNoData", code: 0x00a5_0000 }],
])("an OPC UA variable that holds %s instead of a number degrades the link", (_what, more) => {
  const sample = sampleOf({ name: "mode", point }, { ...raw, ...more }, { insecure: false });
  expect(render(unusableTrouble(polled(times(20, sample)))?.reason ?? "")).toContain("mode");
});
