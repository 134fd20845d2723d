import type { ClockRecord } from "./types/record.ts";
import type { EpochMs, Milliseconds } from "./types/units.ts";

/** The wall clock was put forward or back where it moved by more than this against elapsed time. */
const STEP_MS: Milliseconds = 2000;
/** The service's answers take up to 5 s, so a smaller difference from it proves nothing. */
const DISAGREES_MS: Milliseconds = 5000;

/** Both clocks of the box at one moment, and what is known of them from outside. */
export interface ClockReading {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
  /** The kernel says that the wall clock is synchronised. */
  readonly kernel: boolean;
  /** The service's time minus mono; null: nothing was heard of it in this boot. */
  readonly service_offset: Milliseconds | null;
}

/** What the watcher of a booth's clock remembers. */
export interface ClockWatch {
  /** Corrected time = mono + offset. Holds until the next witness, whatever the wall clock does. */
  readonly offset: Milliseconds;
  /** Wall clock minus mono when it was last looked at and found moved. */
  readonly seen: Milliseconds;
  readonly synced: boolean;
}

/** The watcher afterwards, and the clock record to log; null: nothing to say. */
export interface Watched {
  readonly watch: ClockWatch;
  readonly value: ClockRecord["value"] | null;
}

/**
 * The clock at the agent's start; always has a record.
 * @param known offset that a sync earlier in this same boot gave, ms; null: none did.
 */
export function startWatch(
  known: Milliseconds | null,
  reading: ClockReading,
): Watched & { value: ClockRecord["value"] } {
  const { mono, wall } = reading;
  const seen = wall - mono;
  if (known === null) {
    const { watch, value } = watchClock({ offset: seen, seen, synced: false }, reading);
    return { watch, value: value ?? { wall, state: "unsynced" } };
  }
  const watch: ClockWatch = { offset: known, seen, synced: true };
  // The earlier sync still holds: the kernel's flag may be as stale as the clock it vouches for.
  if (Math.abs(seen - known) > STEP_MS) return { watch, value: { wall, state: "stepped" } };
  return { watch, value: { wall: mono + known, state: "synced" } };
}

/**
 * One look at the clocks. The service is the witness; before first contact the kernel's flag is, once. Where wall clock
 * and service agree within 5 s the wall clock is the finer of the two. A step without a witness is told and moves nothing.
 */
export function watchClock(watch: ClockWatch, reading: ClockReading): Watched {
  const { mono, wall, kernel, service_offset } = reading;
  const seen = wall - mono;
  if (service_offset !== null && (!watch.synced || Math.abs(watch.offset - service_offset) > DISAGREES_MS)) {
    const offset = Math.abs(seen - service_offset) > DISAGREES_MS ? service_offset : seen;
    return {
      watch: { offset, seen, synced: true },
      value: { wall: mono + offset, state: "synced", witness: "service" },
    };
  }
  if (!watch.synced && kernel) {
    return { watch: { offset: seen, seen, synced: true }, value: { wall, state: "synced", witness: "kernel" } };
  }
  if (Math.abs(seen - watch.seen) > STEP_MS) return { watch: { ...watch, seen }, value: { wall, state: "stepped" } };
  return { watch, value: null };
}

/** A clock record in words, for the log that people read. */
export function clockText(before: ClockWatch, after: ClockWatch, value: ClockRecord["value"]): string {
  const seconds = (ms: Milliseconds): string => `${(ms / 1000).toFixed(1)} s`;
  if (value.state === "stepped") {
    return `the wall clock was set by ${seconds(after.seen - before.seen)}; nobody vouches for it, so time goes on as before`;
  }
  const by = value.witness === "service" ? "the service" : "the kernel";
  if (!before.synced) return `the clock is synchronised, says ${by}: records since the start have their time now`;
  return `time is corrected by ${seconds(after.offset - before.offset)}, says ${by}`;
}
