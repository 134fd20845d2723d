import {
  filterChanges,
  logRules,
  type CounterOffsets,
  type FilterState,
  type PolledSamples,
  NOTHING_ODD,
  oddEvents,
} from "./rules/change-filter.ts";
import { modeBitsOf, withModes } from "../domain/mode-bits.ts";
import type { Parameters, TagRole } from "../domain/parameters.ts";
import { KIND, type EventRecord, type LogRecord } from "../domain/record.ts";
import type { Sample, TakenChange, TakenEntry } from "../domain/taken.ts";
import type { Trouble } from "../domain/status.ts";
import type { Serial, TagName, TakeNumber } from "../domain/units.ts";
import type { Clock } from "../domain/machine.ts";
import type { StreamInfo } from "../store/port.ts";
import type { GroupSamples, Tail } from "./port.ts";
import { identityIn, UNKNOWN_PLC } from "./rules/link.ts";

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

/** One for all: most polls bring none. */
const NO_CHANGES: readonly TakenChange[] = [];

type When = Pick<LogRecord, "boot" | "mono" | "at">;

interface Taking {
  readonly clock: Pick<Clock, "boot" | "mono" | "wall">;
  readonly tail: Tail;
  readonly stream: StreamInfo;
  readonly parameters: () => Parameters;
  /** Another object only when another offset holds; absent: none ever does. */
  readonly offsets?: () => CounterOffsets;
  /** The tag that shows the PLC's serial number; null: none does. */
  readonly identity: {
    readonly tag: TagName;
    readonly group: string;
    /** The booth's own; null: not entered yet. */
    readonly expected: () => Serial | null;
    /** Told of the one that the PLC shows. */
    readonly shown: (serial: Serial | null) => void;
  } | null;
  /** While true nothing is taken: there is no place left for it. */
  readonly isFull: () => boolean;
  /** Gets every entry once it is in the tail. */
  readonly taken: (entry: TakenEntry, urgent: boolean) => void;
}

export type Intake = ReturnType<typeof createIntake>;

/** Turns what loops bring into taken entries: numbered, in the tail file, handed on. */
export function createIntake(taking: Taking, lastTake: number) {
  const { clock, tail, isFull } = taking;
  const { stream } = taking.stream;
  const filters = groupFilters();
  const silentSince = new Map<string, number>();
  let rules = rulesOf(taking);
  let odd = NOTHING_ODD;
  let take = lastTake;
  const when = (): When => ({ boot: clock.boot, mono: clock.mono(), at: clock.wall() });
  const hand = (entries: readonly TakenEntry[], urgent: boolean): void => {
    tail.append(entries);
    for (const entry of entries) taking.taken(entry, urgent);
  };
  const event = (value: EventRecord["value"], urgent: boolean): void => {
    const record: EventRecord = { kind: KIND.event, ...when(), tag: "", value, quality: "good" };
    hand([{ kind: "record", take: ++take, stream, record }], urgent);
  };
  const unanswered = (groups: readonly string[]): void => {
    const { boot, mono, at } = when();
    for (const group of groups) {
      // What comes after a silence is logged anew, whether it changed or not.
      filters.forget(group);
      if (isFull()) continue;
      const last = silentSince.get(group);
      if (last !== undefined && mono - last < UNANSWERED_EVERY_MS) continue;
      silentSince.set(group, mono);
      hand([{ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: false, changes: [] }], false);
    }
  };
  const foreignIn = attribution(taking, (value) => event(value, true));
  /** All of one read, at one instant: together, also where only one of its groups is urgent. */
  const taken = (read: GroupSamples): void => {
    const { boot, mono, at } = when();
    const entries: TakenEntry[] = [];
    const told: EventRecord["value"][] = [];
    let anyUrgent = false;
    for (const [group, answers] of read) {
      const samples = withModes(answers, rules.bits);
      const { changes, urgent } = filters.passed(group, { mono, samples }, rules);
      silentSince.delete(group);
      anyUrgent ||= urgent;
      entries.push({ kind: "poll", take: ++take, stream, boot, mono, at, group, answered: true, changes });
      const looked = oddEvents(odd, { mono, samples });
      odd = looked.state;
      told.push(...looked.events);
    }
    hand(entries, anyUrgent);
    for (const value of told) event(value, false);
  };
  return {
    /**
     * Takes what one read gave, all of it at one instant. What comes from another booth's PLC is told of and logged as unanswered:
     * then this says why; null: it counts.
     */
    answered(read: GroupSamples): Trouble | null {
      const foreign = foreignIn(read);
      if (foreign !== null) {
        unanswered([...read.keys()]);
        return foreign;
      }
      if (isFull()) {
        // Logged anew once there is place again.
        for (const group of read.keys()) filters.forget(group);
        return null;
      }
      if (taking.parameters() !== rules.of || taking.offsets?.() !== rules.offsets) rules = rulesOf(taking);
      taken(read);
      return null;
    },
    unanswered,
    /** A record that is no poll; `make` gets boot, mono and at. */
    record(make: (now: When) => LogRecord): void {
      hand([{ kind: "record", take: ++take, stream, record: make(when()) }], true);
    },
    /** The number of the take that was made last. */
    last: (): TakeNumber => take,
    /** What the next poll says of the tag is logged, whether it changed or not. */
    logAnew: filters.forgetTag,
  };
}

/** What was logged last of each group. */
function groupFilters() {
  const filters = new Map<string, FilterState>();
  return {
    /** The group's next samples are logged, whether they changed or not. */
    forget: (group: string): void => void filters.delete(group),
    forgetTag: (tag: TagName): void => {
      for (const logged of filters.values()) logged.delete(tag);
    },
    /** What the log gets of a group's samples, and whether at once. */
    passed(group: string, poll: PolledSamples, { tags, of }: ReturnType<typeof rulesOf>) {
      const before = filters.get(group);
      const filter = before ?? (new Map() as FilterState);
      if (before === undefined) filters.set(group, filter);
      const changes = filterChanges(filter, poll, tags);
      const urgent = before === undefined || changes.some(({ tag }) => isUrgent(of.tags, tag));
      return { changes: changes.length === 0 ? NO_CHANGES : changes.map(changeOf), urgent };
    },
  };
}

function rulesOf({ parameters, offsets: now }: Pick<Taking, "parameters" | "offsets">) {
  const of = parameters();
  const offsets = now?.();
  return { of, offsets, tags: logRules(of, offsets), bits: modeBitsOf(of.tags) };
}

function changeOf({ tag, value, quality, source_at }: Sample): TakenChange {
  return source_at === undefined ? [tag, value, quality] : [tag, value, quality, source_at];
}

function isUrgent(tags: Parameters["tags"], tag: TagName): boolean {
  const role = tags[tag]?.role;
  return role !== undefined && URGENT.has(role);
}

/** Says of each poll why it isn't the booth's own, null: it is; `tell` gets what the log has to hold of that. */
function attribution({ clock, identity }: Taking, tell: (event: EventRecord["value"]) => void) {
  let plc = UNKNOWN_PLC;
  return (read: GroupSamples): Trouble | null => {
    if (identity === null) return null;
    const { tag, group, expected, shown } = identity;
    const samples = read.get(group) ?? [];
    const looked = identityIn(plc, { mono: clock.mono(), samples, tag, expected: expected() });
    plc = looked.state;
    shown(plc.shown);
    if (looked.event !== null) tell(looked.event);
    return looked.foreign;
  };
}
