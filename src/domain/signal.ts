import type { Milliseconds } from "./units.ts";
import type { Clock } from "./machine.ts";
import { createWaiters, type Waiters } from "./waiters.ts";

/** Callbacks by abort signal. */
const aborting = new WeakMap<AbortSignal, Waiters<() => void>>();

/**
 * Calls `act` once when the signal is aborted: at once where it is already. What it returns takes that back. Each signal gets one
 * listener, whatever the number of those who wait: a list of listeners is searched from its begin at each wait, and grows with their number.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  return (aborting.get(signal) ?? watched(signal)).add(act);
}

function watched(signal: AbortSignal): Waiters<() => void> {
  const waiting = createWaiters<() => void>();
  aborting.set(signal, waiting);
  const tell = (): void => {
    for (const act of waiting.all()) act();
  };
  signal.addEventListener("abort", tell, { once: true });
  return waiting;
}

/** Returns the error a signal was aborted with. */
function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** A clock's sleep, by its timers. */
export function sleepBy(after: Clock["after"]): Clock["sleep"] {
  return (ms, signal) =>
    signal?.aborted === true
      ? Promise.reject(reasonOf(signal))
      : new Promise((resolve, reject) => {
          const wake = after(ms, () => {
            forget?.();
            resolve();
          });
          const abort = (): void => {
            wake();
            reject(reasonOf(signal));
          };
          const forget = signal === undefined ? undefined : onAbort(signal, abort);
        });
}

/** Lets one loop wait for another's news, or for time to pass. */
export interface Signal {
  raise(): void;
  /**
   * Resolves when it is raised next, or after `ms` where given. Registers before it returns, so that nothing raised after the
   * caller's last look is missed. Rejects with the signal's reason when aborted.
   */
  wait(signal: AbortSignal, ms?: Milliseconds): Promise<void>;
}

/**
 * The events that loops wait for. `news` are rare. `progress` is raised with each of them, and also at each commit and each ack,
 * which few loops need.
 */
export interface Signals {
  readonly news: Signal;
  readonly progress: Signal;
}

/** Signals for all, with a pair for each booth: raising a booth's own wakes those who wait for the shared ones too, raising the shared ones wakes everybody. */
export interface SharedSignals extends Signals {
  /** `leave` is called when the booth ends; then shared signals no longer wake those who wait for its own. */
  own(): Signals & { readonly leave: () => void };
}

/** The waiting callers, each with the function that wakes it. */
type Waiting = Waiters<() => void>;

export function createSignal(clock: Clock): Signal {
  const own: Waiting = createWaiters();
  return signalOf(clock, own, () => [own]);
}

function signalOf(clock: Clock, own: Waiting, wakes: () => readonly Waiting[]): Signal {
  return {
    raise() {
      // Each waiter removes itself. A caller that waits again is added later.
      for (const waiting of wakes()) for (const wake of waiting.all()) wake();
    },
    wait: (signal, ms) => waitFor({ clock, waiting: own }, signal, ms),
  };
}

export function createSignals(clock: Clock): SharedSignals {
  const waiting = (): { readonly news: Waiting; readonly progress: Waiting } => ({
    news: createWaiters(),
    progress: createWaiters(),
  });
  const shared = waiting();
  const owns = new Set<typeof shared>();
  const signalsOf = (one: typeof shared, others: () => readonly (typeof shared)[]): Signals => ({
    news: signalOf(clock, one.news, () => [one, ...others()].flatMap(({ news, progress }) => [news, progress])),
    progress: signalOf(clock, one.progress, () => [one, ...others()].map(({ progress }) => progress)),
  });
  return {
    ...signalsOf(shared, () => [...owns]),
    own() {
      const own = waiting();
      owns.add(own);
      return { ...signalsOf(own, () => [shared]), leave: () => void owns.delete(own) };
    },
  };
}

function waitFor(at: { clock: Clock; waiting: Waiting }, signal: AbortSignal, ms?: Milliseconds): Promise<void> {
  if (signal.aborted) return Promise.reject(reasonOf(signal));
  return new Promise((resolve, reject) => {
    const over = (): void => {
      leave();
      forget();
      stop?.();
    };
    const wake = (): void => {
      over();
      resolve();
    };
    const forget = onAbort(signal, () => {
      over();
      reject(reasonOf(signal));
    });
    const leave = at.waiting.add(wake);
    const stop = ms === undefined ? undefined : at.clock.after(ms, wake);
  });
}

/** Returns whether a signal is aborted. A function, because the compiler takes a property checked before an await as unchanged. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * Longest time of one turn of a loop. Every wait inside has its own, far shorter deadline: a device that lets each of a hundred
 * requests run into its 2 s takes 200 s. Only a promise that is never settled takes longer.
 */
export const LOOP_MS: Milliseconds = 300_000;

/**
 * A loop has come round, however its try went: the next time is within `within_ms` from now at the latest. Infinity: it waits
 * for news, which may never come, or has ended.
 */
export type CameRound = (within_ms: Milliseconds) => void;

export interface Pulse {
  /** Adds a loop to watch. It counts from its first turn on. */
  loop(name: string): CameRound;
  /** Loops that should have come round by now. */
  overdue(): readonly string[];
}

/** Knows of each loop by when it must come round again, in monotonic time. */
export function createPulse(clock: Pick<Clock, "mono">): Pulse {
  const due = new Map<string, Milliseconds>();
  return {
    loop: (name) => (within_ms) => {
      if (within_ms === Number.POSITIVE_INFINITY) due.delete(name);
      else due.set(name, clock.mono() + within_ms);
    },
    overdue: () => [...due].filter(([, by]) => by < clock.mono()).map(([name]) => name),
  };
}
