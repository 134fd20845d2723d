import { describe, expect, test } from "vitest";

import {
  oddEvents,
  type OddState,
  agreed,
  believe,
  nothingBelieved,
  suspects,
  type Believed,
  zerosToHold,
} from "../../../src/acquisition/rules/change-filter.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { point, profileOf } from "../../support/profiles.ts";

const made = profileOf([point({ type: "uint32" })]).tags;
const COUNTER = { step: 1, modulus: 2 ** 32, max_rate_per_h: 3600, retained: true };
const tags = new Map(made.map((tag) => [tag.name, { ...tag, counter: COUNTER }]));
const good = (value: number): Sample => ({ tag: "t0", value, quality: "good" });
const believed = (value: number): Believed => {
  const before = nothingBelieved();
  believe(before, { mono: 0, samples: [good(value)] }, tags);
  return before;
};

describe("a counter of two registers", () => {
  test.each([
    ["stands still", 65_535, 1000, false],
    ["counts one on", 65_536, 1000, false],
    ["falls, as with a torn low half", 0, 1000, true],
    ["runs, as with a torn high half", 131_071, 1000, true],
    ["exceeds one step and its rate x time x 1.5", 65_535 + 1 + 16, 10_000, true],
    ["doesn't exceed it", 65_535 + 1 + 15, 10_000, false],
    ["had hours to count on", 65_535 + 5000, 3_600_000, false],
  ])("is judged when it %s (%i after %i ms): suspect %s", (...[, value, mono, expected]) => {
    expect(suspects(believed(65_535), { mono, samples: [good(value)] }, tags).has("t0")).toBe(expected);
  });

  test("without a known rate may run, but not fall", () => {
    const counter = { step: 1, modulus: 2 ** 32, retained: true };
    const unrated = new Map(made.map((tag) => [tag.name, { ...tag, counter }]));
    const odd = (value: number) => suspects(believed(65_535), { mono: 1, samples: [good(value)] }, unrated).has("t0");
    expect([odd(1e9), odd(65_534)]).toEqual([false, true]);
  });

  test("is no suspect at its first value or with a bad sample, and neither is a tag without a counter", () => {
    expect(suspects(nothingBelieved(), { mono: 0, samples: [good(7)] }, tags).size).toBe(0);
    const bad: Sample = { tag: "t0", value: null, quality: "bad", reason: "hole" };
    expect(suspects(believed(65_535), { mono: 1, samples: [bad] }, tags).size).toBe(0);
    expect(suspects(believed(65_535), { mono: 1, samples: [good(0)] }, new Map()).size).toBe(0);
  });

  const outcome = (first: number, second: Sample): Sample | undefined =>
    agreed([good(first)], { first_mono: 0, mono: 5, samples: [second] }, tags)[0];

  test("is accepted if both reads agree, also if it has increased by a step", () => {
    expect(outcome(2, good(2))).toEqual(good(2));
    expect(outcome(2, good(3))).toEqual(good(3));
  });

  test("has no value if the reads disagree, or the second one has none", () => {
    const torn = { tag: "t0", value: null, quality: "bad", reason: "torn" };
    expect(outcome(131_071, good(65_536))).toEqual(torn);
    expect(outcome(0, good(65_536))).toEqual(torn);
    expect(outcome(0, { tag: "t0", value: null, quality: "bad", reason: "sentinel" })).toEqual(torn);
  });

  test("isn't stored if torn: the next poll is compared with the last accepted value", () => {
    const after = believed(65_535);
    believe(after, { mono: 1000, samples: [{ tag: "t0", value: null, quality: "bad" }] }, tags);
    expect(suspects(after, { mono: 2000, samples: [good(65_536)] }, tags).size).toBe(0);
  });
});

describe("a block that is suddenly all zero", () => {
  const ZEROS = new Array<number>(8).fill(0);
  const polls = (frames: readonly (readonly number[])[], restarted = false): readonly boolean[] => {
    const believed = nothingBelieved();
    return frames.map((words) => zerosToHold(believed, [blockOf(words)], restarted).size === words.length);
  };
  const LIVE = [...ZEROS.slice(1), 5];
  const blockOf = (words: readonly number[], address = 0) => ({
    address,
    words,
    tags: profileOf(words.map((_, at) => point({ address: address + at }))).tags.map((tag) => ({
      ...tag,
      name: `r${tag.point.address}`,
    })),
  });

  test("is held back for two polls, then accepted", () => {
    expect(polls([LIVE, ZEROS, ZEROS, ZEROS, ZEROS])).toEqual([false, true, true, false, false]);
  });
  test("is held back again after it had values", () => {
    expect(polls([LIVE, ZEROS, LIVE, ZEROS, ZEROS, ZEROS])).toEqual([false, true, false, true, true, false]);
  });
  test("is recognized with other block borders too, and accepted zeros aren't held back again because of others", () => {
    const believed = nothingBelieved();
    const heldOf = (words: readonly number[]) => [...zerosToHold(believed, [blockOf(words)], false)];
    heldOf([...LIVE, ...LIVE]);
    expect(heldOf(ZEROS)).toHaveLength(8);
    expect(heldOf([...ZEROS, ...ZEROS])).toHaveLength(16);
    expect(heldOf([...ZEROS, ...ZEROS])).toEqual(["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]);
    expect(heldOf([...ZEROS, ...ZEROS])).toEqual([]);
  });
  test("isn't held back at the beginning, after a restart, or if it is short", () => {
    expect(polls([ZEROS, ZEROS])).toEqual([false, false]);
    expect(polls([LIVE, ZEROS], true)).toEqual([false, false]);
    expect(polls([LIVE.slice(1), ZEROS.slice(1)])).toEqual([false, false]);
  });
});

test("a fault that only acquisition detects is logged when it starts and every 5 min while it lasts", () => {
  const odd: Sample = { tag: "t0", value: null, quality: "bad", reason: "nan" };
  const state: OddState = new Map();
  const events = [
    [0, odd],
    [1000, odd],
    [299_999, odd],
    [300_000, odd],
    [301_000, good(1)],
    [302_000, { tag: "t0", value: null, quality: "bad", reason: "exception_2" } as const],
    [303_000, odd],
  ].map((poll) => {
    const [mono, sample] = poll as [number, Sample];
    return oddEvents(state, { mono, samples: [sample] }).map(({ event }) => event);
  });
  expect(events).toEqual([["sentinel"], [], [], ["sentinel"], [], [], ["sentinel"]]);
});
