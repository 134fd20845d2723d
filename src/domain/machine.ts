import type { Text } from "./message.ts";
import type { SealedSecret } from "./service.ts";
import type { BootId, EpochMs, Milliseconds } from "./units.ts";

/** Wall clock, monotonic clock and timers, in whole milliseconds. Elapsed time is measured only with mono. */
export interface Clock {
  readonly boot: BootId;
  wall(): EpochMs;
  mono(): Milliseconds;
  /** Returns whether the kernel reports the wall clock as synchronized. */
  synced(): boolean;
  /** Calls `action` once after `ms`, never before this function has returned. Returns a function that cancels the call. */
  after(ms: Milliseconds, action: () => void): () => void;
  /** Resolves after `ms`. Rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Returns a random number that is uniform in [0, 1). */
  next(): number;
  uuid(): string;
  bytes(count: number): Uint8Array;
}

/** A structured log, with one line per change and no secrets. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, text: Text): void;
  info(fields: Readonly<Record<string, unknown>>, text: Text): void;
  warn(fields: Readonly<Record<string, unknown>>, text: Text): void;
  error(fields: Readonly<Record<string, unknown>>, text: Text): void;
}

export interface Secrets {
  /** Returns the first key, used for a first claim; null: no key was given. */
  firstKey(): string | null;
  /** Wipes the first key once the gateway has its own credential. Returns what a person must still wipe by hand; null: nothing. */
  wipeFirstKey(): string | null;
}

/** Removes secrets from texts of peers. Each such text passes through this object when it enters the agent. */
export interface Scrubber {
  /** Learns a secret. To be called before the secret is sent anywhere. */
  learn(secret: string): void;
  /** Learns the parts of an address that may be a secret: password, path and query. */
  learnAddress(url: string): void;
  /** Returns the text without any learnt secret, even if a peer quoted the secret in another encoding. */
  scrub(text: string): string;
}

/** Encrypts secrets of other systems, which are stored on this machine's disk. */
export interface Sealer {
  /** Encrypts a secret, each time with a different result. The argument must never be logged. */
  seal(plain: string): SealedSecret;
  /** Decrypts a secret; null: it was sealed on another machine, or is damaged. */
  open(secret: SealedSecret): string | null;
}

/** Notifications to the service manager. */
export interface Notify {
  ready(): void;
  /** Interval of the watchdog, after which the service manager restarts the agent; null: there is no watchdog. */
  readonly watchdog_ms: Milliseconds | null;
  beat(): void;
  /** Sets the status line. */
  status(text: string): void;
  stopping(): void;
}
