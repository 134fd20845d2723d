import type { KnownOffset } from "../domain/service-time.ts";
import type { LogEnd } from "../domain/taken.ts";
import { KIND, type ClockRecord, type LogRecord, type Stored } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { BootPlace, ClockState, DeriveState, TakenBack } from "./state.ts";

/** The instant of a record in corrected time. */
export interface Instant {
  /** Whether the boot differs from the boot of the previous instant. */
  readonly new_boot: boolean;
  readonly mono: Milliseconds;
  readonly at: EpochMs;
  /** Time by which the wall clock was set forward: corrected time advanced by this much more than elapsed time. */
  readonly jump_ms: Milliseconds;
}

/**
 * Returns the instant of a record: corrected time = mono + offset of its boot. Corrected time stands still rather than runs back, so no
 * time is counted twice after the clock was set back. If mono runs back within a boot, the previous instant is used.
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

/** Moves the clock of the state to the instant of the record. */
export function moveClock(state: DeriveState, record: LogRecord, instant: Instant): void {
  const { clock } = state;
  if (instant.new_boot) {
    const place = placeFor(clock, record);
    const back = stretchIn(clock.taken_back, record);
    clock.offset = firstOffset(state, record);
    clock.boot = record.boot;
    clock.placed = back !== undefined || place !== undefined || record.kind === KIND.clock;
    clock.synced = back !== undefined || (place === undefined ? isWitnessed(record) : !place.uncertain);
    clock.unsure = back !== undefined || (place?.uncertain ?? false);
    clock.places = clock.places.filter((one) => one !== place);
  }
  noteLeap(clock, instant);
  clock.mono = instant.mono;
  clock.now = instant.at;
}

/** Notes a jump of more than a day. A later record may show that the jump was wrong, so the age of records proves nothing for one day. */
function noteLeap(clock: ClockState, { new_boot, mono, at }: Instant): void {
  const isLeap = clock.now > 0 && at - clock.now > DAY_MS && (new_boot || at - clock.now > mono - clock.mono + DAY_MS);
  if (isLeap || (new_boot && clock.leapt !== undefined)) clock.leapt = mono;
  else if (clock.leapt !== undefined && mono - clock.leapt > DAY_MS) delete clock.leapt;
}

/** Returns whether the age of records can be trusted, because time has not jumped for a day. */
export function isSettled({ clock }: DeriveState): boolean {
  return clock.leapt === undefined;
}

/**
 * Applies a clock record at its own instant. The first clock record of a boot sets the offset. Later ones set it only if a witness (an
 * independent time source) confirms their time.
 *
 * @returns the instant to advance to; null: the offset stays the same
 */
export function reclock(clock: ClockState, record: ClockRecord): Instant | null {
  const witnessed = isWitnessed(record);
  if (clock.placed && !witnessed) return null;
  const back = stretchIn(clock.taken_back, record);
  const recorded = record.value.wall - record.mono;
  const accepted = witnessed ? recorded : Math.max(recorded, clock.offset);
  const offset = back === undefined ? accepted : (back.offset ?? clock.offset);
  clock.placed = true;
  clock.synced ||= witnessed;
  if (witnessed) clock.unsure = back !== undefined || record.value.unsure === true;
  if (offset === clock.offset) return null;
  clock.offset = offset;
  const at = Math.max(clock.now, clock.mono + offset);
  return { new_boot: false, mono: clock.mono, at, jump_ms: at - clock.now };
}

/** Sets the clock offsets of boots whose records come next. Changes and returns the state. */
export function placeBoots(state: DeriveState, places: readonly BootPlace[]): DeriveState {
  state.clock.places = [...state.clock.places, ...places];
  return state;
}

/** The present boot and clocks of the box. */
interface Present {
  readonly boot: BootId;
  mono(): Milliseconds;
  wall(): EpochMs;
}

/**
 * Returns the present corrected time, by the offset of the state's boot. Before the first record of a new boot, returns the wall clock, but
 * at least the last known instant plus the boot's `mono`.
 */
export function correctedNow(state: DeriveState | undefined, present: Present): EpochMs {
  const wall = present.wall();
  if (state === undefined) return wall;
  if (state.clock.boot !== present.boot) return Math.max(wall, knownTime(state).now + present.mono());
  return Math.max(state.clock.now, present.mono() + state.clock.offset);
}

/** Returns the offset that a clock sync set in that boot; null: no sync. */
export function syncedOffset({ clock }: DeriveState, boot: BootId): KnownOffset | null {
  return clock.boot === boot && clock.synced ? { offset: clock.offset, unsure: clock.unsure } : null;
}

/** Sets the stretches of time whose clock records are corrected by later clock records. Changes and returns the state. */
export function takeBack(state: DeriveState, stretches: readonly TakenBack[]): DeriveState {
  if (stretches.length === 0) delete state.clock.taken_back;
  else state.clock.taken_back = [...stretches];
  return state;
}

/**
 * Returns the text of `clockText` if corrected time is far ahead of the present boot's clock. An earlier time was then wrong, and the log
 * must be folded again. Otherwise returns null.
 */
export function aheadOf(state: DeriveState): string | null {
  const { boot, mono, offset, now } = state.clock;
  return boot !== "" && now - (mono + offset) > WRONG_MS ? clockText(state) : null;
}

/** Returns the boot and its offset as text. Each change of the offset changes the text. */
export function clockText({ clock }: DeriveState): string {
  return `${clock.boot} ${clock.offset}`;
}

/** Returns the confirmed time that the state relies on, as a clock record; null: no witness confirmed it. */
export function shownBy({ clock: { boot, mono, offset, synced } }: DeriveState): Shown | null {
  return synced ? { boot, mono, wall: mono + offset } : null;
}

/** Returns the offset of the state's boot after corrections by later clock records. */
export function rightOffset({ clock }: DeriveState, stretches: readonly TakenBack[]): Milliseconds {
  return stretchIn(stretches, clock)?.offset ?? clock.offset;
}

/**
 * Corrects a state that was saved while the time was wrong, if no older state exists. Each instant after the right time is moved back by
 * the error of the clock. Other numbers in the state are far smaller than instants, so they stay unchanged.
 *
 * @param right offset: mono + this is the right time of the state's boot
 */
export function putBack(state: DeriveState, right: Milliseconds): DeriveState {
  const limit = state.clock.mono + right;
  const by = state.clock.now - limit;
  if (by <= WRONG_MS) return state;
  const moved = JSON.parse(JSON.stringify(state), (_, value: unknown) =>
    typeof value === "number" && value > limit ? value - by : value,
  ) as DeriveState;
  moved.clock.offset = right;
  moved.hours = Object.fromEntries(Object.entries(state.hours).filter(([hour]) => Number(hour) <= limit));
  const hour = Math.floor(limit / HOUR_MS) * HOUR_MS;
  if (moved.hour_next !== null) moved.hour_next = Math.min(state.hour_next ?? hour, hour);
  return moved;
}

function stretchIn(
  stretches: readonly TakenBack[] = [],
  { boot, mono }: Pick<LogRecord, "boot" | "mono">,
): TakenBack | undefined {
  return stretches.find((one) => one.boot === boot && one.from <= mono && mono < (one.to ?? Infinity));
}

function placeFor(clock: ClockState, record: LogRecord): BootPlace | undefined {
  return clock.places.find(({ boot }) => boot === record.boot);
}

/** Returns the last known instant: the time of the last record, or the end of its boot's coverage. */
export function knownTime(state: DeriveState): KnownTime {
  const { boot, mono, now } = state.clock;
  return { boot, now: now + (endOf(state)?.mono ?? mono) - mono };
}

/** Returns the last known instant of the log; null: the newest boot waits for a confirmed clock. */
export function reachedTime(state: DeriveState): EpochMs | null {
  const { synced, unsure } = state.clock;
  return synced || unsure ? knownTime(state).now : null;
}

/** Returns the offset of a new boot. Without a witness, the boot's first record is not earlier than the last known instant. */
function firstOffset(state: DeriveState, record: LogRecord): Milliseconds {
  const back = stretchIn(state.clock.taken_back, record);
  if (back !== undefined) return back.offset ?? knownTime(state).now - record.mono;
  const place = placeFor(state.clock, record);
  if (place !== undefined) return place.offset;
  const raw = (record.kind === KIND.clock ? record.value.wall : record.at) - record.mono;
  return isWitnessed(record) ? raw : Math.max(raw, knownTime(state).now - record.mono);
}

/** Returns boot and mono of the last record or covered poll; null: nothing is logged yet. */
export function endOf({ clock, groups }: DeriveState): LogEnd | null {
  if (clock.boot === "") return null;
  const polled = Object.values(groups).flatMap(({ boot, to }) => (boot === clock.boot ? [to] : []));
  return { boot: clock.boot, mono: Math.max(clock.mono, ...polled) };
}

/** A boot without a confirmed clock. Its records wait for their corrected time. */
interface HeldBoot {
  readonly boot: BootId;
  readonly first_seq: Seq;
  readonly first_mono: Milliseconds;
  readonly last_mono: Milliseconds;
}

/** Boots that wait for a confirmed clock, oldest first. Every record after the first record of the oldest boot waits too. */
export type Hold = readonly HeldBoot[];

/** The last known instant, with the boot of the last record whose time is known; "": there is no such record. */
interface KnownTime {
  readonly boot: BootId;
  readonly now: EpochMs;
}

/** Returns whether the record is a clock record whose time a witness (an independent time source) confirmed. */
export function isWitnessed(record: LogRecord): boolean {
  if (record.kind !== KIND.clock) return false;
  const { state, witness } = record.value;
  return state === "synced" || (state === "stepped" && witness !== undefined);
}

/**
 * Returns how to handle the next record of a stream. fold: its time is known. hold: it must wait. place: it sets the time of all waiting
 * records and is folded after them.
 */
export function verdictOf(known: KnownTime, hold: Hold, record: LogRecord): "fold" | "hold" | "place" {
  if (hold.length > 0) return isWitnessed(record) ? "place" : "hold";
  return record.boot === known.boot || isWitnessed(record) ? "fold" : "hold";
}

/** Returns the waiting boots, including one more record. */
export function held(hold: Hold, record: Stored<LogRecord>): Hold {
  const { boot, mono, seq } = record;
  const until = record.kind === KIND.coverage ? Math.max(mono, record.value.to) : mono;
  const last = hold.at(-1);
  if (last?.boot !== boot) return [...hold, { boot, first_seq: seq, first_mono: mono, last_mono: until }];
  return [...hold.slice(0, -1), { ...last, last_mono: Math.max(last.last_mono, until) }];
}

/**
 * Returns the waiting boots after the records before `seq` were deleted. A boot keeps its whole length. The last boot stays even without
 * records, because it is still running.
 */
export function heldFrom(hold: Hold, seq: Seq): Hold {
  const left = hold.filter((_, index) => (hold[index + 1]?.first_seq ?? Number.MAX_SAFE_INTEGER) > seq);
  return left.map((one) => ({ ...one, first_seq: Math.max(one.first_seq, seq) }));
}

/**
 * Returns the offsets of all waiting boots, after `sync` has set the offset of its own boot. Earlier boots can never be confirmed, so they
 * follow each other right after the last known instant. If no instant is known, they end at the start of the synced boot.
 */
export function placesOf(known: KnownTime, hold: Hold, sync: LogRecord): BootPlace[] {
  const wall = sync.kind === KIND.clock ? sync.value.wall : sync.at;
  const offset = wall - sync.mono;
  const synced = hold.find(({ boot }) => boot === sync.boot);
  const unknown = hold.filter((one) => one !== synced);
  const length = unknown.reduce((sum, one) => sum + lengthOf(one), 0);
  let from = known.boot === "" ? offset + (synced?.first_mono ?? sync.mono) - length : known.now;
  const places = unknown.map((one): BootPlace => {
    const place = { boot: one.boot, offset: from - one.first_mono, uncertain: true };
    from += lengthOf(one);
    return place;
  });
  const uncertain = sync.kind === KIND.clock && sync.value.unsure === true;
  return synced === undefined ? places : [...places, { boot: synced.boot, offset, uncertain }];
}

function lengthOf({ first_mono, last_mono }: HeldBoot): Milliseconds {
  return last_mono - first_mono;
}

/**
 * Tolerance for comparing two times. If a later time is lower by more than this, the earlier one was wrong. A smaller difference only means
 * that a clock was slightly fast.
 */
const WRONG_MS: Milliseconds = 3_600_000;

/** The time of a clock record that a witness confirmed. */
export interface Shown {
  readonly boot: BootId;
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

/**
 * Finds the clock records that later ones prove wrong. `shown` is in log order. The last record of a boot is right about the whole boot,
 * because mono is continuous. A record of a later boot is right about earlier boots, which ended before it began.
 */
export function takenBack(shown: readonly Shown[]): TakenBack[] {
  const boots = [...new Set(shown.map(({ boot }) => boot))].reverse();
  const found: TakenBack[] = [];
  let limit = Infinity;
  for (const boot of boots) {
    const records = shown.filter((one) => one.boot === boot);
    const last = records.findLast(({ wall }) => wall <= limit + WRONG_MS);
    const isRight = (one: Shown): boolean => last !== undefined && offsetOf(one) <= offsetOf(last) + WRONG_MS;
    records.forEach((one, index) => {
      if (isRight(one)) return;
      // Takes the offset of the next right record of this boot. If only a later boot proves the error, takes the last right record before
      // it.
      const by = records.slice(index).find(isRight) ?? records.slice(0, index).findLast(isRight);
      const from = index === 0 ? 0 : one.mono;
      const to = records[index + 1]?.mono ?? null;
      found.push({ boot, from, to, offset: by === undefined ? null : offsetOf(by) });
    });
    limit = Math.min(limit, ...records.filter(isRight).map(({ wall }) => wall));
  }
  return found;
}

function offsetOf({ wall, mono }: Shown): Milliseconds {
  return wall - mono;
}
