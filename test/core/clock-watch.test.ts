import { describe, expect, it } from "vitest";
import { clockText, startWatch, watchClock, type ClockReading, type ClockWatch } from "../../src/core/clock-watch.ts";

const WALL = 1_740_960_000_000;
const MONO = 1_000_000;
const OFFSET = WALL - MONO;
const synced: ClockWatch = { offset: OFFSET, seen: OFFSET, synced: true };
const unsynced: ClockWatch = { ...synced, synced: false };

function at(extra: Partial<ClockReading> = {}): ClockReading {
  return { mono: MONO, wall: WALL, kernel: false, service_offset: null, ...extra };
}

describe("the start", () => {
  it.each([
    ["the kernel's flag is a witness", true, { wall: WALL, state: "synced", witness: "kernel" }],
    ["without it nothing is known", false, { wall: WALL, state: "unsynced" }],
  ])("%s", (_, kernel, value) => {
    expect(startWatch(null, at({ kernel }))).toMatchObject({ value, watch: { synced: kernel, offset: OFFSET } });
  });

  it.each([
    [1999, "synced", OFFSET],
    [2000, "synced", OFFSET],
    [2001, "stepped", OFFSET],
    [-2001, "stepped", OFFSET],
  ])("after a sync in this boot a wall clock %i ms off is %s, and the sync holds", (off, state, offset) => {
    const { value, watch } = startWatch(OFFSET, at({ wall: WALL + off, kernel: true }));
    expect(value.state).toBe(state);
    expect(value.wall).toBe(state === "synced" ? WALL : WALL + off);
    expect(watch).toMatchObject({ offset, synced: true });
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
  ])("by %i ms: %s; no witness, so the offset stays", (by, state) => {
    const { value, watch } = watchClock(synced, at({ wall: WALL + by, kernel: true }));
    expect(value?.state ?? null).toBe(state);
    expect(value?.witness).toBeUndefined();
    expect(watch.offset).toBe(OFFSET);
  });

  it("is told once", () => {
    const { watch } = watchClock(synced, at({ wall: WALL + 3_600_000 }));
    expect(watchClock(watch, at({ mono: MONO + 5000, wall: WALL + 3_605_000 })).value).toBeNull();
  });
});

describe("the service as witness", () => {
  it.each([
    [4999, null, OFFSET],
    [5000, null, OFFSET],
    [5001, "synced", OFFSET + 5001],
    [-5000, null, OFFSET],
    [-5001, "synced", OFFSET - 5001],
  ])("of a synced clock, %i ms off: %s", (by, state, offset) => {
    const { value, watch } = watchClock(synced, at({ service_offset: OFFSET + by }));
    expect(value?.state ?? null).toBe(state);
    expect(watch.offset).toBe(offset);
  });

  it.each([
    [4999, OFFSET],
    [5000, OFFSET],
    [5001, OFFSET + 5001],
    [1_740_960_000_000, OFFSET + 1_740_960_000_000],
  ])("of an unsynced clock, %i ms off: synced; within 5 s the wall clock is the finer", (by, offset) => {
    const { value, watch } = watchClock(unsynced, at({ service_offset: OFFSET + by }));
    expect(value).toEqual({ wall: MONO + offset, state: "synced", witness: "service" });
    expect(watch).toEqual({ offset, seen: OFFSET, synced: true });
  });

  it("outweighs the kernel's flag", () => {
    const service_offset = OFFSET - 3_600_000;
    expect(watchClock(unsynced, at({ kernel: true, service_offset })).watch.offset).toBe(service_offset);
  });
});

it("the kernel's flag syncs a clock once; afterwards it vouches for nothing", () => {
  const first = watchClock(unsynced, at({ kernel: true, wall: WALL + 1000 }));
  expect(first.value).toEqual({ wall: WALL + 1000, state: "synced", witness: "kernel" });
  expect(watchClock(first.watch, at({ kernel: true, wall: WALL + 2000 })).value).toBeNull();
});

it.each([
  [synced, { wall: WALL + 90_000 }, "the wall clock was set by 90.0 s; nobody vouches for it"],
  [unsynced, { service_offset: OFFSET + 60_000 }, "the clock is synchronised, says the service"],
  [unsynced, { kernel: true }, "the clock is synchronised, says the kernel"],
  [synced, { service_offset: OFFSET - 12_500 }, "time is corrected by -12.5 s, says the service"],
])("what happened to the clock in words: %#", (before, extra, expected) => {
  const { watch, value } = watchClock(before, at(extra));
  if (value === null) throw new Error("nothing happened");
  expect(clockText(before, watch, value)).toContain(expected);
});
