import type { Clock } from "../domain/machine.ts";
import { modeBitsOf, withModes } from "../domain/mode-bits.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import { KIND, type EventRecord, type LogRecord } from "../domain/record.ts";
import type { Trouble } from "../domain/status.ts";
import type { Sample, TakenChange, TakenEntry } from "../domain/taken.ts";
import type { Serial, TagName, TakeNumber } from "../domain/units.ts";
import type { StreamInfo } from "../store/port.ts";
import type { GroupSamples, Tail } from "./port.ts";
import {
  type CounterOffsets,
  filterChanges,
  type FilterState,
  logRules,
  oddEvents,
  type OddState,
} from "./rules/change-filter.ts";
import { identityIn, UNKNOWN_PLC } from "./rules/link.ts";

/** Changes of these roles are committed at once: decisions depend on them, or they identify the booth. */
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

/** Spacing of the entries that show passing time while a group gets no answer. */
const UNANSWERED_EVERY_MS = 60_000;

type When = Pick<LogRecord, "boot" | "mono" | "at">;

interface Taking {
  readonly clock: Pick<Clock, "boot" | "mono" | "wall">;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly parameters: () => Parameters;
  /** Returns another object only if an offset has changed; absent: there are no offsets. */
  readonly offsets?: () => CounterOffsets;
  /** The tag that shows the PLC's serial number; null: the profile has none. */
  readonly identity: {
    readonly tag: TagName;
    readonly group: string;
    /** Returns the booth's own serial number; null: not entered yet. */
    readonly expected: () => Serial | null;
    /** Called with the serial number that the PLC shows. */
    readonly shown: (serial: Serial | null) => void;
  } | null;
  /** Returns whether there is no room for more entries; then nothing is taken. */
  readonly isFull: () => boolean;
  /** Called with every entry after it is in the tail. */
  readonly taken: (entry: TakenEntry, urgent: boolean) => void;
}

export type Intake = ReturnType<typeof createIntake>;

/**
 * The only way into a booth's log. It turns samples and records into taken entries: numbers them, appends them to the tail file, and
 * passes them to the committer. Only changes that the change filter lets through become part of an entry, but every poll becomes one.
 * While the committer is full nothing is taken, which leaves an honest gap; what is taken is never dropped.
 * @param lastTake the last take number of the stream
 */
export function createIntake(taking: Taking, lastTake: number) {
  const { clock, tail, isFull } = taking;
  const { stream } = taking.stream;
  /** The newest logged samples, by group. */
  const filters = new Map<string, FilterState>();
  const silentSince = new Map<string, number>();
  let rules = rulesOf(taking);
  const odd: OddState = new Map();
  let take = lastTake;
  const when = (): When => ({ boot: clock.boot, mono: clock.mono(), at: clock.wall() });
  const hand = (entries: readonly TakenEntry[], urgent: boolean): void => {
    tail.append(entries);
    for (const entry of entries) taking.taken(entry, urgent);
  };
  const takeRecord = (record: LogRecord, urgent: boolean): void =>
    hand([{ kind: "record", take: ++take, stream, record }], urgent);
  const takeEvent = (value: EventRecord["value"], urgent: boolean): void =>
    takeRecord({ kind: KIND.event, ...when(), tag: "", value, quality: "good" }, urgent);
  const unanswered = (groups: readonly string[]): void => {
    const { boot, mono, at } = when();
    for (const group of groups) {
      // After a silence every sample is logged again, changed or not.
      filters.delete(group);
      if (isFull()) continue;
      const last = silentSince.get(group);
      if (last !== undefined && mono - last < UNANSWERED_EVERY_MS) continue;
      silentSince.set(group, mono);
      hand([{ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: false, changes: [] }], false);
    }
  };
  const foreignIn = attribution(taking, (value) => takeEvent(value, true));
  /** Takes all groups of a read at one instant; they are committed together, at once if one of them is urgent. */
  const takeRead = (read: GroupSamples): void => {
    const { boot, mono, at } = when();
    const entries: TakenEntry[] = [];
    const events: EventRecord["value"][] = [];
    let isUrgent = false;
    for (const [group, answers] of read) {
      const samples = withModes(answers, rules.bits);
      const filter: FilterState = filters.get(group) ?? new Map();
      const changes = filterChanges(filter, { mono, samples }, rules.tags).map(changeOf);
      isUrgent ||= !filters.has(group) || changes.some(([tag]) => hasUrgentRole(rules.of.tags, tag));
      filters.set(group, filter);
      silentSince.delete(group);
      entries.push({ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: true, changes });
      events.push(...oddEvents(odd, { mono, samples }));
    }
    hand(entries, isUrgent);
    for (const value of events) takeEvent(value, false);
  };
  return {
    /**
     * Takes one read, all of it at one instant. A read of another booth's PLC is logged as unanswered, with an event.
     * @returns why the read doesn't count; null: it counts
     */
    answered(read: GroupSamples): Trouble | null {
      const foreign = foreignIn(read);
      if (foreign !== null) {
        unanswered([...read.keys()]);
        return foreign;
      }
      if (isFull()) {
        // When there is room again, every sample is logged, changed or not.
        for (const group of read.keys()) filters.delete(group);
        return null;
      }
      if (taking.parameters() !== rules.of || taking.offsets?.() !== rules.offsets) rules = rulesOf(taking);
      takeRead(read);
      return null;
    },
    unanswered,
    /** Takes a record that is no poll; `make` gets boot, mono and at. */
    record: (make: (now: When) => LogRecord): void => takeRecord(make(when()), true),
    /** Returns the number of the last take. */
    last: (): TakeNumber => take,
    /** Has the tag's next sample logged, changed or not. */
    logAnew: (tag: TagName): void => filters.forEach((logged) => logged.delete(tag)),
  };
}

/**
 * Returns a function that says why a read is not of the booth's own PLC; null: it is.
 * @param takeEvent called with the event to log
 */
function attribution({ clock, identity }: Taking, takeEvent: (event: EventRecord["value"]) => void) {
  let plc = UNKNOWN_PLC;
  return (read: GroupSamples): Trouble | null => {
    if (identity === null) return null;
    const { tag, group, expected, shown } = identity;
    const samples = read.get(group) ?? [];
    const { state, event, foreign } = identityIn(plc, { mono: clock.mono(), samples, tag, expected: expected() });
    plc = state;
    shown(plc.shown);
    if (event !== null) takeEvent(event);
    return foreign;
  };
}

function rulesOf({ parameters, offsets: offsetsNow }: Pick<Taking, "parameters" | "offsets">) {
  const of = parameters();
  const offsets = offsetsNow?.();
  return { of, offsets, tags: logRules(of, offsets), bits: modeBitsOf(of.tags) };
}

function changeOf({ tag, value, quality, source_at }: Sample): TakenChange {
  return source_at === undefined ? [tag, value, quality] : [tag, value, quality, source_at];
}

function hasUrgentRole(tags: Parameters["tags"], tag: TagName): boolean {
  const role = tags[tag]?.role;
  return role !== undefined && URGENT.has(role);
}
