import { HttpError } from "../base/errors.ts";

/** Maximum number of requests that wait for a password's hash: about five seconds of work. */
const MAX_WAITING = 100;
/** Maximum of one network address, so that it can't keep the others out. */
const MAX_WAITING_HERE = 20;
const RETRY_AFTER_S = 5;

/**
 * Returns a function that runs work with passwords one after another, so that hashing takes one core at most. Throws
 * 503 if too many wait.
 */
export function hashingQueue(): <T>(address: string, work: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const waitingAt = new Map<string, number>();
  return async (address, work) => {
    const here = waitingAt.get(address) ?? 0;
    if (waiting >= MAX_WAITING || here >= MAX_WAITING_HERE)
      throw new HttpError(503, "too many sign-ins at once: wait, then try again", RETRY_AFTER_S);
    waiting += 1;
    waitingAt.set(address, here + 1);
    const done = last.then(work);
    last = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      waiting -= 1;
      const left = (waitingAt.get(address) ?? 1) - 1;
      if (left === 0) waitingAt.delete(address);
      else waitingAt.set(address, left);
    }
  };
}
