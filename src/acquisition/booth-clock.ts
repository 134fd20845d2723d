import { clockText, startWatch, watchClock, type ClockReading, type ClockWatch } from "./rules/clock-watch.ts";
import { type KnownOffset } from "../domain/service-time.ts";
import type { ClockRecord } from "../domain/record.ts";
import type { TakenEntry } from "../domain/taken.ts";
import type { BootId, EpochMs } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import type { Intake } from "./intake.ts";

/** What the fold's state says of the clock. */
export interface ClockView {
  /** Offset that a sync in that boot gave; null: none did. */
  syncedOffset(state: unknown, boot: BootId): KnownOffset | null;
  /** How far the log goes in corrected time; null: its newest boot waits for a time. */
  reached(state: unknown): EpochMs | null;
}

/** A booth's watch on the clock. */
export interface BoothClock {
  /** Logs what a look at the clocks brought, beside what the booth has committed. Returns it in words; null: nothing. */
  watchClock(reading: ClockReading): string | null;
  clockWatch(): ClockWatch;
}

/** Logs the clock at the start, and keeps the watch on it. */
export function openClock(
  { clock, view }: { readonly clock: Clock; readonly view: ClockView },
  { board, intake, leftover }: { board: BoothState; intake: Intake; leftover: readonly TakenEntry[] },
): BoothClock {
  const log = (value: ClockRecord["value"]): void =>
    intake.record((when) => ({ kind: "t", ...when, tag: "", value, quality: "good" }));
  const known = board.state === undefined ? null : view.syncedOffset(board.state, clock.boot);
  // Kept over the wait of a boot that has no time yet: what is shown of that proves nothing.
  let committed: EpochMs | null = null;
  const reached = (): EpochMs | null =>
    (committed = (board.state === undefined ? null : view.reached(board.state)) ?? committed);
  const started = startWatch(syncedIn(leftover, clock.boot) ?? known, {
    mono: clock.mono(),
    wall: clock.wall(),
    kernel: clock.synced(),
    heard: [],
    committed: reached(),
  });
  let { watch } = started;
  log(started.value);
  return {
    clockWatch: () => watch,
    watchClock(reading) {
      const before = watch;
      const { watch: after, value } = watchClock(before, { ...reading, committed: reached() });
      watch = after;
      if (value === null) return null;
      log(value);
      return clockText(before, after, value);
    },
  };
}

/** A sync that a crash kept from being committed. */
function syncedIn(leftover: readonly TakenEntry[], boot: BootId): KnownOffset | null {
  const records = leftover.map((entry) => (entry.kind === "record" ? entry.record : null));
  const sync = records.findLast(
    (record) => record?.kind === "t" && record.boot === boot && record.value.state === "synced",
  );
  return sync?.kind === "t" ? { offset: sync.value.wall - sync.mono, unsure: sync.value.unsure === true } : null;
}
