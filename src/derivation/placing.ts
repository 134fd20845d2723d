import type { LogRecord, Stored } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq } from "../domain/units.ts";

/** A boot whose clock no witness has vouched for yet: its records wait for their place in time. */
export interface HeldBoot {
  readonly boot: BootId;
  readonly first_seq: Seq;
  readonly first_mono: Milliseconds;
  readonly last_mono: Milliseconds;
}

/** Boots that wait, oldest first. Every record after the first of them waits too. */
export type Hold = readonly HeldBoot[];

/** Where a boot that waited stands in time: corrected time = mono + offset. */
export interface BootPlace {
  readonly boot: BootId;
  readonly offset: Milliseconds;
  /** It was never synced, or by a time that nobody else vouches for: its length is exact, its place is not. */
  readonly uncertain: boolean;
}

/** How far time is known: the boot of the last placed record ("": none yet), and its corrected time. */
export interface KnownTime {
  readonly boot: BootId;
  readonly now: EpochMs;
}

/** A witness gave the time. A step without one moves nothing. */
export function isWitnessed(record: LogRecord): boolean {
  if (record.kind !== "t") return false;
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
  const until = record.kind === "h" ? Math.max(mono, record.value.to) : mono;
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
  const wall = sync.kind === "t" ? sync.value.wall : sync.at;
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
  const uncertain = sync.kind === "t" && sync.value.unsure === true;
  return own === undefined ? places : [...places, { boot: own.boot, offset, uncertain }];
}

function lengthOf({ first_mono, last_mono }: HeldBoot): Milliseconds {
  return last_mono - first_mono;
}
