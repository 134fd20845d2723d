import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { Way } from "./access.ts";
import { createRate } from "./rate.ts";

const PIN_DIGITS = 8;
/** Of one sender, before it is locked; each further lock of it lasts twice as long. */
const MAX_WRONG = 5;
const LOCK_MS = 300_000;
/** Senders whose wrong PINs are remembered; the one that has been silent longest is forgotten. */
const MAX_SENDERS = 1_000;
/**
 * PINs that are looked at from all senders of one way together: at the most that this lets through in the longest time that a
 * PIN holds, a guess at eight digits succeeds once in 2,000 times. What one machine may try before it is locked is far
 * below, so it takes hundreds of addresses at once to keep others waiting, and those of the network never keep the box's own.
 */
const GUESSES = { per_s: 1, burst: 120 };
/** A technician's phone, laptop and a colleague's; the oldest goes. */
const MAX_SESSIONS = 16;

export type Entry =
  | { readonly kind: "open"; readonly token: string; readonly for_ms: number }
  | { readonly kind: "wrong"; readonly left: number }
  | { readonly kind: "locked"; readonly for_ms: number }
  /** Not looked at: too many PINs come at once, from whomever. */
  | { readonly kind: "busy" }
  /** Nobody has asked for a PIN, or its time is over. */
  | { readonly kind: "closed" };

/** Who enters a PIN. */
export interface Guesser {
  readonly sender: string;
  readonly way: Way;
}

/** What is remembered of a sender of wrong PINs. */
interface Suspect {
  /** Since the last lock. */
  readonly wrong: number;
  readonly locks: number;
  readonly locked_until: number;
}

const UNSUSPECTED: Suspect = { wrong: 0, locks: 0, locked_until: 0 };

/** The PIN in force and the sessions opened with it. A PIN is never stored, and never logged. */
export interface Sessions {
  /** A new PIN in the place of the old one, for so long; sessions of the old one end, and every lock is lifted. */
  open(for_ms: number, pin?: string): string;
  /** No PIN, no session any more. */
  close(): void;
  /** How long the PIN still holds; null: there is none. */
  left_ms(): number | null;
  enter(pin: string, from: Guesser): Entry;
  holds(token: string | undefined): boolean;
}

/** `mono`: monotonic ms. */
export function createSessions(mono: () => number): Sessions {
  let pin: { readonly hash: Buffer; readonly until: number } | null = null;
  const suspects = new Map<string, Suspect>();
  const mayGuess = createRate(GUESSES, mono);
  const sessions = new Map<string, number>();
  const left_ms = (): number | null => (pin === null || pin.until <= mono() ? null : pin.until - mono());
  return {
    open(for_ms, given) {
      const text = given ?? newPin();
      pin = { hash: hashOf(digitsOf(text)), until: mono() + for_ms };
      sessions.clear();
      suspects.clear();
      return text;
    },
    close() {
      pin = null;
      sessions.clear();
    },
    left_ms,
    enter(typed, { sender, way }) {
      const left = left_ms();
      if (pin === null || left === null) return { kind: "closed" };
      const suspect = suspects.get(sender) ?? UNSUSPECTED;
      if (suspect.locked_until > mono()) return { kind: "locked", for_ms: suspect.locked_until - mono() };
      if (!mayGuess(way)) return { kind: "busy" };
      if (!timingSafeEqual(pin.hash, hashOf(digitsOf(typed)))) {
        const now = suspectAfter(suspect, mono());
        remember(suspects, sender, now);
        const lock_ms = now.locked_until - mono();
        return lock_ms > 0 ? { kind: "locked", for_ms: lock_ms } : { kind: "wrong", left: MAX_WRONG - now.wrong };
      }
      suspects.delete(sender);
      const token = randomBytes(32).toString("base64url");
      const [oldest] = sessions.keys();
      if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
      sessions.set(keyOf(token), pin.until);
      return { kind: "open", token, for_ms: left };
    },
    holds(token) {
      if (token === undefined) return false;
      const until = sessions.get(keyOf(token));
      if (until === undefined) return false;
      if (until > mono()) return true;
      sessions.delete(keyOf(token));
      return false;
    },
  };
}

/** After one more wrong PIN. */
function suspectAfter({ wrong, locks, locked_until }: Suspect, now: number): Suspect {
  if (wrong + 1 < MAX_WRONG) return { wrong: wrong + 1, locks, locked_until };
  return { wrong: 0, locks: locks + 1, locked_until: now + LOCK_MS * 2 ** locks };
}

function remember(suspects: Map<string, Suspect>, sender: string, suspect: Suspect): void {
  suspects.delete(sender);
  suspects.set(sender, suspect);
  const [oldest] = suspects.keys();
  if (suspects.size > MAX_SENDERS && oldest !== undefined) suspects.delete(oldest);
}

/** As it is printed: two groups of four. */
function newPin(): string {
  const digits = randomInt(10 ** PIN_DIGITS)
    .toString()
    .padStart(PIN_DIGITS, "0");
  return `${digits.slice(0, 4)} ${digits.slice(4)}`;
}

/** People type it with or without its blank. */
function digitsOf(text: string): string {
  return text.replaceAll(/[\s-]/g, "");
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The table holds no token that could be read out of a memory dump and used. */
function keyOf(token: string): string {
  return hashOf(token).toString("base64");
}
