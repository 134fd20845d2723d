import type { KnownOffset } from "../domain/service-time.ts";
import type { LogEnd } from "../domain/taken.ts";
import { KIND, type ClockRecord, type LogRecord, type Stored } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import type { ClockState, TimelineState, BootPlace, TakenBack } from "./timeline/state.ts";
import { DAY_MS } from "../domain/time.ts";

type Clocked = Pick<TimelineState, "clock">;

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
export function placeOf(state: TimelineState, record: LogRecord): Instant {
  const { clock } = state;
  if (record.boot !== clock.boot) {
    const at = Math.max(clock.now, firstOffset(state, record) + record.mono);
    return { new_boot: true, mono: record.mono, at, jump_ms: 0 };
  }
  const mono = Math.max(clock.mono, record.mono);
  return { new_boot: false, mono, at: Math.max(clock.now, mono + clock.offset), jump_ms: 0 };
}

/** Enters the instant. */
export function moveClock(state: TimelineState, record: LogRecord, instant: Instant): void {
  const { clock } = state;
  if (instant.new_boot) {
    const place = placeFor(clock, record);
    const back = stretchOf(clock, record);
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

/** Time that moved on by a day at once may yet be taken back: for a day nothing is judged by its age. */
function noteLeap(clock: ClockState, { new_boot, mono, at }: Instant): void {
  const isLeap = clock.now > 0 && at - clock.now > DAY_MS && (new_boot || at - clock.now > mono - clock.mono + DAY_MS);
  if (isLeap || (new_boot && clock.leapt !== undefined)) clock.leapt = mono;
  else if (clock.leapt !== undefined && mono - clock.leapt > DAY_MS) delete clock.leapt;
}

/** Whether records are old by the time that stands: it has stood for long enough. */
export function isSettled({ clock }: Clocked): boolean {
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

/** Tells the fold where boots stand whose records come next. State and list are taken over. */
export function placeBoots<S extends Clocked>(state: S, places: readonly BootPlace[]): S {
  state.clock.places = [...state.clock.places, ...places];
  return state;
}

/** The box's clocks. */
interface Present {
  readonly boot: BootId;
  mono(): Milliseconds;
  wall(): EpochMs;
}

/**
 * Corrected time now: by the offset of the state's boot. Before the first record of another boot the wall clock says it, but
 * never less than what is known: that boot has lasted `mono` since.
 */
export function correctedNow(state: TimelineState | undefined, present: Present): EpochMs {
  const wall = present.wall();
  if (state === undefined) return wall;
  if (state.clock.boot !== present.boot) return Math.max(wall, knownTime(state).now + present.mono());
  return Math.max(state.clock.now, present.mono() + state.clock.offset);
}

/** Offset that a sync gave in that boot; null: none did. */
export function syncedOffset({ clock }: Clocked, boot: BootId): KnownOffset | null {
  return clock.boot === boot && clock.synced ? { offset: clock.offset, unsure: clock.unsure } : null;
}

/** Tells the fold which clock records to come are taken back by later ones. The state is taken over. */
export function takeBack<S extends Clocked>(state: S, stretches: readonly TakenBack[]): S {
  if (stretches.length === 0) delete state.clock.taken_back;
  else state.clock.taken_back = [...stretches];
  return state;
}

/**
 * Names the time that stands, where corrected time is ahead of it by so much that what came before must have been wrong: the log is then to be
 * folded again. null: it isn't.
 */
export function aheadOf({ clock }: Clocked): string | null {
  const { boot, mono, offset, now } = clock;
  return boot !== "" && now - (mono + offset) > WRONG_MS ? clockText({ clock }) : null;
}

/** By which boot and offset the state goes: another text, and a clock record has changed it. */
export function clockText({ clock }: Clocked): string {
  return `${clock.boot} ${clock.offset}`;
}

/** The word about the time that the state goes by; null: nobody vouched for it. */
export function shownBy({ clock: { boot, mono, offset, synced } }: Clocked): Shown | null {
  return synced ? { boot, mono, wall: mono + offset } : null;
}

/** The offset of the state's boot, as later clock records have it. */
export function rightOffset({ clock }: Clocked, stretches: readonly TakenBack[]): Milliseconds {
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
export function knownTime({ clock, groups }: TimelineState): KnownTime {
  const ends = Object.values(groups).map(({ boot, to }) => (boot === clock.boot ? clock.now + to - clock.mono : 0));
  return { boot: clock.boot, now: Math.max(clock.now, ...ends) };
}

/** How far time is known to the log; null: the boot waits for its place, and what is shown of it proves nothing. */
export function reachedTime(state: TimelineState): EpochMs | null {
  const { synced, unsure } = state.clock;
  return synced || unsure ? knownTime(state).now : null;
}

/** Without a witness time at least doesn't run back: what an unsynced clock shows is put after the last known instant. */
function firstOffset(state: TimelineState, record: LogRecord): Milliseconds {
  const back = stretchOf(state.clock, record);
  if (back !== undefined) return back.offset ?? knownTime(state).now - record.mono;
  const place = placeFor(state.clock, record);
  if (place !== undefined) return place.offset;
  const raw = (record.kind === KIND.clock ? record.value.wall : record.at) - record.mono;
  return isWitnessed(record) ? raw : Math.max(raw, knownTime(state).now - record.mono);
}

/** The last instant of which the log tells, the last poll that coverage proves among it; null: nothing is logged yet. */
export function endOf({ clock, groups }: TimelineState): LogEnd | null {
  if (clock.boot === "") return null;
  const polled = Object.values(groups).flatMap(({ boot, to }) => (boot === clock.boot ? [to] : []));
  return { boot: clock.boot, mono: Math.max(clock.mono, ...polled) };
}

/** A boot whose clock no witness has vouched for yet: its records wait for their place in time. */
interface HeldBoot {
  readonly boot: BootId;
  readonly first_seq: Seq;
  readonly first_mono: Milliseconds;
  readonly last_mono: Milliseconds;
}

/** Boots that wait, oldest first. Every record after the first of them waits too. */
export type Hold = readonly HeldBoot[];

/** How far time is known: the boot of the last placed record ("": none yet), and its corrected time. */
interface KnownTime {
  readonly boot: BootId;
  readonly now: EpochMs;
}

/** A witness gave the time. A step without one moves nothing. */
export function isWitnessed(record: LogRecord): boolean {
  if (record.kind !== KIND.clock) return false;
  const { state, witness } = record.value;
  return state === "synced" || (state === "stepped" && witness !== undefined);
}

/**
 * What becomes of the next record of a stream. fold: its time is known. hold: it waits. place: it gives the time to
 * everything that waits, and is folded after it.
 */
export function verdictOf(known: KnownTime, hold: Hold, record: LogRecord): "fold" | "hold" | "place" {
  if (hold.length > 0) return isWitnessed(record) ? "place" : "hold";
  return record.boot === known.boot || isWitnessed(record) ? "fold" : "hold";
}

/** The hold with one more record in it. */
export function held(hold: Hold, record: Stored<LogRecord>): Hold {
  const { boot, mono, seq } = record;
  const until = record.kind === KIND.coverage ? Math.max(mono, record.value.to) : mono;
  const last = hold.at(-1);
  if (last?.boot !== boot) return [...hold, { boot, first_seq: seq, first_mono: mono, last_mono: until }];
  return [...hold.slice(0, -1), { ...last, last_mono: Math.max(last.last_mono, until) }];
}

/**
 * The hold after records before `seq` were given up: what is left of a boot still tells of its whole length. The last boot stays
 * even where nothing is left of it, since it goes on.
 */
export function heldFrom(hold: Hold, seq: Seq): Hold {
  const left = hold.filter((_, index) => (hold[index + 1]?.first_seq ?? Number.MAX_SAFE_INTEGER) > seq);
  return left.map((one) => ({ ...one, first_seq: Math.max(one.first_seq, seq) }));
}

/**
 * Places for all boots that wait, now that `sync` gives its own boot's offset. Those before it, which nobody will ever
 * vouch for, are put one after the other right after the last known instant; where nothing is known, right before it.
 */
export function placesOf(known: KnownTime, hold: Hold, sync: LogRecord): BootPlace[] {
  const wall = sync.kind === KIND.clock ? sync.value.wall : sync.at;
  const offset = wall - sync.mono;
  const own = hold.find(({ boot }) => boot === sync.boot);
  const unknown = hold.filter((one) => one !== own);
  const length = unknown.reduce((sum, one) => sum + lengthOf(one), 0);
  let from = known.boot === "" ? offset + (own?.first_mono ?? sync.mono) - length : known.now;
  const places = unknown.map((one): BootPlace => {
    const place = { boot: one.boot, offset: from - one.first_mono, uncertain: true };
    from += lengthOf(one);
    return place;
  });
  const uncertain = sync.kind === KIND.clock && sync.value.unsure === true;
  return own === undefined ? places : [...places, { boot: own.boot, offset, uncertain }];
}

function lengthOf({ first_mono, last_mono }: HeldBoot): Milliseconds {
  return last_mono - first_mono;
}

/** A later time that is lower by more than this says that the earlier one was wrong. By less, a clock was a little fast. */
export const WRONG_MS: Milliseconds = 3_600_000;

/** What a clock record with a witness said. */
export interface Shown {
  readonly boot: BootId;
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

/**
 * Which of a log's clock records, given in order, are taken back by later ones. The last word of a boot is right about the whole
 * boot, as mono went on all the while; a later boot is right about those before it, which had ended when it began.
 */
export function takenBack(shown: readonly Shown[]): TakenBack[] {
  const boots = [...new Set(shown.map(({ boot }) => boot))].reverse();
  const found: TakenBack[] = [];
  let limit = Infinity;
  for (const boot of boots) {
    const own = shown.filter((one) => one.boot === boot);
    const last = own.findLast(({ wall }) => wall <= limit + WRONG_MS);
    const isRight = (one: Shown): boolean => last !== undefined && offsetOf(one) <= offsetOf(last) + WRONG_MS;
    own.forEach((one, index) => {
      if (isRight(one)) return;
      // What took it back says where it stands; where that was a later boot, what was right before.
      const by = own.slice(index).find(isRight) ?? own.slice(0, index).findLast(isRight);
      const from = index === 0 ? 0 : one.mono;
      const to = own[index + 1]?.mono ?? null;
      found.push({ boot, from, to, offset: by === undefined ? null : offsetOf(by) });
    });
    limit = Math.min(limit, ...own.filter(isRight).map(({ wall }) => wall));
  }
  return found;
}

function offsetOf({ wall, mono }: Shown): Milliseconds {
  return wall - mono;
}
