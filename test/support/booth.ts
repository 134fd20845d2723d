import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { bridgeMs } from "../../src/derivation/parameters.ts";
import { step } from "../../src/derivation/fold.ts";
import { type DeriveState, emptyState, type FactDraft } from "../../src/derivation/state.ts";
import type { Quality, TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { LogRecord, Stored } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";

/** 2025-03-03T00:00:00Z, a Monday. */
export const T0 = 1_740_960_000_000;
const BOOT = "boot-1";
/** Mono at the start of each script. */
export const MONO0 = 1_000_000;
/** The interval of polls in a quiet time. It is shorter than the time that a bridge covers. */
const QUIET_POLL_MS = 10_000;

export type Values = Readonly<Record<string, TagValue>>;

/** The polls of one booth, written by a test. Times are milliseconds since the start. */
export interface Script {
  readonly entries: TakenEntry[];
  readonly values: Record<string, TagValue>;
  now: number;
}

export function script(parameters: Parameters): Script {
  const one: Script = { entries: [], values: {}, now: 0 };
  put(one, { kind: "p", value: parameters });
  put(one, { kind: "t", value: { wall: T0, state: "synced", witness: "kernel" } });
  return one;
}

type Loose = LogRecord extends infer R ? (R extends LogRecord ? Pick<R, "kind" | "value"> : never) : never;

/** Appends a record other than a poll at the current time. */
export function put(one: Script, { kind, value }: Loose): void {
  const base = { boot: BOOT, mono: MONO0 + one.now, at: T0 + one.now, tag: "", quality: "good" };
  add(one, { kind: "record", record: { kind, value, ...base } as LogRecord });
}

/** Appends a technician's entry that a filter was changed at `at`. */
export function enterFilter(
  one: Script,
  at: number = one.now,
  more: { readonly ago_ms?: number; readonly id?: string; readonly by?: string } = {},
): void {
  const value = {
    filter: "exhaust_filter",
    source: "technician",
    installed_at: T0 + at,
    flagged: false,
    ...more,
  } as const;
  put(one, { kind: "f", value });
}

type Without<T> = T extends TakenEntry ? Omit<T, "take" | "stream"> : never;

function add(one: Script, entry: Without<TakenEntry>): void {
  one.entries.push({ ...entry, take: one.entries.length + 1, stream: "s" });
}

/**
 * Appends an answered poll at the current time. Values that differ from the last ones are its changes; null is a bad
 * reading.
 */
export function poll(one: Script, values: Values = {}, group = "fast"): void {
  const changes = Object.entries(values)
    .filter(([tag, value]) => one.values[tag] !== value)
    .map(([tag, value]) => [tag, value, value === null ? "bad" : "good"] as [string, TagValue, Quality]);
  Object.assign(one.values, values);
  add(one, { kind: "poll", boot: BOOT, mono: MONO0 + one.now, at: T0 + one.now, group, answered: true, changes });
}

/** Changes the values at the current time and holds them for `ms`. The last poll is just before the end. */
export function stay(one: Script, ms: number, values: Values = {}): void {
  const end = one.now + ms;
  poll(one, values);
  for (let next = one.now + QUIET_POLL_MS; next < end; next += QUIET_POLL_MS) {
    one.now = next;
    poll(one);
  }
  if (end - 1 > one.now) {
    one.now = end - 1;
    poll(one);
  }
  one.now = end;
}

/** Polls nothing for `ms`. The gap also contains the time since the last poll. */
export function silence(one: Script, ms: number): void {
  one.now += ms;
}

/** Forgets the last values, so that the next poll logs each of its values, as after an outage. */
export function forget(one: Script): void {
  for (const tag of Object.keys(one.values)) Reflect.deleteProperty(one.values, tag);
}

/** Moves the entries from index `from` on to a new boot of the gateway, whose mono starts again. */
export function reboot({ entries }: Script, from: number): void {
  for (const entry of entries.splice(from)) {
    if (entry.kind === "poll") entries.push({ ...entry, boot: "boot-2", mono: entry.mono - MONO0 + 1000 });
  }
}

export interface Folded {
  readonly state: DeriveState;
  readonly facts: FactDraft[];
  readonly records: Stored<LogRecord>[];
}

/** Commits the entries in chunks of the given sizes (default: one chunk) and folds them. */
export function fold(entries: readonly TakenEntry[], parameters: Parameters, sizes: readonly number[] = []): Folded {
  return foldRecords(commit(entries, parameters, sizes));
}

export function commit(
  entries: readonly TakenEntry[],
  parameters: Parameters,
  sizes: readonly number[] = [],
): Stored<LogRecord>[] {
  const records: Stored<LogRecord>[] = [];
  let from = 0;
  for (let turn = 0; from < entries.length; turn += 1) {
    const size = sizes.length === 0 ? entries.length : Math.max(1, sizes[turn % sizes.length] ?? 1);
    const chunk = recordsOf(entries.slice(from, from + size), (group) => bridgeMs(parameters, group));
    for (const record of chunk) records.push({ ...record, seq: records.length + 1 });
    from += size;
  }
  return records;
}

export function foldRecords(records: readonly Stored<LogRecord>[], from: DeriveState = emptyState()): Folded {
  const facts: FactDraft[] = [];
  let state = from;
  for (const record of records) {
    const next = step(state, record);
    state = next.state;
    facts.push(...next.facts);
  }
  return { state, facts, records: [...records] };
}

/** Folds the script. Its last poll is a commit of its own, so that the fold knows the time up to that poll. */
export function run(one: Script, parameters: Parameters): Folded {
  return fold(one.entries, parameters, [Math.max(1, one.entries.length - 1), 1]);
}

type FactOf<K extends FactDraft["kind"]> = Extract<FactDraft, { kind: K }>;

/** Returns the values of the facts of one kind. */
export function valuesOf<K extends FactDraft["kind"]>(facts: readonly FactDraft[], kind: K): FactOf<K>["value"][] {
  return facts.filter((fact) => fact.kind === kind).map((fact) => fact.value as FactOf<K>["value"]);
}

/** Formats stages as short text: mode, start and end in milliseconds since the start. */
export function stageTexts(facts: readonly FactDraft[]): string[] {
  return valuesOf(facts, "m").map(({ mode, start, end }) => `${mode} ${start - T0}-${end - T0}`);
}
