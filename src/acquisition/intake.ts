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

/** Roles of tags whose changes are committed at once, because decisions depend on them or they identify the booth. */
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

/** Interval of the entries that show passing time while a group gets no answer. */
const UNANSWERED_EVERY_MS = 60_000;

type When = Pick<LogRecord, "boot" | "mono" | "at">;

interface Taking {
  readonly clock: Pick<Clock, "boot" | "mono" | "wall">;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly parameters: () => Parameters;
  /** Returns the offsets of usage counters. The object is another one only if an offset has changed. Absent: there are no offsets. */
  readonly offsets?: () => CounterOffsets;
  /** The tag that shows the PLC's serial number; null: the profile has no such tag. */
  readonly identity: {
    readonly tag: TagName;
    readonly group: string;
    /** Returns the booth's own serial number; null: not entered yet. */
    readonly expected: () => Serial | null;
    /** Called with the serial number that the PLC shows. */
    readonly shown: (serial: Serial | null) => void;
  } | null;
  /** Returns whether the queue for commits is full. Then no entry is accepted. */
  readonly isFull: () => boolean;
  /** Called with every entry after it has been written to the tail file. */
  readonly taken: (entry: TakenEntry, urgent: boolean) => void;
}

export type Intake = ReturnType<typeof createIntake>;

/**
 * Creates the intake, which is the only way into a booth's log. It turns samples and records into entries ("takes"): it numbers them,
 * appends them to the tail file, and passes them to the committer. Every poll becomes an entry, but the entry has only changes that pass
 * the change filter. While the committer is full, no entry is accepted, which leaves a visible gap. An accepted entry is never dropped.
 * @param lastTake the number of the log's last entry
 */
export function createIntake(taking: Taking, lastTake: number) {
  const { clock, tail, isFull } = taking;
  const { stream } = taking.stream;
  /** State of the change filter by poll group: the last logged samples. */
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
      // Forgets the logged values. After the silence, every sample is then logged again, even if it is unchanged.
      filters.delete(group);
      if (isFull()) continue;
      const last = silentSince.get(group);
      if (last !== undefined && mono - last < UNANSWERED_EVERY_MS) continue;
      silentSince.set(group, mono);
      hand([{ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: false, changes: [] }], false);
    }
  };
  const foreignIn = attribution(taking, (value) => takeEvent(value, true));
  /** Takes all groups of a read at one instant. They are committed together, and at once if one of them is urgent. */
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
     * Takes all groups of one read at one instant. A read of another booth's PLC is logged as unanswered, with an event.
     * @returns why the read doesn't count; null: it counts
     */
    answered(read: GroupSamples): Trouble | null {
      const foreign = foreignIn(read);
      if (foreign !== null) {
        unanswered([...read.keys()]);
        return foreign;
      }
      if (isFull()) {
        // Forgets the logged values. When the queue has space again, every sample is then logged, even if it is unchanged.
        for (const group of read.keys()) filters.delete(group);
        return null;
      }
      if (taking.parameters() !== rules.of || taking.offsets?.() !== rules.offsets) rules = rulesOf(taking);
      takeRead(read);
      return null;
    },
    unanswered,
    /** Takes a record that is not a poll. `make` gets boot, monotonic time and wall-clock time. */
    record: (make: (now: When) => LogRecord): void => takeRecord(make(when()), true),
    /** Returns the number of the last entry. */
    last: (): TakeNumber => take,
    /** Makes the tag's next sample be logged, even if it is unchanged. */
    logAnew: (tag: TagName): void => filters.forEach((logged) => logged.delete(tag)),
  };
}

/**
 * Returns a function that checks whether a read is of the booth's own PLC. The function returns why it isn't; null: it is.
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
