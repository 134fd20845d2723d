import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { Milliseconds } from "../domain/units.ts";
import { createRate, remember } from "./crowd.ts";
import type { KeptSessions } from "./kept-sessions.ts";

const PIN_DIGITS = 8;
/** Number of wrong PINs after which a sender is locked. */
const MAX_WRONG = 5;
/** Duration of a sender's first lock. Each further lock lasts twice as long. */
const LOCK_MS: Milliseconds = 300_000;
/**
 * Rate of PIN checks of all senders of a listener together. With eight digits, guessing for the longest validity of a PIN succeeds once in
 * 2,000 times. A single machine is locked far below this rate, so only an attack from hundreds of addresses makes others wait. Each
 * listener has its own limit, so senders on the network never delay those on the box itself.
 */
const GUESSES = { per_s: 1, burst: 120 };
/**
 * Rate of additional checks against a permanent PIN: 52,560 a year, so guessing eight digits for a year succeeds once in 1,900 times. A
 * person who has to wait can make a temporary PIN on the box.
 */
const PERMANENT_GUESSES = { per_s: 1 / 600, burst: 20 };
/**
 * Maximum number of sessions of a temporary PIN, for a technician's phone and laptop and some colleagues. A new session replaces the oldest
 * one.
 */
const MAX_SESSIONS = 16;

/** A sender that has entered wrong PINs. */
interface Suspect {
  /** Number of wrong PINs since the last lock. */
  readonly wrong: number;
  readonly locks: number;
  readonly locked_until: number;
}

const UNSUSPECTED: Suspect = { wrong: 0, locks: 0, locked_until: 0 };

/** The result of entering a PIN. */
export type Entry =
  /** The PIN is right. `is_kept`: the session outlives the browser's tab and a restart. */
  | { readonly kind: "open"; readonly token: string; readonly for_ms: Milliseconds; readonly is_kept: boolean }
  | { readonly kind: "wrong"; readonly left: number }
  | { readonly kind: "locked"; readonly for_ms: Milliseconds }
  /** The PIN was not checked, because all senders together have entered too many PINs. */
  | { readonly kind: "busy"; readonly for_ms: Milliseconds }
  /** No PIN is valid at present. */
  | { readonly kind: "closed" };

export type Sessions = ReturnType<typeof createSessions>;

/**
 * Checks PINs and holds the sessions opened with them. There are two kinds of PIN. A temporary PIN is made and shown on the box, and is
 * valid for a while. Its sessions end with it, or with the next temporary PIN. A permanent PIN comes from a file, and its sessions are
 * stored for 30 days (`kept-sessions.ts`). A PIN itself is never stored or logged. Guessing is limited per sender, by locks that double,
 * and per listener, by rates, because an attacker may have any number of addresses.
 * @param mono monotonic ms
 * @param kept the sessions of the permanent PIN
 */
export function createSessions(mono: () => Milliseconds, kept?: KeptSessions) {
  let pin: { readonly hash: Buffer; readonly until: number } | null = null;
  let permanent: Buffer | null = null;
  const suspects = new Map<string, Suspect>();
  const mayGuess = createRate(GUESSES, mono);
  const mayGuessPermanent = createRate(PERMANENT_GUESSES, mono);
  const sessions = new Map<string, number>();
  /** Returns the remaining validity of the temporary PIN; null: no such PIN is valid. */
  const left_ms = (): Milliseconds | null => (pin === null || pin.until <= mono() ? null : pin.until - mono());
  const openSession = (until: number): string => {
    const token = randomBytes(32).toString("base64url");
    const [oldest] = sessions.keys();
    if (sessions.size >= MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    sessions.set(keyOf(token), until);
    return token;
  };
  return {
    /** Sets a temporary PIN, by default a new random one. Ends the sessions of the previous one, and lifts all locks. */
    open(for_ms: Milliseconds, given?: string): string {
      const text = given ?? newPin();
      pin = { hash: pinHash(text), until: mono() + for_ms };
      sessions.clear();
      suspects.clear();
      return text;
    },
    /** Ends the temporary PIN and its sessions. */
    close(): void {
      pin = null;
      sessions.clear();
    },
    /** Sets the permanent PIN; null removes the PIN and ends its sessions. */
    setPermanent(text: string | null): void {
      permanent = text === null ? null : pinHash(text);
      if (text === null) kept?.endAll();
    },
    left_ms,
    enter(
      typed: string,
      { sender, channel, device = "" }: { readonly sender: string; readonly channel: string; readonly device?: string },
    ): Entry {
      const left = left_ms();
      if (left === null && permanent === null) return { kind: "closed" };
      const suspect = suspects.get(sender) ?? UNSUSPECTED;
      if (suspect.locked_until > mono()) return { kind: "locked", for_ms: suspect.locked_until - mono() };
      if (!mayGuess(channel)) return { kind: "busy", for_ms: 1_000 };
      const hash = pinHash(typed);
      if (pin !== null && left !== null && timingSafeEqual(pin.hash, hash)) {
        suspects.delete(sender);
        return { kind: "open", token: openSession(pin.until), for_ms: left, is_kept: false };
      }
      if (permanent !== null) {
        if (!mayGuessPermanent("")) return { kind: "busy", for_ms: 1_000 / PERMANENT_GUESSES.per_s };
        if (kept !== undefined && timingSafeEqual(permanent, hash)) {
          suspects.delete(sender);
          return { kind: "open", ...kept.add(device), is_kept: true };
        }
      }
      const now = suspectAfter(suspect, mono());
      remember(suspects, sender, now);
      const lock_ms = now.locked_until - mono();
      return lock_ms > 0 ? { kind: "locked", for_ms: lock_ms } : { kind: "wrong", left: MAX_WRONG - now.wrong };
    },
    isOpen(token: string | undefined): boolean {
      if (token === undefined) return false;
      return kept?.isOpen(token) === true || (sessions.get(keyOf(token)) ?? 0) > mono();
    },
  };
}

/** Counts another wrong PIN. Locks the sender after `MAX_WRONG` of them. */
function suspectAfter({ wrong, locks, locked_until }: Suspect, now: number): Suspect {
  if (wrong + 1 < MAX_WRONG) return { wrong: wrong + 1, locks, locked_until };
  return { wrong: 0, locks: locks + 1, locked_until: now + LOCK_MS * 2 ** locks };
}

/** Returns a new PIN as it is shown: two groups of four digits. */
function newPin(): string {
  const digits = String(randomInt(10 ** PIN_DIGITS)).padStart(PIN_DIGITS, "0");
  return `${digits.slice(0, 4)} ${digits.slice(4)}`;
}

/** Hashes a PIN. Blanks and dashes are ignored, because people type the PIN with or without them. */
function pinHash(text: string): Buffer {
  return hashOf(text.replaceAll(/[\s-]/g, ""));
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Returns the hash of a token. Only hashes are in memory, because a token could be stolen from a memory dump. */
function keyOf(token: string): string {
  return hashOf(token).toString("base64");
}
