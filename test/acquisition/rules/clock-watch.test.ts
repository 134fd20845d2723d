import { describe, expect, it } from "vitest";
import {
  agreedOffset,
  type ClockReading,
  clockText,
  type ClockWatch,
  type Heard,
  isDisputed,
  isPlausible,
  startWatch,
  watchClock,
  withHeard,
} from "../../../src/acquisition/rules/clock-watch.ts";
import { type TimeSource } from "../../../src/domain/service-time.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const WALL = 1_740_960_000_000;
const MONO = 1_000_000;
const OFFSET = WALL - MONO;
const YEAR = 365 * 24 * HOUR_MS;
const synced: ClockWatch = { offset: OFFSET, seen: OFFSET, synced: true, vouched: OFFSET, kernel_since: null };
const unsynced: ClockWatch = { ...synced, synced: false, vouched: null };
const unsure: ClockWatch = { ...synced, vouched: null };

function at(extra: Partial<ClockReading> = {}): ClockReading {
  return { mono: MONO, wall: WALL, kernel: false, heard: [], ...extra };
}

/** Returns a single answer from now. */
function says(offset: number): Heard[] {
  return [{ source: "ack", mono: MONO, offset }];
}

/** Returns answers from the given sources in turn, the last one at `mono`. */
function answers(count: number, offset: number, { apart = 30_000, ways = ["ack", "http"] as TimeSource[] } = {}) {
  let heard: readonly Heard[] = [];
  for (let index = 0; index < count; index += 1) {
    const source = ways[index % ways.length] ?? "ack";
    heard = withHeard(heard, { source, mono: MONO - (count - 1 - index) * apart, offset });
  }
  return heard;
}

describe("startWatch", () => {
  it.each([
    ["it does", true, { wall: WALL, state: "synced", witness: "kernel" }],
    ["it doesn't", false, { wall: WALL, state: "unsynced" }],
  ])("records the clock as synced only if the kernel reports a sync (%s)", (_, kernel, value) => {
    expect(startWatch(null, at({ kernel }))).toMatchObject({ value, watch: { synced: kernel, offset: OFFSET } });
  });

  it.each([
    [1999, "synced", OFFSET],
    [2000, "synced", OFFSET],
    [2001, "stepped", OFFSET],
    [-2001, "stepped", OFFSET],
  ])(
    "records a wall clock that is off by %i ms after an earlier sync in this boot as %s, and keeps it synchronized",
    (off, state, offset) => {
      const { value, watch } = startWatch({ offset: OFFSET, unsure: false }, at({ wall: WALL + off, kernel: true }));
      expect(value.state).toBe(state);
      expect(value.wall).toBe(state === "synced" ? WALL : WALL + off);
      expect(watch).toMatchObject({ offset, synced: true, vouched: OFFSET });
    },
  );

  it("keeps an unconfirmed time as unsure after a restart", () => {
    const { value, watch } = startWatch({ offset: OFFSET, unsure: true }, at());
    expect(value).toEqual({ wall: WALL, state: "synced", unsure: true });
    expect(watch.vouched).toBeNull();
  });
});

describe("a step of the wall clock", () => {
  it.each([
    [1999, null],
    [2000, null],
    [2001, "stepped"],
    [-2000, null],
    [-2001, "stepped"],
    [86_400_000, "stepped"],
  ])("of %i ms is recorded as %s (null: not recorded) and doesn't change the offset", (by, state) => {
    const { value, watch } = watchClock(synced, at({ wall: WALL + by, kernel: true }));
    expect(value?.state ?? null).toBe(state);
    expect(value?.witness).toBeUndefined();
    expect(watch.offset).toBe(OFFSET);
  });

  it("is recorded only once", () => {
    const { watch } = watchClock(synced, at({ wall: WALL + HOUR_MS }));
    expect(watchClock(watch, at({ mono: MONO + 5000, wall: WALL + HOUR_MS + 5000 })).value).toBeNull();
  });
});

describe("a time from the service", () => {
  it.each([
    [4999, null, OFFSET],
    [5000, null, OFFSET],
    [5001, "synced", OFFSET + 5001],
    [-5000, null, OFFSET],
    [-5001, "synced", OFFSET - 5001],
    [HOUR_MS, "synced", OFFSET + HOUR_MS],
    [-HOUR_MS, "synced", OFFSET - HOUR_MS],
    [HOUR_MS + 1, null, OFFSET],
    [-HOUR_MS - 1, null, OFFSET],
  ])(
    "with a difference of %i ms to the synchronized clock gives the record %s (null: clock unchanged)",
    (by, state, offset) => {
      const { value, watch } = watchClock(synced, at({ heard: says(OFFSET + by) }));
      expect(value?.state ?? null).toBe(state);
      expect(watch.offset).toBe(offset);
    },
  );

  it.each([
    [4999, OFFSET],
    [5000, OFFSET],
    [5001, OFFSET + 5001],
    [YEAR, OFFSET + YEAR],
  ])(
    "with a difference of %i ms to an unsynchronized clock syncs it as unsure, and corrects a difference over 5 s",
    (by, offset) => {
      const { value, watch } = watchClock(unsynced, at({ heard: says(OFFSET + by) }));
      expect(value).toEqual({ wall: MONO + offset, state: "synced", witness: "service", unsure: true });
      expect(watch).toEqual({ offset, seen: OFFSET, synced: true, vouched: null, kernel_since: null });
    },
  );

  it("overrides the kernel's time if the two differ by up to an hour", () => {
    for (const [by, offset] of [
      [HOUR_MS, OFFSET - HOUR_MS],
      [HOUR_MS + 1, OFFSET],
    ] as const) {
      expect(watchClock(unsynced, at({ kernel: true, heard: says(OFFSET - by) })).watch.offset).toBe(offset);
    }
  });

  it("moves the clock by at most an hour from the last confirmed offset, even in many steps", () => {
    let watch = synced;
    for (let step = 1; step <= 100; step += 1) {
      watch = watchClock(watch, at({ heard: says(watch.offset + HOUR_MS / 2) })).watch;
    }
    expect(watch.offset).toBe(OFFSET + HOUR_MS);
  });
});

describe("the first time that the gateway receives after a boot", () => {
  const built_at = WALL - 30 * 86_400_000;
  const limit = 2 * 366 * 86_400_000;

  it.each<[string, number | null, number, boolean]>([
    ["is accepted if it is an hour before the last committed time", WALL + HOUR_MS, 0, true],
    ["is rejected if it is more than an hour before the last committed time", WALL + HOUR_MS + 1, 0, false],
    ["is accepted if it is two years after the program's build", null, built_at + limit - WALL, true],
    ["is rejected if it is more than two years after the program's build", null, built_at + limit - WALL + 1, false],
  ])("must lie within limits if a single answer gives it: it %s", (...[, committed, by, is]) => {
    const { watch } = watchClock(unsynced, at({ heard: says(OFFSET + by), committed, built_at }));
    expect(watch.synced).toBe(is);
  });

  it("is accepted outside the limits for a single answer once five answers agree", () => {
    const far = { committed: WALL + YEAR };
    expect(watchClock(unsynced, at({ heard: answers(4, OFFSET), ...far })).watch.synced).toBe(false);
    expect(watchClock(unsynced, at({ heard: answers(5, OFFSET), ...far })).watch).toMatchObject({
      synced: true,
      vouched: OFFSET,
    });
  });

  it("is accepted from the kernel only after two minutes if it is before the last committed time", () => {
    let watch = watchClock(unsynced, at({ kernel: true, committed: WALL + YEAR })).watch;
    for (const after of [60_000, 119_999, 120_000]) {
      const looked = at({ mono: MONO + after, wall: WALL + after, kernel: true, committed: WALL + YEAR });
      watch = watchClock(watch, looked).watch;
      expect(watch.synced).toBe(after === 120_000);
    }
  });

  it("is confirmed by five answers of the service, or by the kernel", () => {
    const five = watchClock(unsure, at({ heard: answers(5, OFFSET) }));
    expect(five.value).toEqual({ wall: WALL, state: "synced", witness: "service" });
    expect(five.watch.vouched).toBe(OFFSET);
    const kernel = watchClock(unsure, at({ heard: answers(1, OFFSET), kernel: true }));
    expect(kernel.value).toEqual({ wall: WALL, state: "synced", witness: "kernel" });
    expect(watchClock(unsure, at({ heard: answers(4, OFFSET) })).value).toBeNull();
  });

  it("is corrected, if wrong, by the kernel immediately or by five answers of the service", () => {
    const lie: ClockWatch = { ...unsure, offset: OFFSET + YEAR };
    expect(watchClock(lie, at({ kernel: true })).watch).toMatchObject({ offset: OFFSET, vouched: OFFSET });
    expect(watchClock(lie, at({ heard: answers(4, OFFSET) })).watch.offset).toBe(OFFSET + YEAR);
    expect(watchClock(lie, at({ heard: answers(5, OFFSET) })).watch).toMatchObject({ offset: OFFSET, vouched: OFFSET });
  });
});

describe("a correction by more than an hour", () => {
  const back = OFFSET - 2 * HOUR_MS;

  it.each([
    ["rejected after four answers", answers(4, back), false],
    ["accepted after five answers", answers(5, back), true],
    ["rejected after ten answers within ten seconds", answers(10, back, { apart: 1000 }), false],
    ["rejected after five answers 29.999 s apart", answers(5, back, { apart: 29_999 }), false],
    ["accepted after five acks if HTTP gives no time", answers(5, back, { ways: ["ack"] }), true],
    [
      "rejected after five answers if HTTP then gives another time",
      withHeard(answers(5, back), { source: "http", mono: MONO, offset: OFFSET }),
      false,
    ],
    [
      "rejected after five acks if HTTP gave another time less than 5 min ago",
      answers(5, back, { ways: ["ack"] }).reduce(withHeard, [{ source: "http", mono: MONO - 290_000, offset: OFFSET }]),
      false,
    ],
    [
      "accepted after five acks if HTTP gave another time more than 5 min ago",
      answers(5, back, { ways: ["ack"] }).reduce(withHeard, [{ source: "http", mono: MONO - 300_001, offset: OFFSET }]),
      true,
    ],
  ])("needs five agreeing answers over 2 min that no HTTP answer contradicts: it is %s", (_, heard, is) => {
    expect(watchClock(synced, at({ heard })).watch.offset).toBe(is ? back : OFFSET);
  });

  it("is rejected while the kernel reports a synchronized clock", () => {
    const { watch } = watchClock(synced, at({ heard: answers(5, back), kernel: true }));
    expect(watch.offset).toBe(OFFSET);
    expect(isDisputed(watch, { heard: answers(5, back) })).toBe(true);
  });

  it("is rejected if a different answer interrupts the agreeing ones", () => {
    const lie: Heard = { source: "ack", mono: MONO - 70_000, offset: OFFSET + YEAR };
    const heard = answers(5, back).filter(({ mono }) => mono < lie.mono);
    const all = [...heard, lie, ...answers(2, back)];
    expect(agreedOffset(all, MONO)).toBeNull();
  });
});

it.each([
  [4e15, false],
  [-1, false],
  [Date.UTC(2000, 0) - 1, false],
  [Date.UTC(2000, 0), true],
  [Date.UTC(2100, 0), true],
  [Date.UTC(2100, 0) + 1, false],
])("isPlausible(%d) returns %s", (time, is) => {
  expect(isPlausible(time)).toBe(is);
});

it("the kernel synchronizes an unsynchronized clock once, and a synchronized clock gets no further record", () => {
  const first = watchClock(unsynced, at({ kernel: true, wall: WALL + 1000 }));
  expect(first.value).toEqual({ wall: WALL + 1000, state: "synced", witness: "kernel" });
  expect(watchClock(first.watch, at({ kernel: true, wall: WALL + 2000 })).value).toBeNull();
});

it.each([
  [synced, { wall: WALL + 90_000 }, "the wall clock was set by 90.0 s; nobody vouches for it"],
  [unsynced, { heard: says(OFFSET + 60_000) }, "the clock is synchronized, says the service, by a first answer"],
  [unsynced, { kernel: true }, "the clock is synchronized, says the kernel"],
  [synced, { heard: says(OFFSET - 12_500) }, "time is corrected by -12.5 s, says the service"],
  [unsure, { heard: answers(5, OFFSET) }, "the time is vouched for by the service now"],
  [synced, { heard: answers(5, OFFSET - 2 * HOUR_MS) }, "what was recorded by the wrong time is placed anew"],
])("clockText describes a clock record for the log (case %#)", (before, extra, expected) => {
  const { watch, value } = watchClock(before, at(extra));
  if (value === null) throw new Error("nothing happened");
  expect(clockText(before, watch, value)).toContain(expected);
});
