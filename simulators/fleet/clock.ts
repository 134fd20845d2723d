import type { Clock } from "../../src/domain/machine.ts";
import { sleepBy } from "../../src/domain/signal.ts";

/** Longest real time of a timer, because the speed may change meanwhile. */
const SLICE_MS = 2_000;

/** The fleet's time, whose speed can be changed. */
export interface FleetClock extends Clock {
  setSpeed(speed: number): void;
  speed(): number;
}

export function fleetClock(speed: number, wall_ms: number = Date.now()): FleetClock {
  let pace = speed;
  let since = performance.now();
  let passed = 0;
  const mono = (): number => Math.floor(passed + (performance.now() - since) * pace);
  const after: Clock["after"] = (ms, act) => {
    const due = mono() + ms;
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      const left = due - mono();
      if (left <= 0) act();
      else timer = setTimeout(look, Math.min(SLICE_MS, Math.ceil(left / pace)));
    };
    // Not called before setTimeout has returned.
    timer = setTimeout(look, Math.max(0, Math.min(SLICE_MS, ms / pace)));
    return () => clearTimeout(timer);
  };
  return {
    boot: "fleet",
    mono,
    wall: () => wall_ms + mono(),
    synced: () => true,
    after,
    sleep: sleepBy(after),
    speed: () => pace,
    setSpeed(next) {
      [passed, since, pace] = [mono(), performance.now(), next];
    },
  };
}
