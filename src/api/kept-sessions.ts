import { createHash, randomBytes } from "node:crypto";
import type { EpochMs } from "../domain/units.ts";
import { DAY_MS } from "../domain/time.ts";

/** A device is asked for the PIN again after this. */
const HOLDS_MS = 30 * DAY_MS;
/** When a device was last seen is written down this often at most: the flash isn't worn by a page that stays open. */
const NOTE_EVERY_MS = DAY_MS / 4;
/** Phones, tablets and a screen on the wall of a large shop; whoever was seen least lately goes. */
const MAX_KEPT = 40;
/** Of what a browser calls itself, so much tells devices apart. */
const MAX_DEVICE_CHARS = 160;
/** SHA-256 in base64. */
const KEY_CHARS = 44;

interface KeptSession {
  /** 16 hex digits. */
  readonly id: string;
  /** SHA-256 of the token, base64: who reads the file can't sign in with it. */
  readonly key: string;
  readonly device: string;
  readonly made_at: EpochMs;
  readonly seen_at: EpochMs;
  readonly until: EpochMs;
}

/** What people see of one. */
export interface DeviceSession extends Pick<KeptSession, "id" | "device" | "made_at" | "seen_at" | "until"> {
  /** Of whoever asks. */
  readonly is_own: boolean;
}

/** Where the sessions stand between two starts. Both throw for a disk that doesn't do it. */
export interface SessionFile {
  /** null: there is none yet. */
  read(): string | null;
  write(text: string): void;
}

export type KeptSessions = ReturnType<typeof createKeptSessions>;

/**
 * Sessions of devices that hold 30 days, restarts included. `wall`: epoch ms. A file that can't be read is as none: everybody
 * enters the PIN again. One that can't be written costs the session's life after a restart alone.
 */
export function createKeptSessions({ file, wall }: { readonly file: SessionFile; readonly wall: () => number }) {
  let sessions: readonly KeptSession[] = readFrom(file);
  const isLiving = ({ made_at, until }: KeptSession): boolean =>
    // A clock that was put back must not make a session hold for longer than it was made for.
    until > wall() && made_at <= wall() + DAY_MS;
  const put = (next: readonly KeptSession[]): void => {
    sessions = next;
    try {
      file.write(`${JSON.stringify({ version: 1, sessions })}\n`);
    } catch {
      // A full or read-only disk is told of by the store's own trouble; the session holds as long as this process.
    }
  };
  const withToken = (token: string | undefined): KeptSession | undefined => {
    const key = token === undefined ? null : keyOf(token);
    return key === null ? undefined : sessions.find((one) => one.key === key && isLiving(one));
  };
  return {
    /** A new one; its token is known to its device alone. */
    add(device: string): { readonly token: string; readonly for_ms: number } {
      const token = randomBytes(32).toString("base64url");
      const now = wall();
      const others = sessions.filter(isLiving).toSorted((one, other) => other.seen_at - one.seen_at);
      const made = { id: randomBytes(8).toString("hex"), key: keyOf(token), device: plain(device), made_at: now };
      put([{ ...made, seen_at: now, until: now + HOLDS_MS }, ...others.slice(0, MAX_KEPT - 1)]);
      return { token, for_ms: HOLDS_MS };
    },
    holds(token: string | undefined): boolean {
      const found = withToken(token);
      if (found === undefined) return false;
      const now = wall();
      if (now - found.seen_at >= NOTE_EVERY_MS)
        put(sessions.map((one) => (one === found ? { ...one, seen_at: now } : one)));
      return true;
    },
    /** Newest seen first. */
    list(token: string | undefined): DeviceSession[] {
      const own = withToken(token)?.id;
      return sessions
        .filter(isLiving)
        .toSorted((one, other) => other.seen_at - one.seen_at)
        .map(({ id, device, made_at, seen_at, until }) => ({
          id,
          device,
          made_at,
          seen_at,
          until,
          is_own: id === own,
        }));
    },
    count: (): number => sessions.filter(isLiving).length,
    /** false: there is none of that id. */
    end(id: string): boolean {
      const left = sessions.filter((one) => one.id !== id);
      if (left.length === sessions.length) return false;
      put(left);
      return true;
    },
    endAll(): void {
      if (sessions.length > 0) put([]);
    },
  };
}

function readFrom(file: SessionFile): readonly KeptSession[] {
  try {
    const kept = JSON.parse(file.read() ?? '{"version":1,"sessions":[]}') as Record<"version" | "sessions", unknown>;
    const { version, sessions } = kept;
    const isWhole = version === 1 && Array.isArray(sessions) && sessions.length <= MAX_KEPT && sessions.every(isKept);
    return isWhole ? sessions : [];
  } catch {
    // Damaged, or of another version: nobody is let in by it.
    return [];
  }
}

function isKept(value: unknown): value is KeptSession {
  if (typeof value !== "object" || value === null) return false;
  const { id, key, device, made_at, seen_at, until } = value as Readonly<Record<string, unknown>>;
  const isId = typeof id === "string" && /^[0-9a-f]{16}$/.test(id);
  const isKey = typeof key === "string" && key.length === KEY_CHARS;
  const isDevice = typeof device === "string" && device.length <= MAX_DEVICE_CHARS;
  return isId && isKey && isDevice && [made_at, seen_at, until].every((at) => typeof at === "number");
}

function keyOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

/** Shown as text, and kept short. */
function plain(device: string): string {
  return device.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_DEVICE_CHARS);
}
