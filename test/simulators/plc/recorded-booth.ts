import { linkLoop } from "../../../src/acquisition/link.ts";
import { createIntake } from "../../../src/acquisition/intake.ts";
import { parametersOf } from "../../../src/config/parameters.ts";
import type { Parameters } from "../../../src/domain/parameters.ts";
import type { LinkStatus } from "../../../src/domain/status.ts";
import type { TakenEntry } from "../../../src/domain/taken.ts";
import { emptyMemory, modbusDriver } from "../../../src/acquisition/modbus/driver.ts";
import { modbusLine } from "../../../src/acquisition/modbus/wire.ts";
import { sleepBy } from "../../../src/domain/signal.ts";
import type { Clock } from "../../../src/domain/machine.ts";
import { fold, valuesOf } from "../../support/booth.ts";
import { clickBooth } from "../../support/profiles.ts";
import { seededRandom } from "../../support/seeded-random.ts";

/** A booth that is read over real sockets while its time stands still, and advances only when some code sleeps. */

/** Everybody's sleeping is over at once, and takes its time all the same. */
export function jumpingClock(start: number): Clock {
  let mono = 0;
  const after: Clock["after"] = (ms, act) => {
    const timer = setImmediate(() => {
      mono += ms;
      act();
    });
    return () => clearImmediate(timer);
  };
  return {
    boot: "b1",
    wall: () => start + mono,
    mono: () => mono,
    synced: () => true,
    after,
    sleep: sleepBy(after),
  };
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Poll intervals of 10 s and 60 s; events between two polls stay unseen. */
export const RHYTHM = { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 60_000 } };

export function clickParameters(): Parameters {
  const config = {
    id: "b",
    profile: "click-booth",
    modbus: { host: "", port: 1 },
    poll: RHYTHM,
    bay_count: 1,
    filters: {},
    tz: "UTC",
    working_hours: [],
  };
  return parametersOf(clickBooth(), config);
}

/** Returns the stages and cycles that the agent's loop, intake and fold derive from the device at that port. */
export async function derivedFrom(port: number, clock: Clock, for_ms: number) {
  const profile = clickBooth();
  const parameters = clickParameters();
  const taken: TakenEntry[] = [];
  const info = { stream: "s", booth: "b", oldest_seq: 1, newest_seq: 0, sendable_seq: 0, acked_seq: 0, last_take: 0 };
  const tail = { leftover: () => [], append: () => undefined, committed: () => undefined, close: () => undefined };
  const intake = createIntake(
    {
      clock,
      tail,
      stream: info,
      parameters: () => parameters,
      identity: null,
      isFull: () => false,
      taken: (entry) => void taken.push(entry),
    },
    0,
  );
  intake.record((when) => ({ kind: "p", ...when, tag: "", value: parameters, quality: "good" }));
  let status: LinkStatus = { kind: "down", since: 0, reason: "", advice: "", attempt: 0, next_try_at: null };
  const kinds: string[] = [];
  const memory = emptyMemory();
  const ending = new AbortController();
  const ends = clock.mono() + for_ms;
  const until = {
    ...clock,
    sleep: (ms: number, signal?: AbortSignal) => {
      if (clock.mono() >= ends) ending.abort();
      return clock.sleep(ms, signal);
    },
  };
  await linkLoop(
    {
      clock: until,
      random: seededRandom(1),
      log: silent,
      probe_ms: () => 500,
      begins_in: 0,
      booths: [
        {
          booth: "b",
          address: "here",
          groups: parameters.groups,
          makeDriver: () =>
            modbusDriver({
              line: modbusLine({ host: "127.0.0.1", port }),
              profile,
              memory,
              mono: () => clock.mono(),
              timeouts: { answer_ms: 150 },
            }),
          intake,
          status: () => status,
          setStatus: (now) => {
            if (now.kind !== status.kind) kinds.push(now.kind);
            status = now;
          },
        },
      ],
    },
    ending.signal,
  );
  const { facts } = fold(taken, parameters, [50]);
  return { stages: valuesOf(facts, "m"), cycles: valuesOf(facts, "c"), kinds };
}
