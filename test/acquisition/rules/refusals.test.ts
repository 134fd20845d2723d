import { render } from "../../../src/domain/messages/render.ts";
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
])("a sample with reason %s is reported as rejected by the device: %s", (reason, is) => {
  expect(refusalTrouble(withPoll(NO_REFUSALS, [good("a"), bad("b", reason)])) !== null).toBe(is);
});

it("the report of rejected tags names up to five tags of all groups and counts the rest", () => {
  const three = ["a", "b", "c"].map((tag) => bad(tag, "exception_2"));
  const fast = withPoll(NO_REFUSALS, three);
  expect(render(refusalTrouble(fast)?.reason ?? "")).toBe("the device rejects 3 tags: a, b, c");
  const slow = ["d", "e", "f", "g"];
  const both = withPoll(
    fast,
    slow.map((tag) => bad(tag, "hole")),
  );
  expect(render(refusalTrouble(both)?.reason ?? "")).toBe("the device rejects 7 tags: a, b, c, d, e and 2 more");
  const left = withPoll(withPoll(both, slow.map(good)), [bad("a", "exception_2"), good("b"), good("c")]);
  expect(render(refusalTrouble(left)?.reason ?? "")).toBe("the device rejects the tag a");
  expect(refusalTrouble(withPoll(left, [good("a")]))).toBeNull();
});

it.each(["no_answer", "wrong_answer"])(
  "a tag without a usable answer (%s) keeps its state, whether rejected or accepted",
  (reason) => {
    const before = withPoll(NO_REFUSALS, [bad("a", "exception_2"), good("b")]);
    expect(withPoll(before, [bad("a", reason), bad("b", reason)])).toEqual(before);
    expect(withPoll(NO_REFUSALS, [bad("a", reason)])).toEqual(NO_REFUSALS);
    expect(refusalTrouble(withPoll(before, [good("a"), bad("b", reason)]))).toBeNull();
  },
);
