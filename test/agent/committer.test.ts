import { expect, it } from "vitest";
import type { LogRecord } from "../../src/core/types/record.ts";
import type { TakenEntry } from "../../src/core/types/taken.ts";
import { createCommitter } from "../../src/agent/committer.ts";
import type { Store } from "../../src/ports.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { virtualClock } from "../support/virtual-clock.ts";

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

it("a store that can't commit fills up to a bound; what was taken is committed later, in order, all of it", async () => {
  const clock = virtualClock({ wall: 0 });
  const way = { broken: true };
  const readings: LogRecord[] = [];
  const troubles: string[] = [];
  const store: Pick<Store, "ingest"> = {
    ingest: (_stream, records) => {
      if (way.broken) return Promise.reject(new Error("disk full"));
      readings.push(...records.filter(({ kind }) => kind === "r"));
      return Promise.resolve({
        newest_seq: readings.length,
        sendable_seq: readings.length,
        facts: [],
        state: {},
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
    },
  };
  const committer = createCommitter(
    {
      clock,
      random: seededRandom(1),
      // The committer needs no other call of the store.
      store: store as Store,
      tail: { leftover: () => [], append: () => undefined, committed: () => undefined, close: () => undefined },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      stream,
      interval_ms: 10_000,
      bridge: () => 15_000,
      committed: () => undefined,
      trouble: (reason) => void troubles.push(reason),
    },
    [],
  );
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
