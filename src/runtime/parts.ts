import { addAbortListener } from "node:events";
import { onAbort } from "../domain/signal.ts";

/** A piece of the agent that was begun, and can be ended by itself. */
export interface Part {
  /** Aborted when it ends. */
  readonly signal: AbortSignal;
  /** Resolves once all its loops have ended; of a writer it rejects where what was left to write came to nothing. */
  end(): Promise<void>;
}

/** Begins loops, which end when the signal aborts. */
type Run = (signal: AbortSignal) => readonly Promise<unknown>[];

export type Parts = ReturnType<typeof createParts>;

/**
 * The pieces that an agent is made of: each is begun and ended by itself, and all end with the signal. A loop that throws ends
 * all of them, so that the service manager starts the agent anew: each loop mends what can be mended itself.
 */
export function createParts(signal: AbortSignal) {
  const ending = new AbortController();
  const all = AbortSignal.any([signal, ending.signal]);
  const over = Promise.withResolvers<undefined>();
  const [takers, writers, tellers] = [new Set<Part>(), new Set<Part>(), new Set<Part>()];
  const failed = (error: unknown): void => over.reject(error instanceof Error ? error : new Error(String(error)));
  addAbortListener(all, () => over.resolve(undefined));
  const begun = (run: Run, own: AbortSignal): readonly Promise<unknown>[] => {
    const loops = run(own);
    for (const loop of loops) {
      loop.catch((error: unknown) => {
        if (!own.aborted) failed(error);
      });
    }
    return loops;
  };
  const untilOver = async (): Promise<void> => {
    try {
      await over.promise;
    } finally {
      ending.abort();
      const told = endOf(tellers);
      await endOf(takers);
      await endOf(writers).finally(() => told);
    }
  };
  const beginAmong = (among: Set<Part>, run: Run): Part => {
    const own = new AbortController();
    const forget = onAbort(all, () => own.abort());
    const loops = begun(run, own.signal);
    const part: Part = {
      signal: own.signal,
      async end() {
        own.abort();
        await Promise.allSettled(loops);
        forget();
        among.delete(part);
      },
    };
    among.add(part);
    return part;
  };
  const finished = untilOver();
  // Whoever runs the agent hears of it, once there is one.
  finished.catch(() => undefined);
  return {
    /** Aborted when all of it ends. */
    signal: all,
    /** Resolves once all has ended; rejects where a part failed beyond mending. */
    finished,
    /** Something can't be mended: all of it ends. */
    failed,
    begin: (run: Run): Part => beginAmong(takers, run),
    /** What tells others of it, and takes nothing: where all ends, nobody waits with what is to be written for its last words. */
    beginTeller: (run: Run): Part => beginAmong(tellers, run),
    /** What writes what others take: where all ends, it ends last. */
    beginWriter(run: Run): Part {
      const own = new AbortController();
      const loops = begun(run, own.signal);
      const part: Part = {
        signal: own.signal,
        async end() {
          own.abort();
          await Promise.all(loops).finally(() => writers.delete(part));
        },
      };
      writers.add(part);
      return part;
    },
  };
}

function endOf(parts: ReadonlySet<Part>): Promise<unknown> {
  return Promise.all([...parts].map((part) => part.end()));
}
