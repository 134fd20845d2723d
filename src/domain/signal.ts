import type { Milliseconds } from "./units.ts";
import type { Clock } from "./machine.ts";
import { createWaiters, type Waiters } from "./waiters.ts";

/** The callbacks to run when an abort signal is aborted. */
const aborting = new WeakMap<AbortSignal, Waiters<() => void>>();

/**
 * Calls `action` once when the signal is aborted, or immediately if it already is. Returns a function that cancels the call. Each abort signal
 * gets a single listener for all callers: a list of listeners would be searched from its start at each wait.
 */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) {
    action();
    return () => undefined;
  }
  return (aborting.get(signal) ?? watched(signal)).add(action);
}

function watched(signal: AbortSignal): Waiters<() => void> {
  const waiting = createWaiters<() => void>();
  aborting.set(signal, waiting);
  const tell = (): void => {
    for (const action of waiting.all()) action();
  };
  signal.addEventListener("abort", tell, { once: true });
  return waiting;
}

/** Returns the error that a signal was aborted with. */
function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** Returns a clock's `sleep`, made from its timers. */
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

/** Lets a loop wait until another loop raises the signal, or until time has passed. */
export interface Signal {
  raise(): void;
  /**
   * Resolves when the signal is raised next, or after `ms` if given. The wait is registered before this function returns, so the caller
   * misses no later raise. Rejects with the signal's reason when aborted.
   */
  wait(signal: AbortSignal, ms?: Milliseconds): Promise<void>;
}

/**
 * The events that loops wait for. `news` is raised for rare changes. `progress` is raised with each `news`, each commit and each ack; few
 * loops need it.
 */
export interface Signals {
  readonly news: Signal;
  readonly progress: Signal;
}

/**
 * Shared signals, with a separate pair of signals for each booth. Raising a booth's signal also wakes the waiters of the shared signal.
 * Raising a shared signal wakes all waiters.
 */
export interface SharedSignals extends Signals {
  /** Makes a pair of signals for a booth. `leave` is called when the booth ends: shared signals then don't wake the booth's waiters. */
  own(): Signals & { readonly leave: () => void };
}

/** The waiting callers, as functions that wake them. */
type Waiting = Waiters<() => void>;

export function createSignal(clock: Clock): Signal {
  const own: Waiting = createWaiters();
  return signalOf(clock, own, () => [own]);
}

function signalOf(clock: Clock, own: Waiting, wakes: () => readonly Waiting[]): Signal {
  return {
    raise() {
      // Each waiter removes itself from the list. If its caller waits again, it adds a new waiter.
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

/** Returns whether a signal is aborted. This is a function because TypeScript takes the property `aborted` as unchanged after an await. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * Longest time of one turn of a loop. Each wait in a turn has its own, far shorter deadline. A device that lets each of a hundred requests
 * run into the 2 s deadline takes 200 s. Only a promise that never settles takes longer than this limit.
 */
export const LOOP_MS: Milliseconds = 300_000;

/**
 * Reports that a loop has finished a turn, successful or not. The next turn will end within `within_ms` from now. Infinity: the loop waits
 * for news, which may never arrive, or has ended.
 */
export type CameRound = (within_ms: Milliseconds) => void;

export interface Pulse {
  /** Adds a loop to watch. Watching starts with the loop's first report. */
  loop(name: string): CameRound;
  /** Returns the loops that should have finished a turn by now. */
  overdue(): readonly string[];
}

/** Tracks, for each loop, the monotonic time by which it must finish its next turn. */
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
