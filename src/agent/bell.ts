import type { Milliseconds } from "../core/types/units.ts";
import type { Clock } from "../ports.ts";

/** Lets one loop wait for another's news, or for time to pass. */
export interface Bell {
  ring(): void;
  /**
   * Resolves at the next ring, or after `ms` where given. Registers before it returns, so that nothing that rings after
   * the caller's last look is missed. Rejects with the signal's reason when aborted.
   */
  wait(signal: AbortSignal, ms?: Milliseconds): Promise<void>;
}

/** Cuts a sleep short that nobody waits for any more. Made once: each poll rings, and an exception is dear to make. */
const WOKEN = new Error("woken");

export function createBell(clock: Clock): Bell {
  const waiting = new Set<() => void>();
  return {
    ring() {
      for (const wake of [...waiting]) wake();
    },
    wait: (signal, ms) => waitFor({ clock, waiting }, signal, ms),
  };
}

function waitFor(
  bell: { clock: Clock; waiting: Set<() => void> },
  signal: AbortSignal,
  ms?: Milliseconds,
): Promise<void> {
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
