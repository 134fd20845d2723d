import type { IdentityCalls, StoreCalls } from "../port.ts";
import type { Writer } from "./writer.ts";

/**
 * The file that a call uses while the data folder accepts no writes. "now": the copy in memory. "real": the data folder's own file, which
 * is opened again before the call.
 */
export type CallTarget = "now" | "real";

/** Names of the store's calls. The threads and the standby (the copy in memory) forward these calls. */
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
} as const satisfies Record<keyof StoreCalls, CallTarget>;

/** Names of the writer's calls: the store's own, and those that only the store thread makes. */
export const WRITER_CALLS = {
  ...STORE_CALLS,
  check: "now",
  mend: "now",
  rebuild: "real",
  rebuildProgress: "now",
  rebuildSlice: "now",
} as const satisfies Record<Exclude<keyof Writer, "close">, CallTarget>;

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
} as const satisfies Record<keyof IdentityCalls, CallTarget>;

type Table<Calls> = Readonly<Record<keyof Calls & string, CallTarget>>;

/**
 * Builds an object with one method for each name in the table. Each method passes its name and arguments to `forward` and returns the
 * result.
 */
export function callsBy<Calls extends object>(
  table: Table<Calls>,
  forward: (name: keyof Calls & string, args: readonly unknown[]) => unknown,
): Calls {
  const names = Object.keys(table) as (keyof Calls & string)[];
  const calls = names.map((name) => [name, (...args: readonly unknown[]): unknown => forward(name, args)] as const);
  // TypeScript can't see that the object has every name of the table.
  return Object.fromEntries(calls) as Calls;
}

/** Calls a function by its name. */
export function invoke<Calls extends object>(target: Calls, name: keyof Calls, args: readonly unknown[]): unknown {
  return (target[name] as (...given: readonly unknown[]) => unknown)(...args);
}
