import type { Clock, Random } from "./machine.ts";
import type { Milliseconds } from "./units.ts";
import { mapWords, type Text } from "./message.ts";
import { errorText } from "./messages/message-error.ts";

interface Retrying {
  readonly clock: Pick<Clock, "sleep">;
  /** Returns the wait after a number of failures in a row; 0: after the first failure. */
  readonly wait: (failures: number) => Milliseconds;
  /** Aborts a wait. Attempts must watch the signal themselves. */
  readonly signal?: AbortSignal;
  /** Called before each wait with the length of the wait. */
  readonly waits?: (ms: Milliseconds) => void;
}

/**
 * Repeats an attempt until its outcome is no failure, and returns that outcome. `failed` judges an outcome after a number of earlier
 * failures: it returns null to accept the outcome, or else the shortest wait before the next attempt. Rejects like the attempt or `failed`,
 * and with the signal's reason if a wait is aborted.
 */
export async function retrying<T>(
  { clock, wait, signal, waits }: Retrying,
  attempt: () => Promise<T>,
  failed: (outcome: T, failures: number) => { readonly at_least_ms?: Milliseconds | null } | null,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    const outcome = await attempt();
    const failure = failed(outcome, failures);
    if (failure === null) return outcome;
    const ms = Math.max(failure.at_least_ms ?? 0, wait(failures));
    waits?.(ms);
    await clock.sleep(ms, signal);
  }
}

/** Maximum number of characters shown of an error, because its text may quote data from a peer. */
const MOST_CHARS = 300;

/** Returns an error's text, shortened for a status or a log line. */
export function shortMessage(error: unknown): Text {
  return mapWords(errorText(error), (words) => words.slice(0, MOST_CHARS));
}

export interface Backoff {
  /** Longest first wait. */
  readonly base_ms: Milliseconds;
  /** Longest wait, which applies after any number of failed attempts. */
  readonly cap_ms: Milliseconds;
}

/**
 * Returns a random wait with full jitter: uniform in [0, min(cap, base x 2^attempt)).
 *
 * @param attempt 0 after the first failure, 1 after the second, ...
 *
 * @param rnd returns a number that is uniform in [0, 1)
 */
export function fullJitter(attempt: number, backoff: Backoff, rnd: () => number): Milliseconds {
  // Needs no limit for the number of attempts: 2 ** 1024 is Infinity, which min() replaces by the cap.
  const ceiling = Math.min(backoff.cap_ms, backoff.base_ms * 2 ** Math.max(0, attempt));
  return Math.floor(rnd() * ceiling);
}

/** Returns a function from the number of failures in a row to a random wait with full jitter. */
export function jittered(backoff: Backoff, random: Pick<Random, "next">): (failures: number) => Milliseconds {
  return (failures) => fullJitter(failures, backoff, () => random.next());
}
