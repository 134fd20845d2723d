import { isIPv6 } from "node:net";
import { HttpError } from "../base/errors.ts";
import { acceptCaller, type Caller, findCaller } from "../accounts/keys.ts";
import { type Db, row, run } from "../storage/db.ts";

/** Maximum number of stored guessers. The oldest are dropped. */
const MAX_GUESSERS = 10_000;

interface GuessRules {
  /** Names the kind of guesses, because one address has a count for each kind. */
  readonly kind: string;
  /** Number of wrong guesses within the window before requests are blocked. */
  readonly free: number;
  readonly window_ms: number;
}

/** A machine with a wrong key retries every quarter of an hour, an attacker as fast as possible. */
const KEYS: GuessRules = { kind: "key", free: 100, window_ms: 60_000 };
/**
 * A person mistypes a password a few times. Guesses are counted by e-mail address and network address, so that a
 * stranger elsewhere doesn't lock a user out.
 */
const PASSWORDS: GuessRules = { kind: "password", free: 10, window_ms: 15 * 60_000 };
/** Several people of a shop share one network address. */
const SIGN_INS: GuessRules = { kind: "sign-in", free: 30, window_ms: 15 * 60_000 };

/** Requests for a link are counted like wrong guesses: each request sends a mail. */
const RESETS: GuessRules = { kind: "reset", free: 10, window_ms: 15 * 60_000 };
const RESETS_OF_USER: GuessRules = { kind: "reset-of", free: 3, window_ms: 15 * 60_000 };

/**
 * Returns the caller of a request's Authorization header; undefined: not valid. Counts a wrong key. Throws 429 if the
 * address sent too many, unless the key was used before: a limit never blocks a key that was good. Counts are in the
 * database, so that all processes share them.
 */
export function admit(
  db: Db,
  { authorization, address }: { readonly authorization: string | undefined; readonly address: string },
  now: number,
): Caller | undefined {
  const found = findCaller(db, authorization, now);
  if (found?.is_new === false) return acceptCaller(db, found, now);
  if (authorization === undefined || authorization === "") return undefined;
  const guesser = networkOf(address);
  check(db, [KEYS, guesser], now);
  if (found !== undefined) return acceptCaller(db, found, now);
  countWrong(db, [KEYS, guesser], now);
  return undefined;
}

interface PasswordGuesses {
  /** Throws 429 if the limit is reached. The password isn't checked then. */
  check(now: number): void;
  wrong(now: number): void;
}

/** Counts the wrong passwords of a person at a network address. */
export function passwordGuesses(
  db: Db,
  { email, address }: { readonly email: string; readonly address: string },
): PasswordGuesses {
  const network = networkOf(address);
  const counts: readonly Guesser[] = [
    [PASSWORDS, `${email.toLowerCase()} ${network}`],
    [SIGN_INS, network],
  ];
  return {
    check: (now) => {
      for (const one of counts) check(db, one, now);
    },
    wrong: (now) => {
      for (const one of counts) countWrong(db, one, now);
    },
  };
}

/** Counts the wrong tokens of links from a network address, together with its wrong passwords. */
export function tokenGuesses(db: Db, address: string): PasswordGuesses {
  const one: Guesser = [SIGN_INS, networkOf(address)];
  return { check: (now) => check(db, one, now), wrong: (now) => countWrong(db, one, now) };
}

interface ResetRequests {
  /** Throws 429 if the address asked too often. */
  check(now: number): void;
  /** Whether the user got too many mails. The answer doesn't tell it, because it would tell which users exist. */
  isTooMany(now: number): boolean;
  count(now: number): void;
}

/** Counts the requests for a link to a new password. */
export function resetRequests(db: Db, { email, address }: { email: string; address: string }): ResetRequests {
  const here: Guesser = [RESETS, networkOf(address)];
  const user: Guesser = [RESETS_OF_USER, email];
  return {
    check: (now) => check(db, here, now),
    isTooMany: (now) => waitOf(db, user, now) > 0,
    count: (now) => {
      for (const one of [here, user]) countWrong(db, one, now);
    },
  };
}

type Guesser = readonly [rules: GuessRules, name: string];

function check(db: Db, guesser: Guesser, now: number): void {
  const wait_s = waitOf(db, guesser, now);
  if (wait_s > 0) throw new HttpError(429, "too many wrong keys or passwords: wait, then try again", wait_s);
}

/** Returns the seconds for which the guesser is blocked; 0: it isn't. */
function waitOf(db: Db, [{ kind, free, window_ms }, name]: Guesser, now: number): number {
  const sql = "SELECT since, wrong FROM guesses WHERE guesser = ?";
  const found = row<{ since: number; wrong: number }>(db, sql, `${kind} ${name}`);
  if (found === undefined || found.wrong < free || now < found.since || now - found.since >= window_ms) return 0;
  return Math.ceil((found.since + window_ms - now) / 1000);
}

function countWrong(db: Db, [{ kind, window_ms }, name]: Guesser, now: number): void {
  const isCurrent = "guesses.since <= excluded.since AND guesses.since > excluded.since - ?";
  const sql = `INSERT INTO guesses (guesser, since, wrong) VALUES (?, ?, 1) ON CONFLICT (guesser) DO UPDATE SET
      wrong = CASE WHEN ${isCurrent} THEN guesses.wrong + 1 ELSE 1 END,
      since = CASE WHEN ${isCurrent} THEN guesses.since ELSE excluded.since END RETURNING wrong`;
  const counted = row<{ wrong: number }>(db, sql, `${kind} ${name}`, now, window_ms, window_ms);
  if (counted?.wrong !== 1) return;
  run(db, "DELETE FROM guesses WHERE since < ?", now - PASSWORDS.window_ms);
  const beyond = `SELECT guesser FROM guesses ORDER BY since DESC LIMIT 100 OFFSET ${MAX_GUESSERS}`;
  run(db, `DELETE FROM guesses WHERE guesser IN (${beyond})`);
}

/** Returns an IPv4 address, or the /64 network of an IPv6 address, because one host has all of its addresses. */
function networkOf(address: string): string {
  const [, mapped] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = "", tail] = address.split("::");
  const first = head.split(":").filter((part) => part !== "");
  const last = tail === undefined ? [] : tail.split(":").filter((part) => part !== "");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return `${[...first, ...zeros, ...last].slice(0, 4).join(":")}::/64`;
}
