import { LinkError } from "../../domain/link-error.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** What is under way on one connection: at most one thing, which always settles. */
export interface OneAtATime<T> {
  /** Rejects at once where something is under way, or after the end; `late` says what happens when its time is over. */
  readonly begin: (ms: Milliseconds, late: () => void, act: () => void) => Promise<T>;
  /** What is under way has its answer. */
  readonly done: (answer: T) => void;
  /** What is under way rejects with `error`, and so does everything after. The first reason stays. */
  readonly end: (error: LinkError) => void;
  /** Why; null: it hasn't ended. */
  readonly ended: () => LinkError | null;
}

interface Pending<T> {
  readonly resolve: (answer: T) => void;
  readonly reject: (error: LinkError) => void;
  readonly timer: NodeJS.Timeout;
}

/** `destroy` frees the connection, once, before what is under way learns of the end. */
export function oneAtATime<T>(destroy: () => void): OneAtATime<T> {
  let pending: Pending<T> | null = null;
  let ended: LinkError | null = null;
  const take = (): Pending<T> | null => {
    const taken = pending;
    pending = null;
    clearTimeout(taken?.timer);
    return taken;
  };
  return {
    begin: (ms, late, act) =>
      new Promise((resolve, reject) => {
        if (ended !== null || pending !== null) {
          reject(ended ?? new LinkError("config", "a request is already under way"));
          return;
        }
        pending = { resolve, reject, timer: setTimeout(late, ms) };
        act();
      }),
    done: (answer) => take()?.resolve(answer),
    end: (error) => {
      if (ended !== null) return;
      ended = error;
      destroy();
      take()?.reject(error);
    },
    ended: () => ended,
  };
}

/** The error of something whose time is over. */
export function overdue(what: string, ms: Milliseconds): LinkError {
  return new LinkError("timeout", `no ${what} within ${ms} ms`);
}
