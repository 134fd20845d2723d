import { EMPTY_FILTER, filterChanges, logRules, type CounterOffsets, type FilterState } from "./rules/change-filter.ts";
import { modeBitsOf, withModes } from "../domain/mode-bits.ts";
import { NOTHING_ODD, oddEvents } from "./rules/odd-samples.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import type { EventRecord, LogRecord } from "../domain/record.ts";
import type { Sample } from "../domain/sample.ts";
import type { Trouble } from "../domain/status.ts";
import type { Serial, TagName } from "../domain/units.ts";
import type { TakenChange, TakenEntry } from "../domain/taken.ts";
import type { Clock } from "../domain/machine.ts";
import type { StreamInfo } from "../store/port.ts";
import type { Tail } from "./port.ts";
import { identityIn, UNKNOWN_PLC } from "./rules/plc-identity.ts";

/** A change of one of these is committed at once: others decide by them, or they say what the booth is. */
const URGENT: ReadonlySet<TagRole> = new Set<TagRole>([
  "mode",
  "cycle_counter",
  "firmware_version",
  "plc_program",
  "plc_program_revision",
  "plc_serial",
  "filter_reset",
  "first_scan",
]);

/** While a group gets no answer, time passes in the log by one entry in this long. */
const UNANSWERED_EVERY_MS = 60_000;

export interface IntakeParts {
  readonly clock: Clock;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly parameters: () => Parameters;
  /** Another object only when another offset holds; absent: none ever does. */
  readonly offsets?: () => CounterOffsets;
  /** Null: the PLC shows no serial number. */
  readonly identity: IdentityParts | null;
  /** While true nothing is taken: there is no place left for it. */
  readonly isFull: () => boolean;
  /** Gets every entry once it is in the tail. */
  readonly taken: (entry: TakenEntry, urgent: boolean) => void;
}

/** Turns what loops bring into taken entries: numbered, in the tail file, handed on. */
export interface Intake {
  /**
   * Takes a poll. One that comes from another booth's PLC is told of and logged as unanswered: then this says why; null: it
   * counts.
   */
  answered(group: string, samples: readonly Sample[]): Trouble | null;
  unanswered(groups: readonly string[]): void;
  /** A record that is no poll; `make` gets boot, mono and at. */
  record(make: (when: Pick<LogRecord, "boot" | "mono" | "at">) => LogRecord): void;
  /** What the next poll says of the tag is logged, whether it changed or not. */
  logAnew(tag: TagName): void;
}

export function createIntake(parts: IntakeParts, lastTake: number): Intake {
  const { clock, tail, taken } = parts;
  const { stream } = parts.stream;
  const filters = new Map<string, FilterState>();
  const silentSince = new Map<string, number>();
  let rules = rulesOf(parts);
  let odd = NOTHING_ODD;
  let take = lastTake;
  const when = () => ({ boot: clock.boot, mono: clock.mono(), at: clock.wall() });
  const hand = (entry: TakenEntry, urgent: boolean): void => {
    tail.append(entry);
    taken(entry, urgent);
  };
  const event = (value: EventRecord["value"], urgent: boolean): void => {
    hand({ kind: "record", take: ++take, stream, record: eventOf(when(), value) }, urgent);
  };
  const unanswered = (groups: readonly string[]): void => {
    const { boot, mono, at } = when();
    for (const group of groups) {
      // What comes after a silence is logged anew, whether it changed or not.
      filters.delete(group);
      if (parts.isFull()) continue;
      const last = silentSince.get(group);
      if (last !== undefined && mono - last < UNANSWERED_EVERY_MS) continue;
      silentSince.set(group, mono);
      hand({ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: false, changes: [] }, false);
    }
  };
  const foreignIn = attribution(clock, parts.identity, (value) => event(value, true));
  return {
    answered(group, read) {
      const samples = withModes(read, rules.bits);
      const foreign = foreignIn(samples);
      if (foreign !== null) {
        unanswered([group]);
        return foreign;
      }
      if (parts.isFull()) {
        // Logged anew once there is place again.
        filters.delete(group);
        return null;
      }
      const { mono, ...now } = when();
      if (parts.parameters() !== rules.of || parts.offsets?.() !== rules.offsets) rules = rulesOf(parts);
      const before = filters.get(group) ?? EMPTY_FILTER;
      const { state, changes } = filterChanges(before, { mono, samples }, rules.tags);
      filters.set(group, state);
      silentSince.delete(group);
      const entry: TakenEntry = {
        kind: "poll",
        take: ++take,
        stream,
        ...now,
        mono,
        group,
        answered: true,
        changes: changes.map(changeOf),
      };
      hand(entry, before === EMPTY_FILTER || changes.some(({ tag }) => isUrgent(rules.of.tags, tag)));
      const looked = oddEvents(odd, { mono, samples });
      odd = looked.state;
      for (const value of looked.events) event(value, false);
      return null;
    },
    unanswered,
    record(make) {
      hand({ kind: "record", take: ++take, stream, record: make(when()) }, true);
    },
    logAnew: (tag) => forgetTag(filters, tag),
  };
}

function eventOf(when: Pick<LogRecord, "boot" | "mono" | "at">, value: EventRecord["value"]): EventRecord {
  return { kind: "e", ...when, tag: "", value, quality: "good" };
}

function forgetTag(filters: Map<string, FilterState>, tag: TagName): void {
  for (const [group, logged] of filters) filters.set(group, new Map([...logged].filter(([name]) => name !== tag)));
}

function rulesOf(parts: Pick<IntakeParts, "parameters" | "offsets">) {
  const [of, offsets] = [parts.parameters(), parts.offsets?.()];
  return { of, offsets, tags: logRules(of, offsets), bits: modeBitsOf(of.tags) };
}

function changeOf({ tag, value, quality, source_at }: Sample): TakenChange {
  return source_at === undefined ? [tag, value, quality] : [tag, value, quality, source_at];
}

function isUrgent(tags: Parameters["tags"], tag: TagName): boolean {
  const role = tags[tag]?.role;
  return role !== undefined && URGENT.has(role);
}

export interface IdentityParts {
  /** The tag that shows the PLC's serial number. */
  readonly tag: TagName;
  /** The booth's own; null: not entered yet. */
  readonly expected: () => Serial | null;
  /** Told of the one that the PLC shows. */
  readonly shown: (serial: Serial | null) => void;
}

/** Says of each poll why it isn't the booth's own, null: it is; `tell` gets what the log has to hold of that. */
export function attribution(
  clock: Clock,
  identity: IdentityParts | null,
  tell: (event: EventRecord["value"]) => void,
): (samples: readonly Sample[]) => Trouble | null {
  let plc = UNKNOWN_PLC;
  return (samples) => {
    if (identity === null) return null;
    const { tag, expected, shown } = identity;
    const looked = identityIn(plc, { mono: clock.mono(), samples, tag, expected: expected() });
    plc = looked.state;
    shown(plc.shown);
    if (looked.event !== null) tell(looked.event);
    return looked.foreign;
  };
}
