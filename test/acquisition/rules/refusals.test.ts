import { expect, it } from "vitest";
import { NO_REFUSALS, refusalTrouble, withPoll } from "../../../src/acquisition/rules/link.ts";
import type { Sample } from "../../../src/domain/taken.ts";

const good = (tag: string): Sample => ({ tag, value: 1, quality: "good" });
const bad = (tag: string, reason: string): Sample => ({ tag, value: null, quality: "bad", reason });

it.each([
  ["exception_2", true],
  ["hole", true],
  ["BadNodeIdUnknown", true],
  ["BadNotReadable", true],
  ["nan", false],
  ["above_max", false],
  ["all_zero", false],
  ["BadSensorFailure", false],
])("a tag that says %s is refused by the device: %s", (reason, is) => {
  expect(refusalTrouble(withPoll(NO_REFUSALS, "fast", [good("a"), bad("b", reason)])) !== null).toBe(is);
});

it("names up to five tags of all groups and counts the rest", () => {
  const three = ["a", "b", "c"].map((tag) => bad(tag, "exception_2"));
  const fast = withPoll(NO_REFUSALS, "fast", three);
  expect(refusalTrouble(fast)?.reason).toBe("the device refuses 3 tags: a, b, c");
  const both = withPoll(
    fast,
    "slow",
    ["d", "e", "f", "g"].map((tag) => bad(tag, "hole")),
  );
  expect(refusalTrouble(both)?.reason).toBe("the device refuses 7 tags: a, b, c, d, e and 2 more");
  const left = withPoll(withPoll(both, "slow", [good("d")]), "fast", [bad("a", "exception_2")]);
  expect(refusalTrouble(left)?.reason).toBe("the device refuses the tag a");
  expect(refusalTrouble(withPoll(left, "fast", [good("a")]))).toBeNull();
});

it("is the same object while nothing changes", () => {
  const before = withPoll(NO_REFUSALS, "fast", [bad("a", "hole"), good("b")]);
  expect(withPoll(before, "fast", [bad("a", "hole"), good("b")])).toBe(before);
  expect(withPoll(NO_REFUSALS, "fast", [good("b")])).toBe(NO_REFUSALS);
});

it.each(["no_answer", "wrong_answer"])(
  "a tag of which nothing was heard (%s) is refused or not as it was before",
  (reason) => {
    const before = withPoll(NO_REFUSALS, "fast", [bad("a", "exception_2"), good("b")]);
    expect(withPoll(before, "fast", [bad("a", reason), bad("b", reason)])).toBe(before);
    expect(withPoll(NO_REFUSALS, "fast", [bad("a", reason)])).toBe(NO_REFUSALS);
    expect(refusalTrouble(withPoll(before, "fast", [good("a"), bad("b", reason)]))).toBeNull();
  },
);
