import { addAbortListener } from "node:events";
import type { Clock } from "../domain/machine.ts";
import { isOver, onAbort } from "../domain/signal.ts";
import type { Milliseconds } from "../domain/units.ts";

/** A part of the agent that can be ended on its own. */
export interface Part {
  /** Aborts when the part ends. */
  readonly signal: AbortSignal;
  /** Resolves once all loops of the part have ended. For a writer it rejects if the last write failed. */
  end(): Promise<void>;
}

/** A loop that runs until the signal aborts. */
export type Loop = (signal: AbortSignal) => Promise<unknown>;

/** The loops of one part. Each name is unique in the agent, and appears in the log if the loop fails. */
export type Loops = Readonly<Record<string, Loop>>;

/** Hooks through which the composition and tests observe the loops. */
export interface LoopWatch {
  /** Called once, before anything is closed, with the first error that ends the parts; `loop` is where it was thrown, if known. */
  readonly failed?: (error: Error, loop: string | null) => void;
  /** Runs a loop. Tests and the simulation use it to make a loop fail by its name; absent: the loop runs unchanged. */
  readonly runLoop?: (name: string, loop: Loop, signal: AbortSignal) => Promise<unknown>;
}

export type Parts = ReturnType<typeof createParts>;

/**
 * Time that the parts have to end in order after a failure. Then `finished` rejects even if a part still hangs, so that the process
 * exits within 5 s. A stop without a failure isn't limited here.
 */
export const FAILED_END_MS: Milliseconds = 3_000;

/**
 * Supervises the loops of the agent. Each part begins and ends on its own, and all end with the signal. If a loop throws, or ends
 * while its part still runs, all parts end and `finished` rejects, so that the service manager starts the agent again.
 *
 * Parts end in this order: parts that take readings; then writers, which store what was taken. Parts that only report to others end
 * at the same time, and the writers don't wait for them.
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
    const told = endOf(tellers);
    await endOf(takers);
    try {
      await endOf(writers);
    } finally {
      await told;
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
  // The composition awaits `finished` later.
  finished.catch(() => undefined);
  return {
    /** Aborts when all parts end. */
    signal: all,
    /** Resolves once all parts have ended. Rejects with the first error that ended them. */
    finished,
    /** Ends all parts because of an error that cannot be repaired here. */
    failed,
    begin: (loops: Loops): Part => beginAmong(takers, loops),
    /** Begins a part that only reports to others. */
    beginTeller: (loops: Loops): Part => beginAmong(tellers, loops),
    /** Begins a part that writes what other parts have taken. */
    beginWriter(loops: Loops): Part {
      const own = new AbortController();
      const running = start(loops, own.signal);
      return addPart(writers, own, () => Promise.all(running));
    },
  };
}

/** Returns a function that starts the loops of a part. A loop that throws, or that ends while the part still runs, calls `failed`. */
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

/** Adds a part that ends by aborting its controller and waiting for its loops. */
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

/** Runs several loops as one: rejects at once if one of them fails, and after an abort waits until each has ended. */
export async function together(loops: readonly Promise<unknown>[], signal: AbortSignal): Promise<void> {
  const broken = Promise.withResolvers<never>();
  for (const loop of loops) {
    loop.catch((error: unknown) => {
      if (!isOver(signal)) broken.reject(error instanceof Error ? error : new Error(String(error)));
    });
  }
  await Promise.race([Promise.allSettled(loops), broken.promise]);
}

/** Returns a function that runs its tasks one after the other. A task that fails doesn't keep the next one from running. */
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
