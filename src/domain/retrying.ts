import type { Clock, Random } from "./machine.ts";
import type { Milliseconds } from "./units.ts";
import { mapWords, type Text } from "./message.ts";
import { errorText } from "./messages/message-error.ts";

interface Retrying {
  readonly clock: Pick<Clock, "sleep">;
  /** The wait after so many failures in a row; 0: after the first. */
  readonly wait: (failures: number) => Milliseconds;
  /** Cuts a wait short; an attempt looks after it itself. */
  readonly signal?: AbortSignal;
  /** Called before each wait with its length. */
  readonly waits?: (ms: Milliseconds) => void;
}

/**
 * Makes an attempt again until what comes of it is no failure, and gives that. `failed`: what an outcome means, after so many
 * failures before it: another attempt, after so long at least; null: it is none, or it is one that is lived with. Rejects as an attempt or `failed` does, and with the signal's
 * reason once a wait is cut short.
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

/** Characters of an error that are shown: its text may quote what a peer sent. */
const MOST_CHARS = 300;

/** Returns an error's text for a status or a log line. */
export function shortMessage(error: unknown): Text {
  return mapWords(errorText(error), (words) => words.slice(0, MOST_CHARS));
}

export interface Backoff {
  /** Upper bound of the first wait. */
  readonly base_ms: Milliseconds;
  /** Upper bound of any wait. */
  readonly cap_ms: Milliseconds;
}

/**
 * Full jitter: uniform in [0, min(cap, base x 2^attempt)).
 * @param attempt 0 after the first failure, 1 after the second, ...
 * @param rnd uniform in [0, 1)
 */
export function fullJitter(attempt: number, backoff: Backoff, rnd: () => number): Milliseconds {
  // 2 ** 1024 is Infinity: min() makes the cap of it, so attempts needn't be bounded by the caller.
  const ceiling = Math.min(backoff.cap_ms, backoff.base_ms * 2 ** Math.max(0, attempt));
  return Math.floor(rnd() * ceiling);
}

/** Waits of full jitter, by failures in a row. */
export function jittered(backoff: Backoff, random: Pick<Random, "next">): (failures: number) => Milliseconds {
  return (failures) => fullJitter(failures, backoff, () => random.next());
}
