import type { Milliseconds } from "./units.ts";
import type { Clock } from "./machine.ts";

/** Lets one loop wait for another's news, or for time to pass. */
export interface Signal {
  ring(): void;
  /**
   * Resolves at the next ring, or after `ms` where given. Registers before it returns, so that nothing that rings after
   * the caller's last look is missed. Rejects with the signal's reason when aborted.
   */
  wait(signal: AbortSignal, ms?: Milliseconds): Promise<void>;
}

/** A bell of all, with one of its own for each of them. */
export interface SharedSignal extends Signal {
  /** Who waits for one of these hears it and the shared one; who waits for the shared one hears them all. */
  own(): Signal;
}

/** Who waits. */
type Waiting = Set<() => void>;

/** Cuts a sleep short that nobody waits for any more. Made once: each commit rings, and an exception is dear to make. */
const WOKEN = new Error("woken");

export function createSignal(clock: Clock): SharedSignal {
  const shared: Waiting = new Set();
  const owns: Waiting[] = [];
  const bellOf = (own: Waiting, hearers: () => readonly Waiting[]): Signal => ({
    ring() {
      for (const waiting of hearers()) for (const wake of [...waiting]) wake();
    },
    wait: (signal, ms) => waitFor({ clock, waiting: own }, signal, ms),
  });
  return {
    ...bellOf(shared, () => [shared, ...owns]),
    own() {
      const own: Waiting = new Set();
      owns.push(own);
      return bellOf(own, () => [own, shared]);
    },
  };
}

function waitFor(bell: { clock: Clock; waiting: Waiting }, signal: AbortSignal, ms?: Milliseconds): Promise<void> {
  return new Promise((resolve, reject) => {
    let endSleep = (): void => undefined;
    const finish = (settle: () => void): void => {
      bell.waiting.delete(wake);
      signal.removeEventListener("abort", abort);
      endSleep();
      settle();
    };
    const wake = (): void => finish(resolve);
    const abort = (): void => finish(() => reject(signal.reason as Error));
    bell.waiting.add(wake);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener("abort", abort, { once: true });
    if (ms === undefined) return;
    const timer = new AbortController();
    endSleep = () => timer.abort(WOKEN);
    // A sleep cut short by `timer` rejects; whoever cut it has settled this promise already.
    bell.clock.sleep(ms, timer.signal).then(wake, () => undefined);
  });
}

/** Asks anew each time: the compiler takes a property read before an await for settled. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
