import type { ClockRecord, LogRecord } from "../types/record.ts";
import type { EpochMs, Milliseconds } from "../types/units.ts";
import type { ClockState } from "./state.ts";

/** A record's place in time. */
export interface Instant {
  /** The boot differs from that of the instant before. */
  readonly new_boot: boolean;
  readonly mono: Milliseconds;
  readonly at: EpochMs;
  /** Corrected time moved on by this much more than elapsed time did: the wall clock was put forward. */
  readonly jump_ms: Milliseconds;
}

/**
 * Places a record: corrected time = mono + offset of its boot. It stands still rather than run back, so that time
 * which was counted once is not counted again after the clock was put back. A mono that runs back within a boot
 * counts as the instant before.
 */
export function placeOf(clock: ClockState, record: LogRecord): Instant {
  if (record.boot !== clock.boot) {
    const at = Math.max(clock.now, firstOffset(record) + record.mono);
    return { new_boot: true, mono: record.mono, at, jump_ms: 0 };
  }
  const mono = Math.max(clock.mono, record.mono);
  return { new_boot: false, mono, at: Math.max(clock.now, mono + clock.offset), jump_ms: 0 };
}

/** Enters the instant. */
export function moveClock(clock: ClockState, record: LogRecord, instant: Instant): void {
  if (instant.new_boot) {
    clock.boot = record.boot;
    clock.offset = firstOffset(record);
    clock.placed = record.kind === "t";
  }
  clock.mono = instant.mono;
  clock.now = instant.at;
}

/**
 * What a clock record changes at its own instant. The first one of a boot gives the offset, whatever its state;
 * afterwards a sync does, or a step that has a witness: a step without one moves nothing.
 * @returns the instant to advance to, or null where the offset stays.
 */
export function reclock(clock: ClockState, record: ClockRecord): Instant | null {
  const witnessed = record.value.state === "synced" || record.value.witness !== undefined;
  if (clock.placed && (record.value.state === "unsynced" || !witnessed)) return null;
  clock.placed = true;
  const offset = record.value.wall - record.mono;
  if (offset === clock.offset) return null;
  clock.offset = offset;
  const at = Math.max(clock.now, clock.mono + offset);
  return { new_boot: false, mono: clock.mono, at, jump_ms: at - clock.now };
}

function firstOffset(record: LogRecord): Milliseconds {
  return (record.kind === "t" ? record.value.wall : record.at) - record.mono;
}
