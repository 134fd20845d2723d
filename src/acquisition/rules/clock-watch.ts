import type { ClockRecord } from "../../domain/record.ts";
import type { KnownOffset, Way } from "../../domain/service-time.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/** What one answer said of the service's clock. */
export interface Heard {
  readonly way: Way;
  readonly mono: Milliseconds;
  /** The service's time minus mono. */
  readonly offset: Milliseconds;
}

/** The years 2000 to 2099: a time outside of these is none that an answer can be given at. */
const EARLIEST: EpochMs = 946_684_800_000;
const LATEST: EpochMs = 4_102_444_800_000;
/** Answers that differ by less say the same: one takes up to 5 s. */
const AGREE_MS: Milliseconds = 5000;
/** So many answers, so far apart, outlast a short lie. */
const ANSWERS = 5;
const APART_MS: Milliseconds = 30_000;
/** A way over which nothing was heard for so long isn't waited for: while a long step is in question HTTP is asked twice a minute, and a session acks. */
const UP_MS: Milliseconds = 300_000;
/** Of each way; more than are asked for, so that one which came late takes none away. */
const MOST_KEPT = 8;

/** Whether an instant can be believed at all. */
export function isPlausible(time: EpochMs): boolean {
  return time >= EARLIEST && time <= LATEST;
}

/** The list with one more answer: of answers in quick succession the first and the last are kept. */
export function withHeard(list: readonly Heard[], one: Heard): readonly Heard[] {
  const own = list.filter(({ way }) => way === one.way);
  const [before, last] = own.slice(-2);
  const crowded = before !== undefined && last !== undefined && last.mono - before.mono < APART_MS;
  const kept = [...(crowded ? own.slice(0, -1) : own), one].slice(-MOST_KEPT);
  return [...list.filter(({ way }) => way !== one.way), ...kept].sort((a, b) => a.mono - b.mono);
}

/**
 * The offset that the last answers agree on: five of them, each half a minute from the next, from every way that is up, and none
 * in between that says otherwise. null: there aren't as many.
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
  // Date names a whole second, an ack the millisecond.
  return (run.find(({ way }) => way === "ack") ?? newest).offset;
}

/** The wall clock was put forward or back where it moved by more than this against elapsed time. */
const STEP_MS: Milliseconds = 2000;
/** A clock that drifts is put right by less: a longer step is believed only where several answers agree on it. */
const LONG_MS: Milliseconds = 3_600_000;
/** A time before the last committed one by more than LONG_MS, though the kernel vouches for it, must be shown for so long. */
const KERNEL_FOR_MS: Milliseconds = 120_000;
/** A program is renewed within this; a first time behind it is one that several answers must agree on. */
const PROGRAM_LIFE_MS: Milliseconds = 2 * 366 * 86_400_000;

/** Both clocks of the box at one moment, and what is known of them from outside. */
export interface ClockReading {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
  /** The kernel says that the wall clock is synchronised. */
  readonly kernel: boolean;
  /** What the service's last answers said of its clock, oldest first. */
  readonly heard: readonly Heard[];
  /** When the program was made; absent: not known, and nothing is held against it. */
  readonly built_at?: EpochMs | undefined;
  /** The last instant that is committed; absent or null: none. */
  readonly committed?: EpochMs | null;
}

/** What the watcher of a booth's clock remembers. */
export interface ClockWatch {
  /** Corrected time = mono + offset. Holds until the next witness, whatever the wall clock does. */
  readonly offset: Milliseconds;
  /** Wall clock minus mono when it was last looked at and found moved. */
  readonly seen: Milliseconds;
  readonly synced: boolean;
  /** The last offset that more than one answer vouched for; null: a first answer is all there is. */
  readonly vouched: Milliseconds | null;
  /** Mono since when the kernel has vouched for a time that isn't believed yet; null: it doesn't. */
  readonly kernel_since: Milliseconds | null;
}

/** The watcher afterwards, and the clock record to log; null: nothing to say. */
export interface Watched {
  readonly watch: ClockWatch;
  readonly value: ClockRecord["value"] | null;
}

/** A time that is believed, and who said it. */
interface Belief {
  readonly offset: Milliseconds;
  readonly witness: "service" | "kernel";
  /** Nobody else vouches for it yet. */
  readonly unsure: boolean;
}

/**
 * The clock at the agent's start; always has a record.
 * @param known what an earlier sync in this same boot gave; null: there was none.
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
  // The earlier sync still holds: the kernel's flag may be as stale as the clock it vouches for.
  if (Math.abs(seen - offset) > STEP_MS) return { watch, value: { wall, state: "stepped" } };
  return { watch, value: { wall: mono + offset, state: "synced", ...(unsure ? { unsure } : {}) } };
}

/**
 * One look at the clocks. The service is the witness; before first contact the kernel's flag is, once. Where wall clock
 * and service agree within 5 s the wall clock is the finer of the two. A step without a witness is told and moves nothing.
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
  // Only a time that stays where it is can be vouched for by staying.
  const kernel_since = watch.kernel_since === null ? null : mono;
  return { watch: { ...watch, seen, kernel_since }, value: { wall, state: "stepped" } };
}

/** Nothing moves the offset. It may be vouched for now, or the wall clock have been put about. */
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

/** A boot's first time is taken from one answer, so that a box without a clock of its own has it at once. */
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
 * A drift is followed at once, up to an hour from what was last vouched for, in however many steps. A longer step wants answers that
 * agree, and no kernel against them; where a first answer is all there is the kernel's word outweighs it.
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

/** Answers that differ by over an hour from the time that is believed, and aren't believed themselves (yet). */
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

/** A clock record in words, for the log that people read. */
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
