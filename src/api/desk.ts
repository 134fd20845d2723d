import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";

/** Eight digits: at the most that the lock lets through, guessing takes centuries on average. */
const PIN_DIGITS = 8;
const MAX_WRONG = 5;
const LOCK_MS = 300_000;
/** A technician's phone, laptop and a colleague's; the oldest goes. */
const MAX_SESSIONS = 16;

export type Entry =
  | { readonly kind: "open"; readonly token: string; readonly for_ms: number }
  | { readonly kind: "wrong"; readonly left: number }
  | { readonly kind: "locked"; readonly for_ms: number }
  /** Nobody has asked for a PIN, or its time is over. */
  | { readonly kind: "closed" };

/** The PIN in force and the sessions opened with it. A PIN is never stored, and never logged. */
export interface Desk {
  /** A new PIN in the place of the old one, for so long; a lock is lifted. */
  open(for_ms: number, pin?: string): string;
  /** No PIN, no session any more. */
  close(): void;
  /** How long the PIN still holds; null: there is none. */
  left_ms(): number | null;
  enter(pin: string): Entry;
  holds(token: string | undefined): boolean;
}

/** `mono`: monotonic ms. */
export function createDesk(mono: () => number): Desk {
  let pin: { readonly hash: Buffer; readonly until: number } | null = null;
  let wrong = 0;
  let locked_until = 0;
  const sessions = new Map<string, number>();
  const left_ms = (): number | null => (pin === null || pin.until <= mono() ? null : pin.until - mono());
  return {
    open(for_ms, given) {
      const text = given ?? newPin();
      pin = { hash: hashOf(digitsOf(text)), until: mono() + for_ms };
      [wrong, locked_until] = [0, 0];
      return text;
    },
    close() {
      pin = null;
      sessions.clear();
    },
    left_ms,
    enter(typed) {
      const left = left_ms();
      if (pin === null || left === null) return { kind: "closed" };
      if (locked_until > mono()) return { kind: "locked", for_ms: locked_until - mono() };
      if (!timingSafeEqual(pin.hash, hashOf(digitsOf(typed)))) {
        wrong += 1;
        if (wrong < MAX_WRONG) return { kind: "wrong", left: MAX_WRONG - wrong };
        [wrong, locked_until] = [0, mono() + LOCK_MS];
        return { kind: "locked", for_ms: LOCK_MS };
      }
      wrong = 0;
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
