import type { FilterLimits, FilterType, Mode, Quality, TagValue } from "../domain/booth.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { Parameters, ReportRules } from "../domain/parameters.ts";
import type {
  BakePart,
  Fact,
  FilterService,
  IncidentFact,
  LogRecord,
  Reading,
  StageFact,
  Stored,
} from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq, TagName } from "../domain/units.ts";

/** A fact without a sequence number: the store assigns it in the commit. */
export type FactDraft = Fact;

/** Version of the state's shape. The store discards a saved state of another version and folds the log again. */
export const STATE_VERSION = 2;

/**
 * The fold's memory of a booth, as plain JSON.
 *
 * Life cycle: `emptyState` creates it, `step` changes it in place with each record of the log, and the store saves it as JSON in the
 * transaction that commits these records. After a restart, the store loads it and folds later records.
 *
 * Invariants:
 * - The same log gives the same text. Fields keep their order, because saved states are compared as text.
 * - A field that was added after version 2 is optional: states saved without it stay valid.
 * - Every list and map is bounded, so that a faulty PLC can't make a commit grow.
 * - Instants are corrected time (see `ClockState`). Only `mono` fields are monotonic time.
 *
 * Other stations (folders of `src`) read the state through `reports` and the functions of `derivation`. They never write it.
 */
export interface DeriveState {
  version: typeof STATE_VERSION;
  seq: Seq;
  clock: ClockState;
  parameters: Parameters | null;
  groups: Record<string, GroupState>;
  /** Readings with a role at the present instant. They are judged together when the instant is complete. */
  pending: PendingReading[];
  latest: Record<TagName, LatestValue>;
  counters: Record<TagName, CounterState>;
  /** Last value of each tag that can show a restart of the PLC or a press of a reset button. */
  witnesses: Record<TagName, number | boolean>;
  bays: BayState[];
  /** The stage of a booth with several bays, combined from the bays' stages; null: the booth has one bay. */
  booth: { open: OpenStage | null; settled: EpochMs } | null;
  /** Instant up to which a machine's work is counted; absent: no work was counted yet. */
  worked?: Partial<Record<Machine, { boot: BootId; mono: Milliseconds }>>;
  filters: Partial<Record<FilterType, FilterState>>;
  revisions: { firmware: RevisionState; program: RevisionState };
  /** Hours that aren't written yet, by their start as text. */
  hours: Record<string, HourState>;
  /** Start of the oldest hour in `hours`; null: `hours` is empty. */
  hour_next: EpochMs | null;
  /** The last day and a half: time with a final mode, ends of counted cycles, and increments of the PLC's cycle counter. */
  recent: { slices: Settled[]; ends: EpochMs[]; increments: [at: EpochMs, steps: number][] };
  /** Open incidents, by check and tag. */
  incidents: Record<string, IncidentState>;
  checks: Checks;
  /** Pressure drops and fan speeds by tag, as far back as the open spray stage needs them. */
  samples: Record<TagName, Sampled[]>;
  /** Factor from a filter's pressure drop, in the sensor's unit, to Pa; absent: 1. */
  pressure_scales?: Partial<Record<FilterType, number>>;
  /** The last entries of filter changes by people, oldest first; absent: none yet. */
  entries?: EntryState[];
  /** Rules of reports, each with the instant from which it is in force; absent: no parameters yet. */
  rules?: ReportRules[];
  /** Bakes that aren't written yet; absent: no bay bakes. */
  bakes?: BakeState[];
  /** The last days of the log sheet; absent: no time is final yet. */
  sheet?: {
    /** Oldest first. The last day isn't over, and earlier days are kept while a filter change can still correct them. */
    days: SheetDay[];
    /** Earliest change of each filter since the days were last written; absent: no change. */
    redo?: Partial<Record<FilterType, EpochMs>>;
  };
}

/** A local day of the log sheet: the booth's time on it, and the pressure drops of the spray stages that ended in it. */
export interface SheetDay {
  tz: string;
  start: EpochMs;
  end: EpochMs;
  use_ms: Milliseconds;
  spray_ms: Milliseconds;
  no_data_ms: Milliseconds;
  drops: Partial<Record<FilterType, [end: EpochMs, highest: number, median: number, ms: Milliseconds][]>>;
  isWritten: boolean;
}

/** The bake of a bay. `open` has its final stages; null: none is final. `stages` has the temperatures of stages that may still change. */
export interface BakeState {
  bay: number;
  open: {
    start: EpochMs;
    end: EpochMs;
    bake_ms: Milliseconds;
    no_data_ms: Milliseconds;
    /** Time without data after the last part. It counts only if another part follows. */
    pause_ms: Milliseconds;
    uncertain: boolean;
    parts: BakePart[];
  } | null;
  stages: { mode: BakePart["mode"]; start: EpochMs; air?: RunningCurve; metal?: RunningCurve }[];
}

/** A temperature curve up to an instant: lowest and highest value, in tenths of a degree, and the known time of each minute. */
interface RunningCurve {
  boot: BootId;
  /** Instant up to which values were added. */
  mono: Milliseconds;
  low: (number | null)[];
  high: (number | null)[];
  known: Milliseconds[];
}

/** Returns the state before the first record. */
export function emptyState(): DeriveState {
  const revision = (): RevisionState => ({ read: { version: "", revision: "" }, entered: null, candidate: null });
  return {
    version: STATE_VERSION,
    seq: 0,
    clock: { boot: "", mono: 0, now: 0, offset: 0, placed: false, synced: false, unsure: false, places: [] },
    parameters: null,
    groups: {},
    pending: [],
    latest: {},
    counters: {},
    witnesses: {},
    bays: [],
    booth: null,
    filters: {},
    revisions: { firmware: revision(), program: revision() },
    hours: {},
    hour_next: null,
    recent: { slices: [], ends: [], increments: [] },
    incidents: {},
    checks: {
      tags: { analog: [], air: null, fan: null, burner: null, door: null },
      tz_known: true,
      in_use_ms: 0,
      runtime_ms: 0,
      cycles: 0,
      unchanged: {},
      conflicts: {},
      day: null,
    },
    samples: {},
  };
}

/** A fact without the fields that `writeFact` copies from the record. */
type NewFact = Fact extends infer F ? (F extends Fact ? Pick<F, "kind" | "value" | "quality"> : never) : never;

/** A step of the fold: the state, the record being folded, and the facts made so far, in order. */
export interface Fold {
  readonly state: DeriveState;
  readonly record: Stored<LogRecord>;
  readonly facts: FactDraft[];
}

/** Adds a fact with the boot and the time of the record being folded. */
export function writeFact({ facts, record: { boot, mono, at } }: Fold, { kind, value, quality }: NewFact): void {
  // TypeScript can't express that kind and value of a union belong together.
  facts.push({ kind, boot, mono, at, tag: "", value, quality } as FactDraft);
}

/** Machines whose energy is estimated. */
export type Machine = "burner" | "fan";

/**
 * The clock of the fold.
 *
 * Corrected time is mono + offset. A clock record sets the offset of its boot. Corrected time never runs back: after the wall clock was set
 * back, `now` stands still until mono + offset has passed it.
 */
export interface ClockState {
  /** Boot of the present instant; "": there was no record yet. */
  boot: BootId;
  mono: Milliseconds;
  /** Corrected time of the present instant. */
  now: EpochMs;
  offset: Milliseconds;
  /** Whether a clock record of this boot has set the offset. Otherwise the offset comes from the first record's raw time. */
  placed: boolean;
  /** Whether a witness (an independent time source) confirmed the offset. */
  synced: boolean;
  /** Whether the time of the boot is inferred: it was never synced, or its first time isn't confirmed yet. */
  unsure: boolean;
  /** Monotonic time of a jump of the clock by more than a day. Kept for one day of monotonic time; absent: no such jump. */
  leapt?: Milliseconds;
  /** Stretches of time for which a later clock record corrected earlier clock records; absent: none. */
  taken_back?: TakenBack[];
  /** Clock offsets of boots that had to wait for a clock sync and whose records come next. */
  places: BootPlace[];
}

/** The clock offset of a boot that had to wait for a clock sync: corrected time = mono + offset. */
export interface BootPlace {
  readonly boot: BootId;
  readonly offset: Milliseconds;
  /** Whether no witness confirmed the boot's time. Its length is then exact, but its start is not. */
  readonly uncertain: boolean;
}

/** A stretch of a boot whose clock records are proven wrong by later clock records. */
export interface TakenBack {
  readonly boot: BootId;
  /** Mono at the start of the stretch. */
  readonly from: Milliseconds;
  /** Mono at the end of the stretch; null: the stretch ends with the boot. */
  readonly to: Milliseconds | null;
  /** Right offset of the stretch; null: unknown, so time continues from the last known instant. */
  readonly offset: Milliseconds | null;
}

/**
 * Coverage of a poll group: the last period of polls without a gap that is too long for values to stay valid. `from` and `to` are monotonic
 * times of `boot`.
 */
export interface GroupState {
  boot: BootId;
  from: Milliseconds;
  to: Milliseconds;
  /** End of the previous stretch in corrected time; null: unknown. */
  known_until: EpochMs | null;
}

export type PendingReading = Pick<Reading, "tag" | "value" | "quality">;

export interface LatestValue {
  value: TagValue;
  at: EpochMs;
  quality: Quality;
}

export interface CounterState {
  /** Last good decoded value, in the tag's unit. */
  raw: number;
  /** Sum in whole steps, so that rounding errors don't add up. Figure = total_steps x step x factor. */
  total_steps: number;
  /** Part of `total_steps` that was counted during spans without data. */
  unattributed_steps: number;
  /** Number of falls and jumps that were neither a plausible count nor a known wrap. */
  odd: number;
  boot: BootId;
  mono: Milliseconds;
  at: EpochMs;
}

/**
 * The timeline of one bay (0: the only bay of the booth).
 *
 * A stage is in `open` while it lasts. It is in `closed` after it ended, while it may still be merged or corrected. Then it becomes a fact.
 * Time before `settled` has its final mode and was added to filters, hours and checks. `live` is true as long as polls of the mode's group
 * reach the present instant. When the polls stop, `good_until` stays, and `gap` is set after the bridge (the longest gap over which a value
 * stays valid). When the mode is read again, the gap is attributed to the mode if counters prove it, or else becomes a no_data stage.
 * `resume` is kept for min_stage, because evidence of a restart comes with the polls of other groups.
 */
export interface BayState {
  bay: number;
  tag: TagName;
  group: string;
  /** Raw mode value in force; null: none yet, or the last reading was bad. */
  raw: string | null;
  /** Whether the mode is known up to the present instant. */
  live: boolean;
  /** Last instant at which the mode was known, with its boot and mono. */
  good_until: EpochMs;
  good_boot: BootId;
  good_mono: Milliseconds;
  gap: GapState | null;
  /** Counter values at the time when the mode was lost, kept until it is known again; absent: no gap yet. */
  marks?: CounterMarks | null;
  resume: Resume | null;
  /** A restart of the PLC that was detected while the mode was unknown. */
  restart: Restart | null;
  /** Part of the open stage that was inferred over a gap, and which later records may still change. */
  inferred: { from: EpochMs; to: EpochMs } | null;
  /** Ended stages that may still be merged or corrected, oldest first. */
  closed: ClosedStage[];
  open: OpenStage | null;
  /** Instant up to which the mode is final: no later record can change it. */
  settled: EpochMs;
  run: RunState | null;
  cycle: { start: EpochMs; spray_ms: Milliseconds; bake_ms: Milliseconds; gap: boolean } | null;
  /** Start of a contradiction between mode bits; null: no contradiction; absent: no reading yet. */
  conflict?: EpochMs | null;
  /** Periods whose mode is final, but which aren't combined with the other bays' periods yet. Used only in a booth with several bays. */
  slices: Settled[];
}

export interface OpenStage {
  mode: Mode;
  raw: string;
  start: EpochMs;
  uncertain_ms: Milliseconds;
  uncertainty_ms: Milliseconds;
  /**
   * For a no_data stage, the mode before the stage. For any other stage, the mode before the no_data stage that precedes it; null: no
   * no_data stage precedes it.
   */
  before: Mode | null;
  /** Whether the rules of runs and cycles have processed the stage. */
  entered: boolean;
}

export interface ClosedStage extends OpenStage {
  end: EpochMs;
  end_reason: StageFact["value"]["end_reason"];
}

/** The end of a gap: the mode was read again. */
interface Resume {
  at: EpochMs;
  good_until: EpochMs;
  /** Whether the gap was attributed to the mode. */
  went_on: boolean;
}

/** A restart of the PLC. */
export interface Restart {
  at: EpochMs;
  /** Whether the PLC's counters fell, so that its memory was lost. */
  lost: boolean;
}

interface GapState extends CounterMarks {
  /** Whether the gap is too long for inference and therefore becomes no_data. */
  expired: boolean;
}

export interface CounterMarks {
  cycles: CounterMark | null;
  hours: CounterMark | null;
}

export type CounterMark = Pick<CounterState, "total_steps" | "odd">;

export interface RunState {
  last_mode: Mode;
  /** The present interruption of the run by modes that aren't part of a run; null: none. */
  pause: { since: EpochMs; no_data_from: EpochMs | null; only_no_data: boolean } | null;
}

/** A period whose mode is final: no later record can change it. */
export interface Settled {
  mode: Mode;
  from: EpochMs;
  to: EpochMs;
  inferred: boolean;
}

/**
 * A position for a filter: the filter that is in, and the previous one.
 *
 * A change moves `current` to `former`. `former` may still change until all time up to the removal is final. Then its maintenance record is
 * written, and `reported` becomes true. After an entry by a person, `without_entry` holds the same position as if the entry had not been
 * made. Every later event changes that copy too, so an undo replaces the position by `without_entry`.
 */
export interface FilterState {
  current: Installation;
  former: Installation | null;
  reported: boolean;
  /** Time of the last change that the PLC reported. */
  last_reset: EpochMs | null;
  /** True between a press of the reset button and the fall of the counter. */
  awaits_fall: boolean;
  /** The person's entry that installed `current`, while it can be undone. */
  entry: { seq: Seq; at: EpochMs } | null;
  /** The position without the entry; null: the entry can't be undone. */
  without_entry: FilterState | null;
}

export interface Installation {
  installed_at: EpochMs;
  removed_at: EpochMs | null;
  source: FilterService["value"]["source"];
  flagged: boolean;
  /** False for a filter that was in at first contact, whose earlier use is unknown. */
  known: boolean;
  in_use_ms: Milliseconds;
  spray_ms: Milliseconds;
  cycles: number;
  limits: FilterLimits;
  /** Start of the present limits; absent: the installation. */
  limits_from?: EpochMs;
  /** Minutes by the PLC's counter: usage = offset + value; null: the counter wasn't read yet. */
  plc: { offset: number; value: number } | null;
  /**
   * First reading of the counter, if `offset` includes the box's own time in use before it. That time is added when it becomes final.
   * Absent: the counter started with the filter.
   */
  own_until?: EpochMs;
  /**
   * Last poll of the counter before a person entered the removal. Minutes counted between the removal and this instant belong to the next
   * filter. Absent: the counter was reset at the removal.
   */
  counted_until?: EpochMs;
  overuse: Episode[];
  overuse_in_use_ms: Milliseconds;
  overuse_cycles: number;
  pressure: PressureState;
}

/** A time during which a limit was exceeded. */
export interface Episode {
  since: EpochMs;
  /** End of the episode; null: it still lasts. */
  until: EpochMs | null;
  /** Whether the episode began while nothing was read. `since` is then the next good reading. */
  flagged: boolean;
}

/** Pressure drops of a filter in spray stages. */
export interface PressureState {
  /** Pressure drop of the clean filter, Pa; null: not known yet. */
  baseline: number | null;
  /** Drops of the last three spray stages. */
  drops: { end: EpochMs; pascal: number }[];
}

/** A tag's value from an instant on; null: no good value. */
export type Sampled = [at: EpochMs, value: number | null];

/** A person's entry of a filter change, and its outcome. */
export type EntryState = { -readonly [K in Exclude<keyof FilterEntry, "undo_until">]: FilterEntry[K] } & { seq: Seq };

export interface RevisionState {
  /** Last good version strings; "": none. */
  read: { version: string; revision: string };
  /** Newest version that was written as a fact; null: none yet. */
  entered: { version: string; revision: string; first_seen_at: EpochMs; initial: boolean } | null;
  /** New version that hasn't been stable for long enough yet. */
  candidate: RevisionCandidate | null;
}

export interface RevisionCandidate {
  version: string;
  revision: string;
  first_seen_at: EpochMs;
  first_boot: BootId;
  first_mono: Milliseconds;
}

export interface HourState {
  ms_by_mode: Partial<Record<Mode, Milliseconds>>;
  /** Increments of the PLC's cycle counter in the hour. */
  counted_cycles: number;
  /** Number of counted cycles that ended in the hour. */
  derived_cycles: number;
  gas_therm: number;
  energy_kwh: number;
  /** Work of machines without a meter, in the unit of `workRate`; absent: no work. */
  work?: Partial<Record<Machine, number>>;
  /** The end of the hour, or of a gap that contains this end; null: the hour's time isn't final yet. */
  settled_at: EpochMs | null;
}

/** A contradiction in the PLC's values, or a passed limit. */
export interface Incident extends Pick<IncidentFact["value"], "tag_name" | "check" | "logic" | "reason"> {
  /** Severity of the incident; absent: warning. */
  severity?: IncidentFact["value"]["severity"];
}

export interface IncidentState extends Required<Incident> {
  first_seen_at: EpochMs;
  last_seen_at: EpochMs;
  /** Number of consecutive checks that found nothing wrong. */
  good: number;
}

/** Data that the validation checks keep between records. */
export interface Checks {
  /** Tags by their function in the checks. Stored, so that a record doesn't require a search. */
  tags: { analog: TagName[]; air: TagName | null; fan: TagName | null; burner: TagName | null; door: TagName | null };
  /** Whether the time zone of the parameters is known. */
  tz_known: boolean;
  /** Time in use since the first record, up to the last instant whose mode is final. */
  in_use_ms: Milliseconds;
  runtime_ms: Milliseconds;
  /** Number of counted derived cycles since the first record. */
  cycles: number;
  /** Analog values that stay the same, with `in_use_ms` at the first reading of that value. */
  unchanged: Record<TagName, { value: TagValue; since_ms: Milliseconds }>;
  /** Start of each contradiction between two readings, or a reading and the mode, by the tag that the incident reports. */
  conflicts: Record<string, EpochMs>;
  day: DayMarks | null;
}

/** Counts of the PLC and of the derivation at the start of a local day. */
export interface DayMarks {
  /** End of the day, at which it is compared and the next day starts. */
  end: EpochMs;
  begin: EpochMs;
  cycles: number;
  runtime_ms: Milliseconds;
  /** Steps of counters by tag, without those counted during spans without data. */
  steps: Record<TagName, number>;
  filters: Partial<Record<FilterType, FilterMarks>>;
  /** Since the start of the day, for machines with a meter: estimated work, and the time for which their load was known. */
  estimates?: Partial<Record<Machine, { work: number; ms: Milliseconds }>>;
}

/** Time in use of an installed filter by the box, ms, and its minutes by the PLC. */
export interface FilterMarks {
  installed_at: EpochMs;
  own: Milliseconds;
  plc: number;
}
