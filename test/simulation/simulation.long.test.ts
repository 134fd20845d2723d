import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { verdictOf } from "./seed.ts";
import { shrunk } from "./shrink.ts";
import { storyOf } from "./stories.ts";
import { CLOSES_WHEN } from "../../simulators/virtual/closing-device.ts";
import { WRONG_TYPES } from "../../simulators/virtual/driver.ts";
import {
  AGENT_LOOPS,
  CHUNK_TROUBLES,
  type Fault,
  FIELD_KINDS,
  FOREIGN_ANSWERS,
  FOREIGN_SHAPES,
  LIES,
  type Story,
} from "./story.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

const CI = new URL("../../.ci/run", import.meta.url);

it("a simulation seed gives the same story and the same trace each time, down to the last log line and record", async () => {
  const story = { ...storyOf(7), hours: 6 };
  const once = await verdictOf(story);
  const again = await verdictOf(story);
  expect(once.broken).toEqual([]);
  expect(once.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(again.hash).toBe(once.hash);
});

it("a simulation story has at least 24 hours and twenty faults in time order, and depends only on its seed", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const story = storyOf(seed);
    expect(story).toEqual(storyOf(seed));
    expect(story.hours).toBeGreaterThanOrEqual(24);
    expect(story.faults.length).toBeGreaterThanOrEqual(20);
    const instants = story.faults.map(({ at_ms }) => at_ms);
    expect(instants).toEqual(instants.toSorted((a, b) => a - b));
    expect(Math.max(...instants)).toBeLessThan(story.hours * HOUR_MS);
  }
});

it("the first hundred simulation seeds cover every kind of false answer and each loss rate of PLC answers", () => {
  const faults = Array.from({ length: 100 }, (_, i) => storyOf(i + 1).faults).flat();
  const lies = new Set(faults.flatMap((fault) => (fault.kind === "lying" ? [fault.lie] : [])));
  const shares = new Set(faults.flatMap((fault) => (fault.kind === "lossy" ? [fault.share] : [])));
  expect([...lies].sort()).toEqual([...LIES].sort());
  expect([...shares].sort((a, b) => a - b)).toEqual([0.01, 0.05, 0.1, 0.2]);
});

it("the first hundred simulation seeds cover every fault of chunks (compressed blocks), and services without chunks", () => {
  const stories = Array.from({ length: 100 }, (_, i) => storyOf(i + 1));
  const faults = stories.flatMap((story) => story.faults);
  const troubles = new Set(faults.flatMap((fault) => (fault.kind === "chunks" ? [fault.how] : [])));
  expect([...troubles].sort()).toEqual([...CHUNK_TROUBLES].sort());
  expect(stories.filter(({ is_without_chunks }) => is_without_chunks === true).length).toBeGreaterThanOrEqual(3);
  expect(stories.filter(({ chunks }) => chunks === null).length).toBeGreaterThanOrEqual(3);
});

it("the first three hundred simulation seeds cover every variant of wrong types, closed connections, fatal errors and foreign answers", () => {
  const faults = Array.from({ length: 300 }, (_, i) => storyOf(i + 1).faults).flat();
  const drawn = (of: (fault: Fault) => string | undefined): readonly string[] =>
    [...new Set(faults.flatMap((fault) => of(fault) ?? []))].sort();
  expect(drawn((fault) => (fault.kind === "wrong_type" ? fault.how : undefined))).toEqual([...WRONG_TYPES].sort());
  expect(drawn((fault) => (fault.kind === "plc_closes" ? fault.when : undefined))).toEqual([...CLOSES_WHEN].sort());
  expect(drawn((fault) => (fault.kind === "fatal" ? fault.loop : undefined))).toEqual([...AGENT_LOOPS].sort());
  expect(drawn((fault) => (fault.kind === "foreign" ? fault.how : undefined))).toEqual([...FOREIGN_SHAPES].sort());
  expect(drawn((fault) => (fault.kind === "foreign" ? fault.in : undefined))).toEqual(
    [...new Set(FOREIGN_ANSWERS)].sort(),
  );
});

it("the kinds of faults reported from the field start after the first six hours of a simulation story", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const faults = storyOf(seed).faults.filter(({ kind }) => FIELD_KINDS.some((one) => one === kind));
    for (const { at_ms } of faults) expect(at_ms).toBeGreaterThan(6 * HOUR_MS);
  }
});

it("the simulation seeds in CI cover every kind of fault, and at least one story that is compared with a run without outputs", () => {
  const [, from = NaN, seeds = NaN] = /--from (\d+) --seeds (\d+)/.exec(readFileSync(CI, "utf8"))?.map(Number) ?? [];
  const stories = Array.from({ length: 200 }, (_, i) => storyOf(i + 1));
  const played = stories.slice(from - 1, from - 1 + seeds);
  const kindsIn = (some: readonly Story[]): readonly string[] =>
    [...new Set(some.flatMap(({ faults }) => faults.map(({ kind }) => kind)))].sort();
  expect(played).toHaveLength(8);
  expect(kindsIn(played)).toEqual(kindsIn(stories));
  expect(played.some(({ is_compared }) => is_compared === true)).toBe(true);
});

it("a simulated backlog is sent in chunks (compressed blocks), then in batches after a conflict, and arrives completely", async () => {
  const down = (hour: number, hours: number): Fault => ({
    at_ms: hour * HOUR_MS,
    kind: "service_down",
    for_ms: hours * HOUR_MS,
  });
  const story: Story = {
    ...storyOf(8),
    hours: 10,
    told_hours: 10,
    serial_at_ms: null,
    is_without_chunks: false,
    chunks: { closed_records: 60, least_chunk_records: 15, least_backlog: 60 },
    faults: [
      down(1, 2),
      down(4, 2),
      { at_ms: 6 * HOUR_MS - MINUTE_MS, kind: "chunks", how: "conflict", for_ms: 10 * MINUTE_MS },
      down(8, 1),
    ],
  };
  const { broken, sent } = await verdictOf(story);
  expect(broken).toEqual([]);
  expect(sent.refused_chunks).toBeGreaterThan(0);
  expect(sent.chunks).toBeGreaterThan(sent.refused_chunks);
  expect(sent.batches).toBeGreaterThan(50);
});

it("a failing simulation story is reduced to the faults that make it fail", async () => {
  const story = storyOf(3);
  const one = story.faults[4];
  const other = story.faults[17];
  const short = await shrunk(story, ({ faults }) =>
    Promise.resolve(one !== undefined && other !== undefined && faults.includes(one) && faults.includes(other)),
  );
  expect(short.faults).toEqual([one, other]);
  expect(short.hours).toBeLessThanOrEqual(story.hours);
});
