import type { ClockRecord } from "../../domain/record.ts";
import type { KnownOffset, TimeSource } from "../../domain/service-time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** The service's clock according to one answer. */
export interface Heard {
  readonly source: TimeSource;
  readonly mono: Milliseconds;
  /** The service's time minus monotonic time. */
  readonly offset: Milliseconds;
}

/** Plausible times of an answer: the years 2000 to 2099. */
const EARLIEST: EpochMs = 946_684_800_000;
const LATEST: EpochMs = 4_102_444_800_000;
/** Largest difference of two answers that agree. It is this large because an exchange can take up to 5 s. */
const AGREE_MS: Milliseconds = 5000;
/** Number of agreeing answers, at least `APART_MS` apart, that prove a time. A short error of the service doesn't last that long. */
const ANSWERS = 5;
const APART_MS: Milliseconds = 30_000;
/**
 * Time after which a silent channel (acks or HTTP) is ignored. A working channel isn't silent that long: HTTP is asked twice a minute while
 * a large step is in doubt.
 */
const UP_MS: Milliseconds = 300_000;
/** Maximum number of remembered answers per channel. It exceeds `ANSWERS`, so that a late answer doesn't displace a needed one. */
const MAX_KEPT = 8;

/** Returns whether an answer can have this time. */
export function isPlausible(time: EpochMs): boolean {
  return time >= EARLIEST && time <= LATEST;
}

/** Adds an answer. If several answers of a channel arrive in quick succession, only the first and the last are kept. */
export function withHeard(list: readonly Heard[], one: Heard): readonly Heard[] {
  const own = list.filter(({ source }) => source === one.source);
  const [before, last] = own.slice(-2);
  const crowded = before !== undefined && last !== undefined && last.mono - before.mono < APART_MS;
  const kept = [...(crowded ? own.slice(0, -1) : own), one].slice(-MAX_KEPT);
  return [...list.filter(({ source }) => source !== one.source), ...kept].sort((a, b) => a.mono - b.mono);
}

/**
 * Returns the offset that the newest answers agree on; null: the answers differ, or are too few. At least five answers are needed, each at
 * least half a minute after the one before. They must include every channel that is up.
 */
export function agreedOffset(list: readonly Heard[], now: Milliseconds): Milliseconds | null {
  const newest = list.at(-1);
  if (newest === undefined) return null;
  const other = list.findLastIndex(({ offset }) => Math.abs(offset - newest.offset) > AGREE_MS);
  const run = list.slice(other + 1).reverse();
  let apart = 0;
  let next = Infinity;
  for (const { mono } of run) {
    if (next - mono < APART_MS) continue;
    apart += 1;
    next = mono;
  }
  const up = new Set(list.filter(({ mono }) => now - mono <= UP_MS).map(({ source }) => source));
  const isWhole = [...up].every((source) => run.some((one) => one.source === source));
  if (apart < ANSWERS || !isWhole) return null;
  // Prefers an ack, because it has milliseconds. The Date header of HTTP has only seconds.
  return (run.find(({ source }) => source === "ack") ?? newest).offset;
}

/** Least difference between wall clock and elapsed time that means that the wall clock was set. */
const STEP_MS: Milliseconds = 2000;
/** Limit of drift. A larger step is accepted only if several answers agree on it. */
const LONG_MS: Milliseconds = 3_600_000;
/** Time for which the kernel must keep confirming a time that is more than LONG_MS before the last committed time. */
const KERNEL_FOR_MS: Milliseconds = 120_000;
/** Longest time that a program is used without an update. If a first time is later than that, several answers must agree on it. */
const PROGRAM_LIFE_MS: Milliseconds = 2 * 366 * 86_400_000;

/** Both clocks of the gateway at one instant, and the evidence about them. */
export interface ClockReading {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
  /** True if the kernel reports that the wall clock is synchronized. */
  readonly kernel: boolean;
  /** The service's last answers, oldest first. */
  readonly heard: readonly Heard[];
  /** Build time of the program; absent: not known. */
  readonly built_at?: EpochMs | undefined;
  /** The newest committed time; absent or null: no time was committed. */
  readonly committed?: EpochMs | null;
}

/**
 * State of the watch on a booth's clock. Corrected time is `mono + offset`. Only evidence from the service or the kernel changes the
 * offset; a step of the wall clock alone doesn't. A boot's first time is taken from one answer and is `unsure` until more evidence agrees.
 * Drift of up to an hour is followed at once. A larger step needs several answers that agree, and is rejected if the kernel contradicts.
 */
export interface ClockWatch {
  /** Corrected time minus monotonic time. */
  readonly offset: Milliseconds;
  /** Wall clock minus monotonic time when the wall clock was last set. */
  readonly seen: Milliseconds;
  readonly synced: boolean;
  /** The last confirmed offset; null: only a first answer is known. */
  readonly vouched: Milliseconds | null;
  /** Monotonic time since when the kernel has reported a synchronized clock; null: it reports none. */
  readonly kernel_since: Milliseconds | null;
}

/** The state after a check, and the clock record to log; null: nothing to log. */
export interface Watched {
  readonly watch: ClockWatch;
  readonly value: ClockRecord["value"] | null;
}

/** An accepted offset and its source. */
interface Belief {
  readonly offset: Milliseconds;
  readonly witness: "service" | "kernel";
  /** True if no other evidence confirms the offset yet. */
  readonly unsure: boolean;
}

/**
 * Starts the watch. The result always has a clock record.
 * @param known the result of an earlier synchronization in this boot; null: no such result
 */
export function startWatch(
  known: KnownOffset | null,
  reading: ClockReading,
): Watched & { value: ClockRecord["value"] } {
  const { mono, wall } = reading;
  const seen = wall - mono;
  if (known === null) {
    const blank: ClockWatch = { offset: seen, seen, synced: false, vouched: null, kernel_since: null };
    const { watch, value } = watchClock(blank, reading);
    return { watch, value: value ?? { wall, state: "unsynced" } };
  }
  const { offset, unsure } = known;
  const watch: ClockWatch = { offset, seen, synced: true, vouched: unsure ? null : offset, kernel_since: null };
  // Keeps the earlier synchronization after a step of the clock, because the kernel's flag may be as wrong as the clock.
  if (Math.abs(seen - offset) > STEP_MS) return { watch, value: { wall, state: "stepped" } };
  return { watch, value: { wall: mono + offset, state: "synced", ...(unsure ? { unsure } : {}) } };
}

/**
 * Checks the clocks once. The service is the reference. If the service hasn't answered yet, the kernel's flag can set the time once. If
 * wall clock and service agree within 5 s, the wall clock is used, because it is more precise. A step without evidence is logged but moves
 * nothing.
 */
export function watchClock(before: ClockWatch, reading: ClockReading): Watched {
  const { mono, wall } = reading;
  const seen = wall - mono;
  const watch = { ...before, kernel_since: reading.kernel ? (before.kernel_since ?? mono) : null };
  const belief = watch.synced ? laterBelief(watch, reading) : firstBelief(watch, reading);
  if (belief !== null) {
    const { witness, unsure } = belief;
    const offset = Math.abs(seen - belief.offset) > AGREE_MS ? belief.offset : seen;
    const vouched = unsure ? watch.vouched : offset;
    return {
      watch: { ...watch, offset, seen, synced: true, vouched },
      value: { wall: mono + offset, state: "synced", witness, ...(vouched === null ? { unsure: true } : {}) },
    };
  }
  if (watch.synced) return keptBelief(watch, reading);
  if (Math.abs(seen - watch.seen) <= STEP_MS) return { watch, value: null };
  // Starts the kernel's time anew, because after a step the kernel must confirm the time for `KERNEL_FOR_MS` again.
  const kernel_since = watch.kernel_since === null ? null : mono;
  return { watch: { ...watch, seen, kernel_since }, value: { wall, state: "stepped" } };
}

/**
 * Handles a check that leaves the offset unchanged. Two things may still be logged: the offset is now confirmed, or the wall clock was set.
 */
function keptBelief(watch: ClockWatch, reading: ClockReading): Watched {
  const { mono, wall } = reading;
  const seen = wall - mono;
  const agreed = agreedOffset(reading.heard, mono);
  const isVouched = isNear(agreed, watch.offset) || (reading.kernel && isNear(seen, watch.offset));
  const vouched = isVouched ? watch.offset : watch.vouched;
  if (watch.vouched === null && vouched !== null) {
    const witness = isNear(agreed, watch.offset) ? "service" : "kernel";
    return { watch: { ...watch, vouched }, value: { wall: mono + watch.offset, state: "synced", witness } };
  }
  if (Math.abs(seen - watch.seen) <= STEP_MS) return { watch: { ...watch, vouched }, value: null };
  return { watch: { ...watch, vouched, seen }, value: { wall, state: "stepped" } };
}

/** Finds a boot's first time. One answer is enough, so that a gateway without a battery-backed clock has a time at once. */
function firstBelief(watch: ClockWatch, reading: ClockReading): Belief | null {
  const { mono, wall, kernel, heard } = reading;
  const seen = wall - mono;
  const said = heard.at(-1)?.offset ?? null;
  const agreed = agreedOffset(heard, mono);
  if (said !== null && isFirst(mono + said, reading) && !isAgainstKernel(said, reading)) {
    const unsure = !isNear(agreed, said) && !(kernel && isNear(seen, said));
    return { offset: said, witness: "service", unsure };
  }
  if (kernel && (isAfterCommitted(wall, reading) || mono - (watch.kernel_since ?? mono) >= KERNEL_FOR_MS)) {
    return { offset: seen, witness: "kernel", unsure: false };
  }
  return agreed === null || isAgainstKernel(agreed, reading)
    ? null
    : { offset: agreed, witness: "service", unsure: false };
}

/**
 * Finds a later correction. Drift is followed at once, up to an hour in total from the last confirmed offset. A larger step needs answers
 * that agree, and is rejected if the kernel contradicts. The kernel outweighs an unconfirmed first answer.
 */
function laterBelief(watch: ClockWatch, reading: ClockReading): Belief | null {
  const { mono, wall, kernel, heard } = reading;
  const seen = wall - mono;
  const said = heard.at(-1)?.offset ?? null;
  if (kernel && watch.vouched === null && isLong(seen - watch.offset) && isAfterKernel(watch, reading)) {
    return { offset: seen, witness: "kernel", unsure: false };
  }
  const agreed = agreedOffset(heard, mono);
  if (agreed !== null && isLong(agreed - (watch.vouched ?? watch.offset)) && !isAgainstKernel(agreed, reading)) {
    return isNear(agreed, watch.offset) ? null : { offset: agreed, witness: "service", unsure: false };
  }
  if (said === null || isNear(said, watch.offset) || isLong(said - (watch.vouched ?? watch.offset))) return null;
  return { offset: said, witness: "service", unsure: !isNear(agreed, said) };
}

/** Returns whether the newest answer differs by more than an hour from the accepted time. */
export function isDisputed(watch: ClockWatch, { heard }: Pick<ClockReading, "heard">): boolean {
  const said = heard.at(-1)?.offset;
  return watch.synced && said !== undefined && isLong(said - watch.offset);
}

function isFirst(time: EpochMs, reading: ClockReading): boolean {
  const { built_at } = reading;
  return isAfterCommitted(time, reading) && (built_at === undefined || time <= built_at + PROGRAM_LIFE_MS);
}

function isAfterCommitted(time: EpochMs, { committed }: ClockReading): boolean {
  return committed === undefined || committed === null || time >= committed - LONG_MS;
}

function isAfterKernel({ kernel_since }: ClockWatch, reading: ClockReading): boolean {
  const { mono, wall } = reading;
  return isAfterCommitted(wall, reading) || mono - (kernel_since ?? mono) >= KERNEL_FOR_MS;
}

function isAgainstKernel(offset: Milliseconds, { kernel, wall, mono }: ClockReading): boolean {
  return kernel && isLong(wall - mono - offset);
}

function isNear(offset: Milliseconds | null, other: Milliseconds): boolean {
  return offset !== null && Math.abs(offset - other) <= AGREE_MS;
}

function isLong(by: Milliseconds): boolean {
  return Math.abs(by) > LONG_MS;
}

/** Describes a clock record for the log. */
export function clockText(before: ClockWatch, after: ClockWatch, value: ClockRecord["value"]): string {
  const seconds = (ms: Milliseconds): string => `${(ms / 1000).toFixed(1)} s`;
  if (value.state === "stepped") {
    return `the wall clock was set by ${seconds(after.seen - before.seen)}; nobody vouches for it, so time goes on as before`;
  }
  const by = value.witness === "service" ? "the service" : "the kernel";
  const first = value.unsure === true ? ", by a first answer that nobody else vouches for yet" : "";
  if (!before.synced)
    return `the clock is synchronized, says ${by}${first}: records since the start have their time now`;
  if (after.offset === before.offset) return `the time is vouched for by ${by} now`;
  const step = after.offset - before.offset;
  const back = step + LONG_MS < 0 ? ": what was recorded by the wrong time is placed anew" : "";
  return `time is corrected by ${seconds(step)}, says ${by}${back}`;
}
