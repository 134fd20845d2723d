import type { Text } from "../../src/domain/message.ts";
import { expect, it } from "vitest";
import type { LogRecord } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { createCommitter, NO_LEFTOVER, type Committer } from "../../src/acquisition/committer.ts";
import type { Clock } from "../../src/domain/machine.ts";
import { emptyState } from "../../src/derivation/state.ts";
import type { Ingested, Store } from "../../src/store/port.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { virtualClock } from "../../simulators/virtual/clock.ts";

const stream = { stream: "s", booth: "b", oldest_seq: 1, newest_seq: 0, sendable_seq: 0, acked_seq: 0, last_take: 0 };
const entry = (take: number): TakenEntry => ({
  kind: "poll",
  take,
  stream: "s",
  boot: "b1",
  mono: take * 1_000,
  at: take,
  group: "fast",
  answered: true,
  changes: [["mode", take % 2, "good"]],
});

const ingested = (newest_seq: number): Ingested => ({
  newest_seq,
  sendable_seq: newest_seq,
  facts: [],
  present: emptyState(),
  commit_ms: 1,
  oldest_seq: 1,
  storage: {
    used_bytes: 0,
    max_bytes: 1,
    hours_to_full: null,
    quarantined: 0,
    health: { low: false, damaged_files: [] },
  },
});

function committerOn(clock: Clock, store: Pick<Store, "ingest">, trouble: (reason: Text) => void): Committer {
  const parts = {
    clock,
    random: seededRandom(1),
    // The committer uses no other method of the store.
    store: store as Store,
    tail: { leftover: () => [], append: () => undefined, committed: () => undefined, close: () => undefined },
    stream,
    interval_ms: 10_000,
    bridge: () => 15_000,
    committed: () => undefined,
    trouble,
  };
  return createCommitter(parts, NO_LEFTOVER);
}

it("the committer collects entries up to a limit while commits fail, and later commits all of them in order", async () => {
  const clock = virtualClock({ wall: 0 });
  const way = { broken: true };
  const readings: LogRecord[] = [];
  const troubles: Text[] = [];
  const store: Pick<Store, "ingest"> = {
    ingest: (_stream, records) => {
      if (way.broken) return Promise.reject(new Error("disk full"));
      readings.push(...records.filter(({ kind }) => kind === "r"));
      return Promise.resolve(ingested(readings.length));
    },
  };
  const committer = committerOn(clock, store, (reason) => void troubles.push(reason));
  const stopping = new AbortController();
  const running = committer.run(stopping.signal);
  let taken = 0;
  while (!committer.isFull()) committer.add(entry(++taken), false);
  expect(taken).toBe(50_000);
  await clock.run(60_000);
  expect(troubles).toEqual(["disk full"]);
  way.broken = false;
  await clock.run(60_000);
  expect(committer.isFull()).toBe(false);
  expect(committer.pending()).toBe(0);
  expect(readings.map(({ mono }) => mono / 1_000)).toEqual(Array.from({ length: taken }, (_, index) => index + 1));
  expect(troubles).toEqual(["disk full", ""]);
  stopping.abort(new Error("stopped"));
  await running;
});

it("the committer writes no reading twice if a commit reached the disk but reported an error", async () => {
  const clock = virtualClock({ wall: 0 });
  const readings: LogRecord[] = [];
  let last_take = 0;
  let calls = 0;
  const committer = committerOn(
    clock,
    {
      ingest: (_stream, records, take) => {
        calls += 1;
        if (take > last_take) readings.push(...records.filter(({ kind }) => kind === "r"));
        last_take = Math.max(last_take, take);
        return calls === 1 ? Promise.reject(new Error("i/o error")) : Promise.resolve(ingested(readings.length));
      },
    },
    () => undefined,
  );
  const stopping = new AbortController();
  committer.add(entry(1), true);
  const running = committer.run(stopping.signal);
  await clock.run(0);
  committer.add(entry(2), true);
  await clock.run(60_000);
  expect(readings.map(({ mono }) => mono / 1_000)).toEqual([1, 2]);
  expect(committer.pending()).toBe(0);
  stopping.abort(new Error("stopped"));
  await running;
});
