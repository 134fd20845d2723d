import type { Text } from "./message.ts";
import type { SealedSecret } from "./service.ts";
import type { BootId, EpochMs, Milliseconds } from "./units.ts";

/** Wall clock, monotonic clock and timers, in whole milliseconds. Elapsed time is measured with mono alone. */
export interface Clock {
  readonly boot: BootId;
  wall(): EpochMs;
  mono(): Milliseconds;
  /** Whether the kernel reports the wall clock as synchronised. */
  synced(): boolean;
  /** Calls `act` once after `ms`, never before it has returned. What it returns takes that back. */
  after(ms: Milliseconds, act: () => void): () => void;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Uniform in [0, 1). */
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
  /** The key for a first claim; null: none was given. */
  firstKey(): string | null;
  /** Wipes the first key once the gateway has a key of its own. Returns what a person has to do by hand for that, or null. */
  wipeFirstKey(): string | null;
}

/** Removes secrets from texts of peers. Every such text passes through it where it enters the agent. */
export interface Scrubber {
  /** To be called before the secret is sent anywhere. */
  learn(secret: string): void;
  /** Learns what of an address may be a secret: a password, its path, its query. */
  learnAddress(url: string): void;
  /** The text without any secret that was learnt, however a peer has quoted it. */
  scrub(text: string): string;
}

/** Keeps secrets of others on this machine's disk. */
export interface Sealer {
  /** Encrypts a secret, with a different result each time. The argument must never be logged. */
  seal(plain: string): SealedSecret;
  /** null: it wasn't sealed here, or is damaged. */
  open(secret: SealedSecret): string | null;
}

/** Notifications to the service manager. */
export interface Notify {
  ready(): void;
  /** The watchdog interval, after which the service manager restarts the agent; null: there is no watchdog. */
  readonly watchdog_ms: Milliseconds | null;
  beat(): void;
  /** Sets the status line. */
  status(text: string): void;
  stopping(): void;
}
