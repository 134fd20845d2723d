import { createHash, randomBytes } from "node:crypto";
import { DAY_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";

/** A device must enter the PIN again after this. */
const VALID_MS = 30 * DAY_MS;
/** Least interval between two writes of a device's last use: a page that stays open must not wear the flash. */
const NOTE_EVERY_MS = DAY_MS / 4;
/** Phones, tablets and wall screens of a large shop. The device that was used least recently is dropped. */
const MAX_KEPT = 40;
/** Characters of a browser's name that are kept. */
const MAX_DEVICE_CHARS = 160;

interface KeptSession {
  /** 16 hex digits. */
  readonly id: string;
  /** SHA-256 of the token in base64, so that the file has no usable token. */
  readonly key: string;
  readonly device: string;
  readonly made_at: EpochMs;
  readonly seen_at: EpochMs;
  readonly until: EpochMs;
}

/** A kept session as people see it. */
export interface DeviceSession extends Omit<KeptSession, "key"> {
  /** It is the session that asks. */
  readonly is_own: boolean;
}

/** The file of the sessions. Both functions throw if the disk fails. */
export interface SessionFile {
  /** null: no file yet. */
  read(): string | null;
  write(text: string): void;
}

export type KeptSessions = ReturnType<typeof createKeptSessions>;

/**
 * Keeps sessions of devices for 30 days, also over restarts. `wall`: epoch ms. If the file cannot be read, all devices must enter the
 * PIN again. If it cannot be written, new sessions end with the process; the store reports a full disk.
 */
export function createKeptSessions({ file, wall }: { readonly file: SessionFile; readonly wall: () => number }) {
  let sessions = sessionsIn(file);
  const isValid = ({ made_at, until }: KeptSession): boolean =>
    // A clock that was set back must not extend a session.
    until > wall() && made_at <= wall() + DAY_MS;
  const set = (next: readonly KeptSession[]): void => {
    sessions = next;
    try {
      file.write(`${JSON.stringify({ version: 1, sessions })}\n`);
    } catch {
      // The sessions are valid until the process ends.
    }
  };
  const withToken = (token: string | undefined): KeptSession | undefined => {
    const key = token === undefined ? null : keyOf(token);
    return sessions.find((one) => one.key === key && isValid(one));
  };
  const newestFirst = (): KeptSession[] => sessions.filter(isValid).sort((one, other) => other.seen_at - one.seen_at);
  return {
    /** Opens a session. Only the device knows its token. */
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
    /** Returns the sessions, the one that was used last first. */
    list(token: string | undefined): DeviceSession[] {
      const own = withToken(token)?.id;
      return newestFirst().map(({ id, device, made_at, seen_at, until }) => {
        return { id, device, made_at, seen_at, until, is_own: id === own };
      });
    },
    count: (): number => newestFirst().length,
    /** Returns false if no session has this id. */
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

/** Returns no sessions if the file is missing, damaged or of another version. */
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
