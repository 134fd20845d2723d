import type { Loop, LoopWatch } from "../../src/runtime/parts.ts";

type RunLoop = NonNullable<LoopWatch["runLoop"]>;

export interface BrokenLoop {
  readonly runLoop: RunLoop;
  /** Names of the loops that were started so far. */
  readonly names: () => readonly string[];
  /** Makes a loop throw, as if by a programmer's error. Throws if no such loop runs. */
  breakLoop(name: string, error: Error): void;
  /** Makes a loop end without an error. Throws if no such loop runs. */
  endLoop(name: string): void;
}

export interface BrokenLoopOptions {
  /** After a failure every other loop ignores the abort and never ends. */
  readonly hang?: boolean;
}

/** Lets a test or the simulation break any loop of an agent by its name. Pass `runLoop` to the agent as `watch.runLoop`. */
export function breakableLoops({ hang = false }: BrokenLoopOptions = {}): BrokenLoop {
  const running = new Map<string, PromiseWithResolvers<undefined>>();
  let isBroken = false;
  const endBy = (name: string): PromiseWithResolvers<undefined> => {
    const way = running.get(name);
    if (way === undefined) throw new Error(`no loop ${name} runs: ${[...running.keys()].join(", ")}`);
    isBroken = true;
    return way;
  };
  const runLoop = async (name: string, loop: Loop, signal: AbortSignal): Promise<unknown> => {
    const way = Promise.withResolvers<undefined>();
    const own = new AbortController();
    running.set(name, way);
    const run = loop(AbortSignal.any([signal, own.signal]));
    try {
      return await Promise.race([run, way.promise]);
    } finally {
      running.delete(name);
      own.abort();
      if (!hang) await run.catch(() => undefined);
      if (hang && isBroken && signal.aborted) await new Promise(() => undefined);
    }
  };
  return {
    runLoop,
    names: () => [...running.keys()],
    breakLoop: (name, error) => endBy(name).reject(error),
    endLoop: (name) => endBy(name).resolve(undefined),
  };
}
