import type { Db } from "../storage/db.ts";
import { HttpError } from "../base/errors.ts";

/** Maximum number of stored guessers. The oldest is dropped. */
const MAX_GUESSERS = 10_000;

interface GuessRules {
  /** Number of wrong guesses within the window before requests are blocked. */
  readonly free: number;
  readonly window_ms: number;
}

/** A machine with a wrong key retries every quarter of an hour, an attacker as fast as possible. */
export const KEY_GUESSES: GuessRules = { free: 100, window_ms: 60_000 };
/** A person mistypes a password a few times. */
const PASSWORD_GUESSES: GuessRules = { free: 10, window_ms: 15 * 60_000 };

/** Counts the wrong keys or passwords of each guesser. */
interface Guesses {
  /** Throws 429 if the guesser has reached the limit. The key or password isn't checked then. */
  check(guesser: string, now: number): void;
  wrong(guesser: string, now: number): void;
}

const ofPasswords = new WeakMap<Db, Guesses>();

/** Returns the counter of password guesses. Guesses are counted per user, from any address. */
export function passwordGuesses(db: Db): Guesses {
  const guesses = ofPasswords.get(db) ?? countGuesses(PASSWORD_GUESSES);
  ofPasswords.set(db, guesses);
  return guesses;
}

export function countGuesses({ free, window_ms }: GuessRules): Guesses {
  const counts = new Map<string, { readonly since: number; wrong: number }>();
  const current = (guesser: string, now: number): { readonly since: number; wrong: number } | undefined => {
    const found = counts.get(guesser);
    return found !== undefined && now - found.since < window_ms ? found : undefined;
  };
  return {
    check: (guesser, now) => {
      if ((current(guesser, now)?.wrong ?? 0) >= free) {
        throw new HttpError(429, "too many wrong keys or passwords: wait, then try again");
      }
    },
    wrong: (guesser, now) => {
      const found = current(guesser, now);
      if (found !== undefined) {
        found.wrong += 1;
        return;
      }
      counts.delete(guesser);
      const [oldest] = counts.keys();
      if (counts.size >= MAX_GUESSERS && oldest !== undefined) counts.delete(oldest);
      counts.set(guesser, { since: now, wrong: 1 });
    },
  };
}
