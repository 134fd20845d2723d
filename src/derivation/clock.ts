import type { KnownOffset } from "../domain/service-time.ts";
import type { LogEnd } from "../domain/leftover.ts";
import type { ClockRecord, LogRecord } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds } from "../domain/units.ts";
import { isWitnessed, type BootPlace, type KnownTime } from "./placing.ts";
import { WRONG_MS, type Shown, type TakenBack } from "./taken-back.ts";
import { report } from "./incidents.ts";
import type { ClockState } from "./clock-state.ts";
import type { DeriveState, Fold } from "./state.ts";

/** A clock that is put by more than this was wrong. */
const STEP_MS: Milliseconds = 2000;
const DAY_MS: Milliseconds = 86_400_000;

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
export function placeOf(state: DeriveState, record: LogRecord): Instant {
  const { clock } = state;
  if (record.boot !== clock.boot) {
    const at = Math.max(clock.now, firstOffset(state, record) + record.mono);
    return { new_boot: true, mono: record.mono, at, jump_ms: 0 };
  }
  const mono = Math.max(clock.mono, record.mono);
  return { new_boot: false, mono, at: Math.max(clock.now, mono + clock.offset), jump_ms: 0 };
}

/** Enters the instant. */
export function moveClock(state: DeriveState, record: LogRecord, instant: Instant): void {
  const { clock } = state;
  if (instant.new_boot) {
    const place = placeFor(clock, record);
    const back = stretchOf(clock, record);
    clock.offset = firstOffset(state, record);
    clock.boot = record.boot;
    clock.placed = back !== undefined || place !== undefined || record.kind === "t";
    clock.synced = back !== undefined || (place === undefined ? isWitnessed(record) : !place.uncertain);
    clock.unsure = back !== undefined || (place?.uncertain ?? false);
    clock.places = clock.places.filter((one) => one !== place);
  }
  noteLeap(clock, instant);
  clock.mono = instant.mono;
  clock.now = instant.at;
}

/** Time that moved on by a day at once may yet be taken back: for a day nothing is judged by its age. */
function noteLeap(clock: ClockState, { new_boot, mono, at }: Instant): void {
  const isLeap = clock.now > 0 && at - clock.now > DAY_MS && (new_boot || at - clock.now > mono - clock.mono + DAY_MS);
  if (isLeap || (new_boot && clock.leapt !== undefined)) clock.leapt = mono;
  else if (clock.leapt !== undefined && mono - clock.leapt > DAY_MS) delete clock.leapt;
}

/** Whether records are old by the time that stands: it has stood for long enough. */
export function isSettled({ clock }: DeriveState): boolean {
  return clock.leapt === undefined;
}

/**
 * What a clock record changes at its own instant. The first one of a boot gives the offset, whatever its state;
 * afterwards a sync does, or a step that has a witness: a step without one moves nothing.
 * @returns the instant to advance to, or null where the offset stays.
 */
export function reclock(clock: ClockState, record: ClockRecord): Instant | null {
  const witnessed = isWitnessed(record);
  if (clock.placed && !witnessed) return null;
  const back = stretchOf(clock, record);
  const provisional = Math.max(record.value.wall - record.mono, clock.offset);
  const said = witnessed ? record.value.wall - record.mono : provisional;
  const offset = back === undefined ? said : (back.offset ?? clock.offset);
  clock.placed = true;
  clock.synced ||= witnessed;
  if (witnessed) clock.unsure = back !== undefined || record.value.unsure === true;
  if (offset === clock.offset) return null;
  clock.offset = offset;
  const at = Math.max(clock.now, clock.mono + offset);
  return { new_boot: false, mono: clock.mono, at, jump_ms: at - clock.now };
}

/** A wall clock that was put by over 2 s, with or without a witness, is an incident of the gateway's own. */
export function checkStep(fold: Fold, record: ClockRecord): void {
  const { clock } = fold.state;
  const by = record.value.wall - record.mono - clock.offset;
  const moved = record.value.state === "stepped" || (clock.synced && isWitnessed(record) && Math.abs(by) > STEP_MS);
  if (!moved) return;
  const logic = { op: "clock_skew", max_seconds: STEP_MS / 1000 };
  const reason = `the gateway's clock was put by ${by / 1000} s`;
  report(fold, { tag_name: "", check: "clock_skew", logic, reason, severity: "warning" });
}

/** Tells the fold where boots stand whose records come next. State and list are taken over. */
export function placeBoots(state: DeriveState, places: readonly BootPlace[]): DeriveState {
  state.clock.places = [...state.clock.places, ...places];
  return state;
}

/** The box's clocks. */
export interface Present {
  readonly boot: BootId;
  mono(): Milliseconds;
  wall(): EpochMs;
}

/**
 * Corrected time now: by the offset of the state's boot. Before the first record of another boot the wall clock says it, but
 * never less than what is known: that boot has lasted `mono` since.
 */
export function correctedNow(state: DeriveState | undefined, present: Present): EpochMs {
  const wall = present.wall();
  if (state === undefined) return wall;
  if (state.clock.boot !== present.boot) return Math.max(wall, knownTime(state).now + present.mono());
  return Math.max(state.clock.now, present.mono() + state.clock.offset);
}

/** Offset that a sync gave in that boot; null: none did. */
export function syncedOffset({ clock }: DeriveState, boot: BootId): KnownOffset | null {
  return clock.boot === boot && clock.synced ? { offset: clock.offset, unsure: clock.unsure } : null;
}

/** Tells the fold which clock records to come are taken back by later ones. The state is taken over. */
export function takeBack(state: DeriveState, stretches: readonly TakenBack[]): DeriveState {
  if (stretches.length === 0) delete state.clock.taken_back;
  else state.clock.taken_back = [...stretches];
  return state;
}

/**
 * Names the time that stands, where corrected time is ahead of it by so much that what came before must have been wrong: the log is then to be
 * folded again. null: it isn't.
 */
export function aheadOf({ clock }: DeriveState): string | null {
  const { boot, mono, offset, now } = clock;
  return boot !== "" && now - (mono + offset) > WRONG_MS ? clockText({ clock }) : null;
}

/** By which boot and offset the state goes: another text, and a clock record has changed it. */
export function clockText({ clock }: Pick<DeriveState, "clock">): string {
  return `${clock.boot} ${clock.offset.toString()}`;
}

/** The word about the time that the state goes by; null: nobody vouched for it. */
export function shownBy({ clock: { boot, mono, offset, synced } }: DeriveState): Shown | null {
  return synced ? { boot, mono, wall: mono + offset } : null;
}

/** The offset of the state's boot, as later clock records have it. */
export function rightOffset({ clock }: DeriveState, stretches: readonly TakenBack[]): Milliseconds {
  return stretchIn(stretches, clock)?.offset ?? clock.offset;
}

function stretchOf({ taken_back = [] }: ClockState, record: LogRecord): TakenBack | undefined {
  return stretchIn(taken_back, record);
}

function stretchIn(
  stretches: readonly TakenBack[],
  { boot, mono }: Pick<LogRecord, "boot" | "mono">,
): TakenBack | undefined {
  return stretches.find((one) => one.boot === boot && one.from <= mono && mono < (one.to ?? Infinity));
}

function placeFor(clock: ClockState, record: LogRecord): BootPlace | undefined {
  return clock.places.find(({ boot }) => boot === record.boot);
}

/** How far time is known: to the last record, or to the end of what its boot's coverage proves. */
export function knownTime({ clock, groups }: DeriveState): KnownTime {
  const ends = Object.values(groups).map(({ boot, to }) => (boot === clock.boot ? clock.now + to - clock.mono : 0));
  return { boot: clock.boot, now: Math.max(clock.now, ...ends) };
}

/** How far time is known to the log; null: the boot waits for its place, and what is shown of it proves nothing. */
export function reachedTime(state: DeriveState): EpochMs | null {
  const { synced, unsure } = state.clock;
  return synced || unsure ? knownTime(state).now : null;
}

/** Without a witness time at least doesn't run back: what an unsynced clock shows is put after the last known instant. */
function firstOffset(state: DeriveState, record: LogRecord): Milliseconds {
  const back = stretchOf(state.clock, record);
  if (back !== undefined) return back.offset ?? knownTime(state).now - record.mono;
  const place = placeFor(state.clock, record);
  if (place !== undefined) return place.offset;
  const raw = (record.kind === "t" ? record.value.wall : record.at) - record.mono;
  return isWitnessed(record) ? raw : Math.max(raw, knownTime(state).now - record.mono);
}

/** The last instant of which the log tells, the last poll that coverage proves among it; null: nothing is logged yet. */
export function endOf({ clock, groups }: DeriveState): LogEnd | null {
  if (clock.boot === "") return null;
  const polled = Object.values(groups).flatMap(({ boot, to }) => (boot === clock.boot ? [to] : []));
  return { boot: clock.boot, mono: Math.max(clock.mono, ...polled) };
}
