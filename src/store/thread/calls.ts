import type { IdentityCalls, Remote, StoreCalls } from "../port.ts";
import type { Writer } from "./writer.ts";

/**
 * Which file a call needs while the data folder takes no writes: "now", the one that is open, a copy in memory; "real", the data
 * folder's own, which is tried again first.
 */
export type Way = "now" | "real";

/** Every call of the store, once: whoever hands calls on goes by this table. What stands beside them does so by its name. */
export const STORE_CALLS = {
  openStream: "now",
  ingest: "real",
  read: "now",
  readCommitted: "now",
  contextRecords: "now",
  chunks: "now",
  ack: "now",
  resend: "now",
  setAside: "real",
  refused: "now",
  info: "now",
  state: "now",
} as const satisfies Record<keyof StoreCalls, Way>;

/** And what its thread does beside them. */
export const WRITER_CALLS = {
  ...STORE_CALLS,
  check: "now",
  mend: "now",
  rebuild: "real",
  rebuildProgress: "now",
  rebuildSlice: "now",
} as const satisfies Record<Exclude<keyof Writer, "close">, Way>;

export const IDENTITY_CALLS = {
  gateway: "now",
  setCredential: "real",
  provisioning: "now",
  setProvisioning: "real",
  learned: "now",
  setLearned: "real",
  kept: "now",
  keep: "real",
  promote: "real",
} as const satisfies Record<keyof IdentityCalls, Way>;

type Table<Calls> = Readonly<Record<keyof Calls & string, Way>>;

/** A call that is being made. */
interface Made<Calls> {
  readonly name: keyof Calls & string;
  readonly args: readonly unknown[];
  readonly way: Way;
  /** Makes it there; what it throws comes through. */
  readonly on: (target: Calls) => unknown;
}

/** The calls of a table, each carried out by `carry`, which gives what the call itself gives. */
export function callsBy<Calls extends object>(table: Table<Calls>, carry: (made: Made<Calls>) => unknown): Calls {
  const calls = (Object.entries(table) as [keyof Calls & string, Way][]).map(([name, way]) => {
    const call = (...args: readonly unknown[]): unknown =>
      carry({ name, args, way, on: (target) => (target[name] as (...given: readonly unknown[]) => unknown)(...args) });
    return [name, call] as const;
  });
  // The table has every name.
  return Object.fromEntries(calls) as Calls;
}

/** As callsBy, of calls that answer later. */
export function remoteBy<Calls extends object>(
  table: Table<Calls>,
  carry: (made: Made<Calls>) => Promise<unknown>,
): Remote<Calls> {
  return callsBy(table, carry) as Remote<Calls>;
}
