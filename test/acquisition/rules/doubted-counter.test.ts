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
    ["doesn't change", 65_535, 1000, false],
    ["increases by one", 65_536, 1000, false],
    ["falls, as with a torn low half", 0, 1000, true],
    ["jumps, as with a torn high half", 131_071, 1000, true],
    ["increases by more than a step plus 1.5 times its maximum rate", 65_535 + 1 + 16, 10_000, true],
    ["increases by a step plus 1.5 times its maximum rate", 65_535 + 1 + 15, 10_000, false],
    ["had an hour to increase", 65_535 + 5000, 3_600_000, false],
  ])("that %s (to %i after %i ms) is suspect: %s", (...[, value, mono, expected]) => {
    expect(suspects(believed(65_535), { mono, samples: [good(value)] }, tags).has("t0")).toBe(expected);
  });

  test("without a known maximum rate is suspect if it falls, but not if it jumps", () => {
    const counter = { step: 1, modulus: 2 ** 32, retained: true };
    const unrated = new Map(made.map((tag) => [tag.name, { ...tag, counter }]));
    const odd = (value: number) => suspects(believed(65_535), { mono: 1, samples: [good(value)] }, unrated).has("t0");
    expect([odd(1e9), odd(65_534)]).toEqual([false, true]);
  });

  test("is not suspect at its first value, with a bad sample, or if the tag is no counter", () => {
    expect(suspects(nothingBelieved(), { mono: 0, samples: [good(7)] }, tags).size).toBe(0);
    const bad: Sample = { tag: "t0", value: null, quality: "bad", reason: "hole" };
    expect(suspects(believed(65_535), { mono: 1, samples: [bad] }, tags).size).toBe(0);
    expect(suspects(believed(65_535), { mono: 1, samples: [good(0)] }, new Map()).size).toBe(0);
  });

  const outcome = (first: number, second: Sample): Sample | undefined =>
    agreed([good(first)], { first_mono: 0, mono: 5, samples: [second] }, tags)[0];

  test("is accepted if the second read is equal or higher by one step", () => {
    expect(outcome(2, good(2))).toEqual(good(2));
    expect(outcome(2, good(3))).toEqual(good(3));
  });

  test("gets a bad sample if the two reads disagree or the second read has no value", () => {
    const torn = { tag: "t0", value: null, quality: "bad", reason: "torn" };
    expect(outcome(131_071, good(65_536))).toEqual(torn);
    expect(outcome(0, good(65_536))).toEqual(torn);
    expect(outcome(0, { tag: "t0", value: null, quality: "bad", reason: "sentinel" })).toEqual(torn);
  });

  test("is compared with its last accepted value after a torn read", () => {
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
  test("is held back again after a poll with other values", () => {
    expect(polls([LIVE, ZEROS, LIVE, ZEROS, ZEROS, ZEROS])).toEqual([false, true, false, true, true, false]);
  });
  test("is still recognized if the block borders change, and is accepted if its zeros were accepted earlier", () => {
    const believed = nothingBelieved();
    const heldOf = (words: readonly number[]) => [...zerosToHold(believed, [blockOf(words)], false)];
    heldOf([...LIVE, ...LIVE]);
    expect(heldOf(ZEROS)).toHaveLength(8);
    expect(heldOf([...ZEROS, ...ZEROS])).toHaveLength(16);
    expect(heldOf([...ZEROS, ...ZEROS])).toEqual(["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]);
    expect(heldOf([...ZEROS, ...ZEROS])).toEqual([]);
  });
  test("is accepted immediately in the first poll, after a restart, or with fewer than eight registers", () => {
    expect(polls([ZEROS, ZEROS])).toEqual([false, false]);
    expect(polls([LIVE, ZEROS], true)).toEqual([false, false]);
    expect(polls([LIVE.slice(1), ZEROS.slice(1)])).toEqual([false, false]);
  });
});

test("a NaN reading is logged when it starts, and then every 5 min while it lasts", () => {
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
