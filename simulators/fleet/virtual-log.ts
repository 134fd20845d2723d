import type { TagParameters, Parameters } from "../../src/domain/parameters.ts";
import { KIND, type LogChunk, type LogRecord, type Placed } from "../../src/domain/record.ts";
import { ROW_SIZES } from "../../src/domain/storage.ts";
import { packChunk } from "../../src/store/log/pack.ts";
import type { TagValue } from "../../src/domain/booth.ts";

/** The commit interval, the agent's default. */
export const COMMIT_MS = 10_000;
const POLL_MS = 1_000;
const POLLS = COMMIT_MS / POLL_MS;
/** Average number of changes in a poll of the benchmark's booth of sixty tags. */
const CHANGES = 5;
/** Records of a commit: one coverage record and the changes. */
export const COMMIT_RECORDS = 1 + POLLS * CHANGES;
/** Number of clock and parameter records at the start. */
const CONTEXT = 2;

const MEASURED = 24;
const COUNTERS = ["cycle_count", "run_minutes", "gas", "energy"] as const;
const STATES = 31;
/** Commits between two changes of the mode: 400 s, the average of the benchmark's booth. */
const MODE_COMMITS = 40;
const MODES = ["idle", "prep", "spray", "flash", "bake", "cool_down"] as const;

/** An error of the wall clock by `off_ms` from that commit on. */
export interface ClockStep {
  readonly commit: number;
  readonly off_ms: number;
}

/** A restored old copy of the store: from that seq on the records differ from the earlier ones. */
export interface Variant {
  readonly from_seq: number;
  readonly variant: number;
}

/**
 * A log that takes no memory: each record is computed from the seed and its seq. It is a booth of sixty tags at 1 Hz
 * with its own parameters and commits without gaps.
 */
export interface VirtualLog {
  readonly seed: number;
  /** True time at mono 0. */
  readonly start: number;
  readonly clock_steps: readonly ClockStep[];
  readonly variants: readonly Variant[];
}

/** Returns the newest seq after this many commits. */
export function seqAfter(commits: number): number {
  return commits <= 0 ? 0 : CONTEXT + commits * COMMIT_RECORDS;
}

/** Counts the readings among this many records of whole commits. */
export function readingsIn(records: number): number {
  return records - records / COMMIT_RECORDS;
}

/** Counts the commits that are complete at that seq. */
export function commitsUpTo(seq: number): number {
  return Math.max(0, Math.floor((seq - CONTEXT) / COMMIT_RECORDS));
}

/** Returns the records from `from` to `to`, both included. */
export function recordsOf(log: VirtualLog, from: number, to: number): readonly Placed<LogRecord>[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => recordAt(log, from + index));
}

/** Returns the records of `from` to `to` on which others depend. */
export function contextOf(log: VirtualLog, from: number, to: number): readonly Placed[] {
  return recordsOf(log, from, Math.min(to, CONTEXT));
}

/** Returns the chunk in a gateway's store for `from` to `end`, or null and the range to send as single records. */
export function chunkOf(
  log: VirtualLog,
  from: number,
  end: number,
): { readonly chunk: LogChunk | null; readonly to: number } {
  const first = commitsUpTo(from - 1);
  if (from <= CONTEXT || seqAfter(first) + 1 !== from) return { chunk: null, to: Math.min(end, seqAfter(first + 1)) };
  // A row has one boot and one clock offset.
  const borders = [
    ...log.clock_steps.map(({ commit }) => seqAfter(commit)),
    ...log.variants.map(({ from_seq }) => from_seq - 1),
  ];
  const last = Math.min(end, ...borders.filter((seq) => seq >= from));
  const commits = Math.min(commitsUpTo(last) - first, Math.ceil(ROW_SIZES.closed_records / COMMIT_RECORDS));
  if (commits * COMMIT_RECORDS < ROW_SIZES.least_chunk_records) return { chunk: null, to: last };
  const to = seqAfter(first + commits);
  const records = recordsOf(log, from, to);
  const { boot, mono, time } = recordAt(log, from);
  const start = { first_seq: from, boot, mono0: mono, t0: time };
  return { chunk: { from, to, ...start, body: new Uint8Array(packChunk(start, records)), facts: [] }, to };
}

export function recordAt(log: VirtualLog, seq: number): Placed<LogRecord> {
  const variant = log.variants.findLast(({ from_seq }) => from_seq <= seq)?.variant ?? 0;
  const commit = Math.max(0, Math.floor((seq - CONTEXT - 1) / COMMIT_RECORDS));
  const nth = seq <= CONTEXT ? 0 : (seq - CONTEXT - 1) % COMMIT_RECORDS;
  const poll = nth === 0 ? 0 : Math.floor((nth - 1) / CHANGES);
  const from = commit * COMMIT_MS;
  const mono = from + poll * POLL_MS;
  const off_ms = log.clock_steps.findLast((step) => step.commit <= commit)?.off_ms ?? 0;
  const time = log.start + off_ms + mono;
  const base = { seq, boot: `boot-${variant}`, mono, at: time, time, quality: "good" } as const;
  if (seq === 1)
    return { ...base, kind: KIND.clock, tag: "", value: { wall: time, state: "synced", witness: "kernel" } };
  if (seq === CONTEXT) return { ...base, kind: KIND.parameters, tag: "", value: PARAMETERS };
  if (nth === 0) {
    const value = { group: "fast", from, to: from + COMMIT_MS - POLL_MS, polls: POLLS, max_interval_ms: POLL_MS };
    return { ...base, kind: KIND.coverage, tag: "fast", value };
  }
  return {
    ...base,
    kind: KIND.reading,
    ...readingAt(mixed(log.seed, variant), { commit, poll, change: nth - 1 - poll * CHANGES }),
  };
}

/** The changes of a poll have different tags. */
function readingAt(
  seed: number,
  at: { readonly commit: number; readonly poll: number; readonly change: number },
): { readonly tag: string; readonly value: TagValue } {
  const { commit, poll, change } = at;
  const polls = commit * POLLS + poll;
  const draw = mixed(mixed(seed, polls), change);
  if (change === 0 && poll === 0 && commit % MODE_COMMITS === 0)
    return { tag: "mode", value: Math.floor(commit / MODE_COMMITS) % MODES.length };
  if (change === 0 && polls % POLLS === 1) {
    const counter = COUNTERS[commit % COUNTERS.length] ?? "gas";
    return { tag: counter, value: Math.floor(commit / MODE_COMMITS) };
  }
  if (change === 0 && polls % 131 === 7) return { tag: `state_${draw % STATES}`, value: draw % 2 === 0 };
  const index = ((mixed(seed, polls) % MEASURED) + change * CHANGES) % MEASURED;
  return { tag: `measured_value_${index}`, value: (200 + 10 * index + (draw % 9) - 4) / 10 };
}

/**
 * Mixes two numbers into 32 bits that look random and are always the same for the same numbers (the final steps of
 * MurmurHash3).
 */
export function mixed(one: number, other: number): number {
  let hash = Math.imul(one ^ Math.imul(other, 0x9e37_79b1), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const plain: TagParameters = { bay: 0, unit: "", factor: 1, group: "fast", deadband: 0, heartbeat_ms: 0 };
const numbered = (name: string, count: number): [string, TagParameters][] =>
  Array.from({ length: count }, (_, index) => [`${name}_${index}`, plain]);

const PARAMETERS: Parameters = {
  profile: "sixty-tags",
  profile_version: "1.0.0",
  groups: { fast: { poll_interval_ms: POLL_MS } },
  tags: {
    mode: { ...plain, role: "mode" },
    cycle_count: { ...plain, role: "cycle_counter", counter: { step: 1, max_rate_per_h: 60, retained: true } },
    run_minutes: {
      ...plain,
      role: "hour_meter",
      unit: "min",
      counter: { step: 1, max_rate_per_h: 60, retained: true },
    },
    gas: { ...plain, role: "gas", unit: "therm", counter: { step: 1, max_rate_per_h: 60, retained: true } },
    energy: { ...plain, role: "kwh", unit: "kWh", counter: { step: 1, max_rate_per_h: 60, retained: true } },
    ...Object.fromEntries([...numbered("measured_value", MEASURED), ...numbered("state", STATES)]),
  },
  modes: Object.fromEntries(MODES.map((mode, code) => [code.toString(), mode])),
  mode_sets: {
    in_use: ["prep", "spray", "flash", "bake", "cool_down"],
    run: ["prep", "spray", "flash", "bake", "cool_down"],
    runtime: ["prep", "spray", "flash", "bake", "cool_down"],
  },
  tz: "America/Chicago",
  working_hours: [],
  bay_count: 1,
  filters: {},
};
