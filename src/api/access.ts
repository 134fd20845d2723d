import { createHash, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import type { BodyOf } from "../contract/local.ts";
import { answerTime } from "../contract/time.ts";
import { createRate, remember } from "./crowd.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import {
  type Call,
  CLOSING,
  isSocket,
  type LocalAnswer,
  type LocalOperation,
  needed,
  Refusal,
  type Services,
  type Sessions,
  type Way,
} from "./operation.ts";
import { say } from "../domain/sentences.ts";
import { errorMessage } from "../domain/error-message.ts";

const PIN_DIGITS = 8;
/** Of one sender, before it is locked; each further lock of it lasts twice as long. */
const MAX_WRONG = 5;
const LOCK_MS = 300_000;
/**
 * PINs that are looked at from all senders of one way together: at the most that this lets through in the longest time that a
 * PIN holds, a guess at eight digits succeeds once in 2,000 times. What one machine may try before it is locked is far
 * below, so it takes hundreds of addresses at once to keep others waiting, and those of the network never keep the box's own.
 */
const GUESSES = { per_s: 1, burst: 120 };
/**
 * PINs that are looked at where one holds for ever, on top of that: 52,560 a year, of which a guess at eight digits succeeds once
 * in 1,900 times. Who has to wait gets a PIN of its own on the box.
 */
const STANDING_GUESSES = { per_s: 1 / 600, burst: 20 };
/** A technician's phone, laptop and a colleague's; the oldest goes. */
const MAX_SESSIONS = 16;

/** What is remembered of a sender of wrong PINs. */
interface Suspect {
  /** Since the last lock. */
  readonly wrong: number;
  readonly locks: number;
  readonly locked_until: number;
}

const UNSUSPECTED: Suspect = { wrong: 0, locks: 0, locked_until: 0 };

/** `mono`: monotonic ms. `kept`: sessions that a PIN which holds for ever opens. */
export function createSessions(mono: () => number, kept?: KeptSessions): Sessions {
  let pin: { readonly hash: Buffer; readonly until: number } | null = null;
  let standing: Buffer | null = null;
  const mayGuessStanding = createRate(STANDING_GUESSES, mono);
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
    stand(text) {
      standing = text === null ? null : hashOf(digitsOf(text));
      if (text === null) kept?.endAll();
    },
    left_ms,
    enter(typed, { sender, way, device = "" }) {
      const left = left_ms();
      const isTimed = pin !== null && left !== null;
      if (!isTimed && standing === null) return { kind: "closed" };
      const suspect = suspects.get(sender) ?? UNSUSPECTED;
      if (suspect.locked_until > mono()) return { kind: "locked", for_ms: suspect.locked_until - mono() };
      if (!mayGuess(way)) return { kind: "busy", for_ms: 1_000 };
      const hash = hashOf(digitsOf(typed));
      if (pin === null || left === null || !timingSafeEqual(pin.hash, hash)) {
        if (standing !== null) {
          if (!mayGuessStanding("")) return { kind: "busy", for_ms: 1_000 / STANDING_GUESSES.per_s };
          if (kept !== undefined && timingSafeEqual(standing, hash)) {
            suspects.delete(sender);
            return { kind: "open", ...kept.add(device), is_kept: true };
          }
        }
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
      return { kind: "open", token, for_ms: left, is_kept: false };
    },
    holds(token) {
      if (token === undefined) return false;
      if (kept?.holds(token) === true) return true;
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

/** As it is printed: two groups of four. */
function newPin(): string {
  const digits = String(randomInt(10 ** PIN_DIGITS)).padStart(PIN_DIGITS, "0");
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

/** A session for the PIN as `api_key`, as at the service. */
export function authenticate(call: Call<BodyOf<"authenticate">>, { sessions, control }: Services): LocalAnswer {
  const entered = needed(sessions, "this agent has no sessions: its socket needs none");
  const entry = entered.enter(call.body().api_key, call);
  switch (entry.kind) {
    case "open": {
      const expires_at = answerTime(control.status().at + entry.for_ms);
      // A browser keeps such a token beyond its tab.
      const headers = entry.is_kept ? { "Session-Kept": "true" } : {};
      return { status: 200, body: { session_token: entry.token, expires_at }, headers };
    }
    case "wrong":
      throw new Refusal(401, entry.left === 1 ? say("ask.wrong_pin_last") : say("ask.wrong_pin", { left: entry.left }));
    case "locked": {
      const after_s = Math.ceil(entry.for_ms / 1000);
      const error = say("ask.locked", { minutes: Math.ceil(after_s / 60) });
      throw new Refusal(429, error, { "Retry-After": after_s.toString() });
    }
    case "busy": {
      const after_s = Math.ceil(entry.for_ms / 1_000);
      const minutes = Math.ceil(after_s / 60);
      const error = minutes > 1 ? say("ask.pin_much_later", { minutes }) : say("ask.pin_later");
      throw new Refusal(429, error, { "Retry-After": after_s.toString() });
    }
    case "closed":
      throw new Refusal(401, say("ask.no_pin"));
  }
}

const NO_PAGE = "this agent serves no page";

/** Where the page is. */
export function pageState(_: Call, { page }: Services): LocalAnswer {
  return { status: 200, body: needed(page, NO_PAGE).state() };
}

/** Makes a PIN, opens the page on the network, or closes it. */
export async function openOrClosePage(call: Call<BodyOf<"page">>, services: Services): Promise<LocalAnswer> {
  const page = needed(services.page, NO_PAGE);
  const { close, ...how } = call.body();
  if (close) {
    page.close();
    return { status: 200, body: page.state() };
  }
  try {
    return { status: 200, body: await page.open(how) };
  } catch (error) {
    throw new Refusal(409, errorMessage(error));
  }
}

/** Whether the page stays open on the network, and the devices that are signed in for long. */
export function networkState({ token }: Call, { page }: Services): LocalAnswer {
  return { status: 200, body: needed(page, NO_PAGE).network(token) };
}

/** Opens the page on the network for good, by the PIN on the box's label, or takes that back. */
export async function keepOpen(call: Call<BodyOf<"page_network">>, { page }: Services): Promise<LocalAnswer> {
  const listener = needed(page, NO_PAGE);
  await listener.keepOpen(call.body().always);
  return { status: 200, body: listener.network(call.token) };
}

/** A device has to enter the PIN again. */
export function endSession(call: Call<BodyOf<"page_session_end">>, { page }: Services): LocalAnswer {
  const listener = needed(page, NO_PAGE);
  if (!listener.endSession(call.body().id)) throw new Refusal(404, say("ask.no_device"));
  return { status: 200, body: listener.network(call.token) };
}

export interface Knock {
  readonly way: Way;
  /** Who may ask at least what is asked. */
  readonly least: LocalOperation["way"];
  /** Headers as they came. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetch_site: string | undefined;
  /** It carries the token of a session that is open. */
  readonly has_session: boolean;
  /** The page itself, not one of the files that it loads. */
  readonly is_front: boolean;
  /** What this machine is called on the network: names and addresses, lower case. */
  readonly own_names: () => ReadonlySet<string>;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);
/**
 * Whether a request may be answered at all; null: it may. Over a socket its mode is the right. Elsewhere a browser must
 * not be led here by another site (Host against rebound names, Origin against foreign pages), and what isn't public needs a
 * session: over loopback everything but looking at figures, on the network everything but the page's own files.
 */
export function refusalOf(knock: Knock): Refusal | null {
  if (isSocket(knock.way)) return null;
  return strayOf(knock) ?? (needsSession(knock) && !knock.has_session ? new Refusal(401, NO_SESSION, CLOSING) : null);
}

const NO_SESSION = say("ask.no_session");

function needsSession({ way, least }: Knock): boolean {
  if (least === "anyone") return false;
  return way === "lan" || least !== "loopback";
}

function strayOf({ way, host, origin, fetch_site, is_front, own_names }: Knock): Refusal | null {
  const name = hostNameOf(host);
  const isOurs = name !== null && (LOOPBACK_NAMES.has(name) || (way === "lan" && own_names().has(name)));
  if (!isOurs) return new Refusal(403, "this box goes by another name: use the address that was printed", CLOSING);
  const scheme = way === "lan" ? "https" : "http";
  const isForeign = origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase() ?? ""}`;
  // A link that leads to the page is fine; whatever else another site's page fetches isn't.
  const isStray = isForeign || (fetch_site === "cross-site" && !is_front);
  return isStray ? new Refusal(403, "another site may not ask here", CLOSING) : null;
}

/** Without port and brackets, lower case; null: no host that a browser would send. */
function hostNameOf(host: string | undefined): string | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null;
}
