import { createHash, randomBytes } from "node:crypto";
import { DAY_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";

/** Validity of a session. After this time a device must enter the PIN again. */
const VALID_MS = 30 * DAY_MS;
/** Minimum interval between two writes of a device's last use, so that a page that stays open does not wear out the flash. */
const NOTE_EVERY_MS = DAY_MS / 4;
/**
 * Maximum number of stored sessions: phones, tablets and wall screens of a large shop. A new session replaces the least recently used one.
 */
const MAX_KEPT = 40;
/** Maximum length of a stored browser name, in characters. */
const MAX_DEVICE_CHARS = 160;

interface KeptSession {
  /** Random id, 16 hex digits. */
  readonly id: string;
  /** SHA-256 of the token in base64. The token itself is not stored, so the file can't be used to sign in. */
  readonly key: string;
  readonly device: string;
  readonly made_at: EpochMs;
  readonly seen_at: EpochMs;
  readonly until: EpochMs;
}

/** A stored session as the page lists it. */
export interface DeviceSession extends Omit<KeptSession, "key"> {
  /** Whether this is the session of the request. */
  readonly is_own: boolean;
}

/** The file that stores the sessions. Both functions throw if the disk fails. */
export interface SessionFile {
  /** Returns the file's text; null if the file does not exist. */
  read(): string | null;
  write(text: string): void;
}

export type KeptSessions = ReturnType<typeof createKeptSessions>;

/**
 * Stores sessions of devices for 30 days, even over restarts. If the file cannot be read, all devices must enter the PIN again. If it
 * cannot be written, new sessions end with the process; the store reports a full disk. `wall`: epoch ms.
 */
export function createKeptSessions({ file, wall }: { readonly file: SessionFile; readonly wall: () => number }) {
  let sessions = sessionsIn(file);
  const isValid = ({ made_at, until }: KeptSession): boolean =>
    // Rejects sessions made in the future: a clock that was set back would extend them.
    until > wall() && made_at <= wall() + DAY_MS;
  const set = (next: readonly KeptSession[]): void => {
    sessions = next;
    try {
      file.write(`${JSON.stringify({ version: 1, sessions })}\n`);
    } catch {
      // Continues without the file: the sessions remain valid until the process ends.
    }
  };
  const withToken = (token: string | undefined): KeptSession | undefined => {
    const key = token === undefined ? null : keyOf(token);
    return sessions.find((one) => one.key === key && isValid(one));
  };
  const newestFirst = (): KeptSession[] => sessions.filter(isValid).sort((one, other) => other.seen_at - one.seen_at);
  return {
    /** Opens a session. Only its hash is stored, so the device alone has the token. */
    add(device: string): { readonly token: string; readonly for_ms: Milliseconds } {
      const token = randomBytes(32).toString("base64url");
      const now = wall();
      const made = {
        id: randomBytes(8).toString("hex"),
        key: keyOf(token),
        device: device.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_DEVICE_CHARS),
        made_at: now,
        seen_at: now,
        until: now + VALID_MS,
      };
      set([made, ...newestFirst().slice(0, MAX_KEPT - 1)]);
      return { token, for_ms: VALID_MS };
    },
    isOpen(token: string | undefined): boolean {
      const found = withToken(token);
      if (found === undefined) return false;
      const seen_at = wall();
      if (seen_at - found.seen_at >= NOTE_EVERY_MS)
        set(sessions.map((one) => (one === found ? { ...one, seen_at } : one)));
      return true;
    },
    /** Returns the sessions, most recently used first. */
    list(token: string | undefined): DeviceSession[] {
      const own = withToken(token)?.id;
      return newestFirst().map(({ id, device, made_at, seen_at, until }) => {
        return { id, device, made_at, seen_at, until, is_own: id === own };
      });
    },
    count: (): number => newestFirst().length,
    /** Ends a session. Returns false if no session has this id. */
    end(id: string): boolean {
      const left = sessions.filter((one) => one.id !== id);
      if (left.length === sessions.length) return false;
      set(left);
      return true;
    },
    endAll(): void {
      if (sessions.length > 0) set([]);
    },
  };
}

/** Reads the stored sessions. Returns none if the file is missing, damaged or of another version. */
function sessionsIn(file: SessionFile): readonly KeptSession[] {
  try {
    const { version, sessions = [] } = JSON.parse(file.read() ?? "{}") as {
      readonly version?: unknown;
      readonly sessions?: readonly KeptSession[];
    };
    const isWhole = ({ id, key, device, ...times }: KeptSession): boolean =>
      [id, key, device].every((text) => typeof text === "string") && Object.values(times).every(Number.isFinite);
    return version === 1 && sessions.every(isWhole) ? sessions : [];
  } catch {
    return [];
  }
}

function keyOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}
