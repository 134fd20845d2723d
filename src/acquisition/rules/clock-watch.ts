import type { ClockRecord } from "../../domain/record.ts";
import type { KnownOffset, Way } from "../../domain/service-time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** The service's clock according to one answer. */
export interface Heard {
  readonly way: Way;
  readonly mono: Milliseconds;
  /** The service's time minus mono. */
  readonly offset: Milliseconds;
}

/** The years 2000 to 2099; an answer can't have another time. */
const EARLIEST: EpochMs = 946_684_800_000;
const LATEST: EpochMs = 4_102_444_800_000;
/** Answers that differ by less agree, because an exchange takes up to 5 s. */
const AGREE_MS: Milliseconds = 5000;
/** This many answers, this far apart, outlast a short error of the service. */
const ANSWERS = 5;
const APART_MS: Milliseconds = 30_000;
/** A channel (acks or HTTP) without an answer for this long isn't awaited. While a long step is in doubt HTTP is asked twice a minute. */
const UP_MS: Milliseconds = 300_000;
/** Answers kept for each channel; more than needed, so that a late one displaces none. */
const MAX_KEPT = 8;

/** Returns whether an answer can have this time. */
export function isPlausible(time: EpochMs): boolean {
  return time >= EARLIEST && time <= LATEST;
}

/** Adds an answer. Of answers in quick succession the first and the last are kept. */
export function withHeard(list: readonly Heard[], one: Heard): readonly Heard[] {
  const own = list.filter(({ way }) => way === one.way);
  const [before, last] = own.slice(-2);
  const crowded = before !== undefined && last !== undefined && last.mono - before.mono < APART_MS;
  const kept = [...(crowded ? own.slice(0, -1) : own), one].slice(-MAX_KEPT);
  return [...list.filter(({ way }) => way !== one.way), ...kept].sort((a, b) => a.mono - b.mono);
}

/**
 * Returns the offset that the last answers agree on: at least five, each half a minute from the next, from every channel that is up, and
 * no other answer among them. null: they don't agree, or are too few.
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
  const up = new Set(list.filter(({ mono }) => now - mono <= UP_MS).map(({ way }) => way));
  const isWhole = [...up].every((way) => run.some((one) => one.way === way));
  if (apart < ANSWERS || !isWhole) return null;
  // An ack has milliseconds, the Date header of HTTP only seconds.
  return (run.find(({ way }) => way === "ack") ?? newest).offset;
}

/** If the wall clock moved by more than this against elapsed time, it was set. */
const STEP_MS: Milliseconds = 2000;
/** Drift is less than this: a longer step is believed only if several answers agree on it. */
const LONG_MS: Milliseconds = 3_600_000;
/** A time that is more than LONG_MS before the last committed one must stay for this long, even if the kernel confirms it. */
const KERNEL_FOR_MS: Milliseconds = 120_000;
/** A program is updated within this time; several answers must agree on a first time after it. */
const PROGRAM_LIFE_MS: Milliseconds = 2 * 366 * 86_400_000;

/** Both clocks of the box at one instant, and the evidence about them. */
export interface ClockReading {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
  /** The kernel says that the wall clock is synchronised. */
  readonly kernel: boolean;
  /** The service's last answers, oldest first. */
  readonly heard: readonly Heard[];
  /** Time of the program's build; absent: not known. */
  readonly built_at?: EpochMs | undefined;
  /** The last committed instant; absent or null: none. */
  readonly committed?: EpochMs | null;
}

/**
 * State of the watch on a booth's clock. Corrected time is `mono + offset`. The offset changes only by evidence from outside, the service
 * or the kernel: a step of the wall clock alone moves nothing. A boot's first time is taken from one answer and is `unsure` until more
 * evidence agrees. Drift, up to an hour, is followed at once; a longer step needs several answers that agree and no kernel against them.
 */
export interface ClockWatch {
  /** Corrected time minus mono. */
  readonly offset: Milliseconds;
  /** Wall clock minus mono when it had last moved. */
  readonly seen: Milliseconds;
  readonly synced: boolean;
  /** The last confirmed offset; null: there is only a first answer. */
  readonly vouched: Milliseconds | null;
  /** Mono since when the kernel has reported a synchronized clock; null: it doesn't. */
  readonly kernel_since: Milliseconds | null;
}

/** The state after a check, and the clock record to log; null: none. */
export interface Watched {
  readonly watch: ClockWatch;
  readonly value: ClockRecord["value"] | null;
}

/** A believed offset and its source. */
interface Belief {
  readonly offset: Milliseconds;
  readonly witness: "service" | "kernel";
  /** No other evidence confirms it yet. */
  readonly unsure: boolean;
}

/**
 * Starts the watch; always returns a record.
 * @param known the result of an earlier synchronization in this boot; null: none
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
  // The earlier synchronization still applies: the kernel's flag may be as wrong as the clock.
  if (Math.abs(seen - offset) > STEP_MS) return { watch, value: { wall, state: "stepped" } };
  return { watch, value: { wall: mono + offset, state: "synced", ...(unsure ? { unsure } : {}) } };
}

/**
 * Checks the clocks once. The service is the reference; before the first contact the kernel's flag is, once. If wall clock and service
 * agree within 5 s, the wall clock is used, because it is more precise. A step without evidence is logged and moves nothing.
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
  // After a step the kernel's time must stay for `KERNEL_FOR_MS` again.
  const kernel_since = watch.kernel_since === null ? null : mono;
  return { watch: { ...watch, seen, kernel_since }, value: { wall, state: "stepped" } };
}

/** Handles a check that doesn't move the offset: it may be confirmed now, or the wall clock may have been set. */
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

/** Finds a boot's first time. One answer is enough, so that a box without a battery-backed clock has a time at once. */
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
 * Finds a later correction. Drift is followed at once, up to an hour from the last confirmed offset in total. A longer step needs answers
 * that agree, and no kernel against them. The kernel outweighs a first answer that nothing confirms.
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

/** Returns whether the newest answer differs by more than an hour from the believed time. */
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
    return `the clock is synchronised, says ${by}${first}: records since the start have their time now`;
  if (after.offset === before.offset) return `the time is vouched for by ${by} now`;
  const step = after.offset - before.offset;
  const back = step + LONG_MS < 0 ? ": what was recorded by the wrong time is placed anew" : "";
  return `time is corrected by ${seconds(step)}, says ${by}${back}`;
}
