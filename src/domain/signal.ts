import type { Milliseconds } from "./units.ts";
import type { Clock } from "./machine.ts";

/** Lets one loop wait for another's news, or for time to pass. */
export interface Signal {
  raise(): void;
  /**
   * Resolves when it is raised next, or after `ms` where given. Registers before it returns, so that nothing raised after the
   * caller's last look is missed. Rejects with the signal's reason when aborted.
   */
  wait(signal: AbortSignal, ms?: Milliseconds): Promise<void>;
}

/** What loops wait for: `news` are few; `progress` is raised with each of them as well as at each commit and each ack, which concern few loops. */
export interface Signals {
  readonly news: Signal;
  readonly progress: Signal;
}

/** Signals for all, with a pair for each booth: raising a booth's own wakes those who wait for the shared ones too, raising the shared ones wakes everybody. */
export interface SharedSignals extends Signals {
  own(): Signals;
}

/** Who waits. */
type Waiting = Set<() => void>;

/** Cuts a sleep short that nobody waits for any more. Made once: each commit raises one, and an exception is dear to make. */
const WOKEN = new Error("woken");

export function createSignal(clock: Clock): Signal {
  const own: Waiting = new Set();
  return signalOf(clock, own, () => [own]);
}

function signalOf(clock: Clock, own: Waiting, wakes: () => readonly Waiting[]): Signal {
  return {
    raise() {
      for (const waiting of wakes()) for (const wake of [...waiting]) wake();
    },
    wait: (signal, ms) => waitFor({ clock, waiting: own }, signal, ms),
  };
}

export function createSignals(clock: Clock): SharedSignals {
  const waiting = (): { readonly news: Waiting; readonly progress: Waiting } => ({
    news: new Set(),
    progress: new Set(),
  });
  const shared = waiting();
  const owns: (typeof shared)[] = [];
  const signalsOf = (one: typeof shared, others: () => readonly (typeof shared)[]): Signals => ({
    news: signalOf(clock, one.news, () => [one, ...others()].flatMap(({ news, progress }) => [news, progress])),
    progress: signalOf(clock, one.progress, () => [one, ...others()].map(({ progress }) => progress)),
  });
  return {
    ...signalsOf(shared, () => owns),
    own() {
      const own = waiting();
      owns.push(own);
      return signalsOf(own, () => [shared]);
    },
  };
}

function waitFor(at: { clock: Clock; waiting: Waiting }, signal: AbortSignal, ms?: Milliseconds): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const sleeping = ms === undefined ? undefined : new AbortController();
    const finish = (settle: () => void): void => {
      at.waiting.delete(wake);
      signal.removeEventListener("abort", abort);
      sleeping?.abort(WOKEN);
      settle();
    };
    const wake = (): void => finish(resolve);
    const abort = (): void => finish(() => reject(signal.reason as Error));
    at.waiting.add(wake);
    signal.addEventListener("abort", abort, { once: true });
    // A sleep cut short rejects; whoever cut it has settled this promise already.
    if (ms !== undefined) at.clock.sleep(ms, sleeping?.signal).then(wake, () => undefined);
  });
}

/** Asks anew each time: the compiler takes a property read before an await for settled. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * What one round of a loop may take at most. Every wait inside has its own, far shorter deadline; a device that lets each of a
 * hundred requests run into its 2 s takes 200 s. Longer than this only a promise that nobody settles any more.
 */
export const LOOP_MS: Milliseconds = 300_000;

/**
 * A loop has come round, however its try went: the next time is within `within_ms` from now at the latest. Infinity: it waits
 * for news, which may never come.
 */
export type CameRound = (within_ms: Milliseconds) => void;

export interface Pulse {
  /** One more loop to watch; it counts from its first round on. */
  loop(name: string): CameRound;
  /** Loops that should have come round by now. */
  overdue(): readonly string[];
}

/** Knows of each loop by when it must come round again, in monotonic time. */
export function createPulse(clock: Pick<Clock, "mono">): Pulse {
  const due = new Map<string, Milliseconds>();
  return {
    loop: (name) => (within_ms) => void due.set(name, clock.mono() + within_ms),
    overdue: () => [...due].filter(([, by]) => by < clock.mono()).map(([name]) => name),
  };
}
