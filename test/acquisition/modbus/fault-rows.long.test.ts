import { rendered } from "../../../src/domain/messages/render.ts";
import { describe, expect, test, type TestContext } from "vitest";

import type { Faults } from "../../../simulators/network/faults.ts";
import { until } from "../../support/eventually.ts";
import { faultBed, type FaultBed, type FaultBedOptions } from "./fault-bed.ts";
import { recordFault } from "../../support/faults.ts";
import { clickBooth } from "../../support/profiles.ts";

type Context = Pick<TestContext, "onTestFinished">;

/** Starts a bed that ends with its test. */
async function started({ onTestFinished }: Context, options: FaultBedOptions = {}): Promise<FaultBed> {
  const bed = await faultBed(options);
  onTestFinished(() => bed.stop());
  await until(() => bed.polls.length >= 5, "the first polls");
  return bed;
}

/** Returns a condition that is true after `count` more polls. */
function morePolls(bed: FaultBed, count: number): () => boolean {
  const before = bed.polls.length;
  return () => bed.polls.length >= before + count;
}

/** Waits after the end of a fault until the link is up and every tag has a good value. */
async function recovers(bed: FaultBed): Promise<void> {
  const before = bed.polls.length;
  await until(
    () => bed.groups.every((name) => bed.polls.slice(before).some(({ group }) => group === name)),
    "both groups are read again",
    5000,
  );
  expect(bed.isUp()).toBe(true);
  await until(
    () => bed.polls.slice(-2).every(({ samples }) => samples.every(({ quality }) => quality === "good")),
    "every tag is good again",
  );
}

async function settle(bed: FaultBed, entry: { row: number; fault: string; injected: number }): Promise<void> {
  const wrong = await bed.wrong();
  const { failures, polls } = bed;
  const { writes } = bed.plc.counts;
  const counts = { ...bed.gaps(), wrong: wrong.length };
  recordFault({ ...entry, ...counts, passed: counts.lost + counts.doubled + counts.wrong + writes === 0 });
  expect({ ...entry, ...bed.gaps(), wrong, writes }).toEqual({ ...entry, lost: 0, doubled: 0, wrong: [], writes: 0 });
  expect(entry.injected).toBeGreaterThan(0);
  process.stdout.write(
    `row ${entry.row}, ${entry.fault}: ${entry.injected} faults, ${polls.length} polls, ${failures()} failed\n`,
  );
}

test.concurrent(
  "fault matrix row 12: a silent PLC doesn't delay another booth's polls, and is read again once it answers",
  async (context) => {
    const bed = await started(context);
    const other = await started(context, { seed: 2 });
    const waits: number[] = [];
    for (let i = 0; i < 4; i++) {
      bed.proxy.faults.silent = true;
      const goesOn = morePolls(other, 10);
      await until(() => !bed.isUp(), "the link is down");
      const state = bed.states.at(-1);
      expect(rendered(state)).toMatchObject({
        kind: "down",
        reason: expect.stringMatching(/no answer within/) as string,
      });
      if (state?.kind === "down") waits.push((state.next_try_at ?? 0) - state.since);
      await until(goesOn, "the other booth is polled on");
      bed.proxy.faults.silent = false;
      await recovers(bed);
    }
    expect(new Set(waits).size).toBeGreaterThan(1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2500);
    expect(other.failures()).toBe(0);
    await settle(bed, { row: 12, fault: "PLC black hole", injected: 4 });
  },
);

test.concurrent(
  "fault matrix row 13: a PLC that refuses or resets connections is read again as soon as it accepts them",
  async (context) => {
    const bed = await started(context);
    for (let i = 0; i < 3; i++) {
      bed.proxy.faults.refuse = true;
      bed.proxy.cut();
      await until(() => !bed.isUp(), "the link is down");
      const { refused } = bed.proxy.connections;
      await until(() => bed.proxy.connections.refused > refused, "a refusal");
      bed.proxy.faults.refuse = false;
      await recovers(bed);
    }
    bed.proxy.faults.reset = 0.05;
    await until(() => bed.proxy.counts.reset >= 20, "twenty resets", 50_000);
    bed.proxy.faults.reset = 0;
    await recovers(bed);
    const injected = bed.proxy.connections.refused + bed.proxy.counts.reset;
    await settle(bed, { row: 13, fault: "PLC refuses, resets", injected });
  },
);

test.concurrent("fault matrix row 13: a PLC that left the network is read again once it is back", async (context) => {
  const bed = await started(context);
  await bed.plc.offline();
  await until(() => !bed.isUp(), "the link is down");
  await bed.plc.online();
  await recovers(bed);
  await settle(bed, { row: 13, fault: "PLC's port closed", injected: 1 });
});

/** Injects a fault until enough polls or failures have occurred, and expects no wrong value. */
async function spoilt(bed: FaultBed, act: () => void, undo: () => void): Promise<void> {
  const polls = bed.polls.length;
  const failures = bed.failures();
  act();
  await until(() => bed.polls.length - polls + bed.failures() - failures >= 25, "polls and failures", 50_000);
  undo();
  await recovers(bed);
}

describe.each(["tcp", "rtu"] as const)("a Modbus link over %s", (framing) => {
  test.concurrent(
    "never takes a value from an answer that arrives after its deadline (fault matrix row 15)",
    async (context) => {
      const bed = await started(context, { framing });
      await spoilt(
        bed,
        () => Object.assign(bed.proxy.faults, { direction: "answers", delay_ms: 140 }),
        () => Object.assign(bed.proxy.faults, { direction: "both", delay_ms: 0 }),
      );
      await settle(bed, { row: 15, fault: `late answers (${framing})`, injected: bed.proxy.counts.delay });
    },
  );
});

/** TCP has its own checksum, so wrong bytes inside a frame are a fault of serial lines only. */
const WHOLE_PIECES = { truncate: 0.1, noise: 0.1, drop: 0.1, duplicate: 0.1, echo: 0.1 };
const LINE_FAULTS: readonly (readonly [number, "tcp" | "rtu", Partial<Faults>])[] = [
  [16, "tcp", WHOLE_PIECES],
  [17, "rtu", { ...WHOLE_PIECES, corrupt: 0.1, split_bytes: 3 }],
];

test.concurrent.for(LINE_FAULTS)(
  "fault matrix row %i: a link over %s with the faults %o never returns a wrong value",
  async ([row, framing, faults], context) => {
    const bed = await started(context, { framing, seed: 11 });
    const clean = { ...bed.proxy.faults };
    await spoilt(
      bed,
      () => Object.assign(bed.proxy.faults, faults),
      () => Object.assign(bed.proxy.faults, clean),
    );
    const injected = Object.values(bed.proxy.counts).reduce((sum, count) => sum + count, 0);
    await settle(bed, { row, fault: `${Object.keys(faults).join(", ")} (${framing})`, injected });
  },
);

test.concurrent(
  "fault matrix row 18: an exception at any position of a block makes only the affected tag's sample bad",
  async (context) => {
    const profile = clickBooth();
    const all = profile.tags.filter(({ point }) => point.table === "holding");
    // The unit test of the driver tries every position of a block.
    const places = all.filter((_, nth) => nth % Math.ceil(all.length / 4) === 0);
    const bed = await started(context);
    const others: string[] = [];
    for (const { name, group, point } of places) {
      bed.plc.manners.bad_ranges = [{ table: "holding", first: point.address, last: point.address, code: 2 }];
      const states = bed.states.length;
      // Connections are refused too, because a broken connection alone is renewed within the poll.
      bed.proxy.faults.refuse = true;
      bed.proxy.cut();
      // A poll that was answered before the cut may still be in transit to the intake until the link is down.
      await until(() => bed.states.slice(states).some(({ kind }) => kind === "down"), "the link is down");
      bed.proxy.faults.refuse = false;
      const before = bed.polls.length;
      const hit = () => bed.polls.slice(before).find((poll) => poll.group === group);
      await until(() => hit() !== undefined, `${group} is read`);
      const bad = hit()?.samples.filter(({ quality }) => quality === "bad") ?? [];
      if (bad.length !== 1 || bad[0]?.tag !== name) others.push(`${name}: ${bad.map(({ tag }) => tag).join(", ")}`);
    }
    bed.plc.manners.bad_ranges = [];
    expect(others).toEqual([]);
    await settle(bed, { row: 18, fault: "exceptions on part of a block", injected: places.length });
  },
);

test.concurrent("fault matrix row 21: a torn read of a 32-bit counter never becomes a value", async (context) => {
  const click = clickBooth();
  const counters = click.tags.filter(({ point, counter }) => point.type === "uint32" && counter);
  const profile = { ...click, tags: counters.map((tag) => ({ ...tag, group: "fast" })), groups: {} };
  const bed = await started(context, { scenario: "counter-wrap", profile, start: Date.UTC(2026, 2, 3, 14, 50) });
  const torn = () => bed.polls.flatMap(({ samples }) => samples).filter(({ reason }) => reason === "torn").length;
  for (let i = 0; i < 1200 && torn() < 3; i++) {
    bed.plc.manners.torn_reads = 1;
    await until(morePolls(bed, 1), "a poll");
  }
  bed.plc.manners.torn_reads = 0;
  await recovers(bed);
  expect(torn()).toBeGreaterThan(0);
  await settle(bed, { row: 21, fault: "torn 32-bit value", injected: torn() });
});
