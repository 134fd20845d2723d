import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/domain/machine.ts";
import { sleepBy } from "../../src/domain/signal.ts";

/** A clock that moves only on request, so that months of booth life take seconds and repeat exactly. */
export interface VirtualClock extends Clock {
  /** Runs everything that is due within `ms`, in order of time. */
  run(ms: number): Promise<void>;
  /** Runs until the condition is true. Throws if it isn't true within `within` ms of virtual time. */
  runUntil(condition: () => boolean, within: number): Promise<void>;
  /** Sets the wall clock; mono continues. */
  stepWall(ms: number): void;
  /** Returns the true time, whatever the wall clock shows. */
  truth(): number;
  /** Sets the kernel's statement about the wall clock. */
  setSynced(synced: boolean): void;
  /** Reboots the gateway: a new boot, mono from 0, and the wall clock at `wall`. */
  reboot(wall: number): void;
  /** Number of pending sleeps. */
  sleeping(): number;
}

/**
 * Number of turns without a new timer after which everything has settled: an abort may run through several loops in
 * turn.
 */
const IDLE_TURNS = 20;

export function virtualClock(options: { wall: number; mono?: number; boot?: string }): VirtualClock {
  let mono = options.mono ?? 0;
  const truth = options.wall - mono;
  let offset = truth;
  let boots = 1;
  let bootedAt = 0;
  let synced = true;
  let order = 0;
  const timers = timerQueue();
  // A turn of the event loop settles every chain of promises, because none waits for real time.
  const settle = (): Promise<void> => turn();
  const fireNext = async (until: number): Promise<boolean> => {
    await settle();
    const next = timers.first();
    if (next === undefined || next.due > until) return false;
    timers.remove(next);
    mono = Math.max(mono, next.due);
    next.fire();
    return true;
  };
  const run = async (ms: number): Promise<void> => {
    const until = mono + Math.round(ms);
    while (await fireNext(until));
    mono = until;
    await settle();
  };
  const after: Clock["after"] = (ms, fire) => {
    const timer: Timer = { due: mono + Math.max(0, Math.round(ms)), order: ++order, fire };
    timers.add(timer);
    return () => timers.remove(timer);
  };
  return {
    get boot() {
      return boots === 1 ? (options.boot ?? "boot-1") : `boot-${boots}`;
    },
    wall: () => mono + offset,
    mono: () => mono - bootedAt,
    synced: () => synced,
    truth: () => mono + truth,
    setSynced(says) {
      synced = says;
    },
    reboot(wall) {
      boots += 1;
      bootedAt = mono;
      offset = wall - mono;
    },
    after,
    sleep: sleepBy(after),
    run,
    async runUntil(condition, within) {
      const until = mono + Math.round(within);
      await settle();
      for (let idle = 0; !condition();) {
        if (await fireNext(until)) idle = 0;
        else if (++idle > IDLE_TURNS) throw new Error(`nothing happened within ${within} ms of virtual time`);
      }
    },
    stepWall(ms) {
      offset += ms;
    },
    sleeping: () => timers.size(),
  };
}

interface Timer {
  readonly due: number;
  /** If two timers are due at once, the one with the lower order fires first. */
  readonly order: number;
  readonly fire: () => void;
}

interface TimerQueue {
  add(timer: Timer): void;
  /** Does nothing if the timer has been removed. */
  remove(timer: Timer): void;
  first(): Timer | undefined;
  size(): number;
}

/** A binary heap by time: an agent sets some ten timers for each one that fires. */
function timerQueue(): TimerQueue {
  const heap: Timer[] = [];
  const waiting = new Set<Timer>();
  const isBefore = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.order < b.order);
  const swapped = (a: number, b: number): boolean => {
    const one = heap[a];
    const other = heap[b];
    if (one === undefined || other === undefined || !isBefore(other, one)) return false;
    [heap[a], heap[b]] = [other, one];
    return true;
  };
  const drop = (): void => {
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const least = left !== undefined && right !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
      if (!swapped(at, least)) return;
      at = least;
    }
  };
  return {
    add(timer) {
      waiting.add(timer);
      let at = heap.push(timer) - 1;
      while (at > 0 && swapped((at - 1) >> 1, at)) at = (at - 1) >> 1;
    },
    // The timer stays in the heap until it reaches the top.
    remove: (timer) => void waiting.delete(timer),
    first() {
      for (let top = heap[0]; top !== undefined; top = heap[0]) {
        if (waiting.has(top)) return top;
        drop();
      }
      return undefined;
    },
    size: () => waiting.size,
  };
}
