import { addAbortListener } from "node:events";
import type { Clock } from "../domain/machine.ts";
import { isOver, onAbort } from "../domain/signal.ts";
import type { Milliseconds } from "../domain/units.ts";

/** A part of the agent that can be ended separately. */
export interface Part {
  /** Aborts when the part starts to end. */
  readonly signal: AbortSignal;
  /** Ends the part. Resolves once all its loops have ended. For a writer, it rejects if the last write failed. */
  end(): Promise<void>;
}

/** A loop that runs until the signal aborts. */
export type Loop = (signal: AbortSignal) => Promise<unknown>;

/** The loops of a part by name. Names are unique in the agent, and the log names a loop that fails. */
export type Loops = Readonly<Record<string, Loop>>;

/** Hooks with which the composition and tests observe the loops. */
export interface LoopWatch {
  /** Called once with the first error that ends the parts, before anything is closed. `loop`: the loop that threw the error, if known. */
  readonly failed?: (error: Error, loop: string | null) => void;
  /** Runs a loop. Tests and the simulation use this hook to make a named loop fail; absent: the loop runs unchanged. */
  readonly runLoop?: (name: string, loop: Loop, signal: AbortSignal) => Promise<unknown>;
}

export type Parts = ReturnType<typeof createParts>;

/**
 * Time limit for ending the parts in order after a failure. After it, `finished` rejects even if a part hangs, so that the process exits
 * within 5 s. A normal stop has no such limit here.
 */
export const FAILED_END_MS: Milliseconds = 3_000;

/**
 * Supervises the loops of the agent. Parts start and end separately, and all end with the signal. If a loop throws, or ends while its part
 * is running, all parts end and `finished` rejects. The service manager then restarts the agent.
 *
 * Parts that take readings end first, and then the writers, which store what was taken. Parts that only report to others end in parallel,
 * and the writers don't wait for them.
 */
export function createParts(signal: AbortSignal, clock: Pick<Clock, "sleep">, watch: LoopWatch = {}) {
  const ending = new AbortController();
  const all = AbortSignal.any([signal, ending.signal]);
  const over = Promise.withResolvers<undefined>();
  const takers = new Set<Part>();
  const writers = new Set<Part>();
  const tellers = new Set<Part>();
  const failed = (cause: unknown, loop: string | null = null): void => {
    if (isOver(all)) return;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    watch.failed?.(error, loop);
    over.reject(error);
    ending.abort();
  };
  addAbortListener(all, () => over.resolve(undefined));
  const start = starter(watch, failed);
  const endAll = async (): Promise<void> => {
    const tellersEnded = endOf(tellers);
    await endOf(takers);
    try {
      await endOf(writers);
    } finally {
      await tellersEnded;
    }
  };
  const untilOver = async (): Promise<void> => {
    try {
      await over.promise;
    } catch (error) {
      const ended = new AbortController();
      const limit = clock.sleep(FAILED_END_MS, ended.signal).catch(() => undefined);
      await Promise.race([endAll().catch(() => undefined), limit]);
      ended.abort();
      throw error;
    }
    ending.abort();
    await endAll();
  };
  const beginAmong = (among: Set<Part>, loops: Loops): Part => {
    const own = new AbortController();
    const forget = onAbort(all, () => own.abort());
    const running = start(loops, own.signal);
    return addPart(among, own, () => Promise.allSettled(running).finally(forget));
  };
  const finished = untilOver();
  // Keeps a failure from being reported as unhandled. The composition awaits `finished` later.
  finished.catch(() => undefined);
  return {
    /** Aborts when all parts start to end. */
    signal: all,
    /** Resolves once all parts have ended. Rejects with the first error that made them end. */
    finished,
    /** Ends all parts after an error that cannot be handled. */
    failed,
    begin: (loops: Loops): Part => beginAmong(takers, loops),
    /** Starts a part that only reports to others. */
    beginTeller: (loops: Loops): Part => beginAmong(tellers, loops),
    /** Starts a part that writes what other parts have taken. */
    beginWriter(loops: Loops): Part {
      const own = new AbortController();
      const running = start(loops, own.signal);
      return addPart(writers, own, () => Promise.all(running));
    },
  };
}

/** Returns a function that starts the loops of a part. If a loop throws, or ends while the part is running, `failed` is called. */
function starter({ runLoop }: LoopWatch, failed: (error: unknown, loop: string) => void) {
  return (loops: Loops, own: AbortSignal): readonly Promise<unknown>[] =>
    Object.entries(loops).map(([name, loop]) => {
      const running = runLoop === undefined ? loop(own) : runLoop(name, loop, own);
      const fail = (error: unknown): void => {
        if (!own.aborted) failed(error, name);
      };
      running.then(() => fail(new Error("it ended although nothing told it to end")), fail);
      return running;
    });
}

/** Adds a part. To end it, its controller is aborted and its loops are awaited. */
function addPart(among: Set<Part>, own: AbortController, loopsEnd: () => Promise<unknown>): Part {
  const part: Part = {
    signal: own.signal,
    async end() {
      own.abort();
      await loopsEnd().finally(() => among.delete(part));
    },
  };
  among.add(part);
  return part;
}

/** Runs several loops as one. Rejects at once if a loop fails. After an abort, waits until every loop has ended. */
export async function together(loops: readonly Promise<unknown>[], signal: AbortSignal): Promise<void> {
  const broken = Promise.withResolvers<never>();
  for (const loop of loops) {
    loop.catch((error: unknown) => {
      if (!isOver(signal)) broken.reject(error instanceof Error ? error : new Error(String(error)));
    });
  }
  await Promise.race([Promise.allSettled(loops), broken.promise]);
}

/** Returns a function that runs tasks one after the other. After a failed task, the next one still runs. */
export function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(task: () => T | Promise<T>): Promise<T> => {
    const done = last.then(task);
    last = done.catch(() => undefined);
    return done;
  };
}

function endOf(parts: ReadonlySet<Part>): Promise<unknown> {
  return Promise.all([...parts].map((part) => part.end()));
}
