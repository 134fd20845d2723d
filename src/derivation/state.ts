import type { FilterLimits, FilterType, Mode, Quality, TagValue } from "../domain/booth.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { Parameters, ReportRules } from "../domain/parameters.ts";
import type { Fact, FilterService, IncidentFact, LogRecord, Reading, StageFact, Stored } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq, TagName } from "../domain/units.ts";

/** A fact without a sequence number: the store assigns it in the commit. */
export type FactDraft = Fact;

/** Version of the state's shape. The store discards a saved state of another version and folds the log again. */
export const STATE_VERSION = 2;

/**
 * Everything the fold remembers of a booth, as plain JSON.
 *
 * Life cycle: `emptyState` creates it, `step` changes it in place with each record of the log, and the store saves it as JSON in the
 * transaction that commits these records. After a restart the store loads it and folds the records that came later.
 *
 * Invariants:
 * - The same log gives the same text. Fields keep their order, because saved states are compared as text.
 * - A field that was added after version 2 is optional: states saved without it stay valid.
 * - Every list and map is bounded, so that a faulty PLC cannot make a commit grow.
 * - Instants are corrected time (see `ClockState`). Only `mono` fields are monotonic time.
 *
 * Other stations read it through `reports` and the functions of `derivation`; they never write it.
 */
export interface DeriveState {
  version: typeof STATE_VERSION;
  seq: Seq;
  clock: ClockState;
  parameters: Parameters | null;
  groups: Record<string, GroupState>;
  /** Readings with a role at the present instant. They are judged together when the instant is over. */
  pending: PendingReading[];
  latest: Record<TagName, LatestValue>;
  counters: Record<TagName, CounterState>;
  /** Last value per tag that shows a restart of the PLC or a press of a reset button. */
  witnesses: Record<TagName, number | boolean>;
  bays: BayState[];
  /** The stage of a booth with several bays, united from its bays; null with one bay. */
  booth: { open: OpenStage | null; settled: EpochMs } | null;
  /** Instant up to which a machine's work is counted; absent before the first work. */
  worked?: Partial<Record<Machine, { boot: BootId; mono: Milliseconds }>>;
  filters: Partial<Record<FilterType, FilterState>>;
  revisions: { firmware: RevisionState; program: RevisionState };
  /** Hours that are not written yet, by their start as text. */
  hours: Record<string, HourState>;
  /** Start of the oldest hour in `hours`; null if `hours` is empty. */
  hour_next: EpochMs | null;
  /** The last day and a half: settled time, ends of counted cycles, and increments of the PLC's cycle counter. */
  recent: { slices: Settled[]; ends: EpochMs[]; increments: [at: EpochMs, steps: number][] };
  /** Open incidents, by check and tag. */
  incidents: Record<string, IncidentState>;
  checks: Checks;
  /** Pressure drops and fan speeds by tag, as far back as the open spray stage needs them. */
  samples: Record<TagName, Sampled[]>;
  /** Scale that converts a filter's pressure drop to Pa; absent: 1. */
  pressure_scales?: Partial<Record<FilterType, number>>;
  /** The last filter entries of people, oldest first; absent before the first one. */
  entries?: EntryState[];
  /** Rules of reports by the instant they came into force; absent before the first parameters. */
  rules?: ReportRules[];
}

/** The state before the first record. */
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

/** A step of the fold: the state, the record that is folded, and the facts made so far, in order. */
export interface Fold {
  readonly state: DeriveState;
  readonly record: Stored<LogRecord>;
  readonly facts: FactDraft[];
}

/** Adds a fact with the boot and the time of the record that is folded. */
export function writeFact({ facts, record: { boot, mono, at } }: Fold, { kind, value, quality }: NewFact): void {
  // A union of kinds cannot express that kind and value belong together.
  facts.push({ kind, boot, mono, at, tag: "", value, quality } as FactDraft);
}

/** A machine whose energy is estimated. */
export type Machine = "burner" | "fan";

/**
 * The fold's place in time.
 *
 * Corrected time is mono + offset. A clock record sets the offset of its boot. Corrected time never runs back: after the wall clock was
 * put back, `now` stands still until mono + offset has passed it.
 */
export interface ClockState {
  /** "" before the first record. */
  boot: BootId;
  mono: Milliseconds;
  /** Corrected time of the present instant. */
  now: EpochMs;
  offset: Milliseconds;
  /** True if a clock record of this boot has set the offset; else it comes from the first record's raw time. */
  placed: boolean;
  /** True if a witness confirmed the offset. */
  synced: boolean;
  /** True if the boot's place in time is inferred: never synced, or its first time is not confirmed yet. */
  unsure: boolean;
  /** Mono of a jump by more than a day, kept for a day of mono; absent if there was none. */
  leapt?: Milliseconds;
  /** Stretches whose clock records a later record corrects; absent: none. */
  taken_back?: TakenBack[];
  /** Boots that waited for their place in time and whose records come next. */
  places: BootPlace[];
}

/** The place in time of a boot that waited for it: corrected time = mono + offset. */
export interface BootPlace {
  readonly boot: BootId;
  readonly offset: Milliseconds;
  /** True if no witness confirmed the boot's time: its length is exact, its place is not. */
  readonly uncertain: boolean;
}

/** A stretch of a boot whose clock records are taken back. */
export interface TakenBack {
  readonly boot: BootId;
  /** First mono of the stretch. */
  readonly from: Milliseconds;
  /** End of the stretch in mono; null: the end of the boot. */
  readonly to: Milliseconds | null;
  /** Right offset of the stretch; null: unknown, so time continues from the last known instant. */
  readonly offset: Milliseconds | null;
}

/** Coverage of a poll group: the last stretch without a gap over the bridge, in mono of `boot`. */
export interface GroupState {
  boot: BootId;
  from: Milliseconds;
  to: Milliseconds;
  /** End of the previous stretch in corrected time; null if unknown. */
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
  /** Sum in whole steps, so that rounding errors do not add up. Figure = total_steps x step x factor. */
  total_steps: number;
  /** The part of `total_steps` that was counted during a span without data. */
  unattributed_steps: number;
  /** Falls and jumps that were neither counting nor a known wrap. */
  odd: number;
  boot: BootId;
  mono: Milliseconds;
  at: EpochMs;
}

/**
 * The timeline of one bay (0: the only bay of the booth).
 *
 * A stage passes through three places: `open` while it lasts, `closed` when it ended but may still be merged or corrected, then a fact.
 * `settled` is the border: earlier time has its final mode and was given to filters, hours and checks. `live` is true as long as polls
 * of the mode's group reach the present instant. When they stop, `good_until` stays and `gap` opens after the bridge. When the mode is
 * read again, the gap is attributed to the mode (if counters prove it) or becomes a no_data stage. `resume` is kept for min_stage, because
 * evidence of a restart comes with the polls of other groups.
 */
export interface BayState {
  bay: number;
  tag: TagName;
  group: string;
  /** Mode value in force; null: none yet, or the last reading was bad. */
  raw: string | null;
  /** True if the mode is known up to the present instant. */
  live: boolean;
  /** Last instant at which the mode was known, with its boot and mono. */
  good_until: EpochMs;
  good_boot: BootId;
  good_mono: Milliseconds;
  gap: GapState | null;
  /** Counters when the mode was lost, kept until it is known again; absent before the first gap. */
  marks?: CounterMarks | null;
  resume: Resume | null;
  /** Restart that was detected while the mode was unknown. */
  restart: Restart | null;
  /** Span of the open stage that was inferred and is not settled yet. */
  inferred: { from: EpochMs; to: EpochMs } | null;
  /** Ended stages that may still be merged or corrected, oldest first. */
  closed: ClosedStage[];
  open: OpenStage | null;
  /** Time up to here has its final mode. */
  settled: EpochMs;
  run: RunState | null;
  cycle: { start: EpochMs; spray_ms: Milliseconds; bake_ms: Milliseconds; gap: boolean } | null;
  /** Start of a contradiction between mode bits; null without one; absent before the first reading. */
  conflict?: EpochMs | null;
  /** In a booth with several bays: settled time that is not united with the other bays yet. */
  slices: Settled[];
}

export interface OpenStage {
  mode: Mode;
  raw: string;
  start: EpochMs;
  uncertain_ms: Milliseconds;
  uncertainty_ms: Milliseconds;
  /** no_data: the previous mode. Any other mode: the mode before a preceding no_data stage; null without one. */
  before: Mode | null;
  /** True if the rules of runs and cycles have taken the stage into account. */
  entered: boolean;
}

export interface ClosedStage extends OpenStage {
  end: EpochMs;
  end_reason: StageFact["value"]["end_reason"];
}

/** The return of the mode after a gap. */
interface Resume {
  at: EpochMs;
  good_until: EpochMs;
  /** True if the gap was attributed to the mode. */
  went_on: boolean;
}

/** A restart of the PLC. */
export interface Restart {
  at: EpochMs;
  /** True if its counters fell. */
  lost: boolean;
}

interface GapState extends CounterMarks {
  /** True if the gap exceeds the limit of inference: it is no_data in any case. */
  expired: boolean;
}

export interface CounterMarks {
  cycles: CounterMark | null;
  hours: CounterMark | null;
}

export type CounterMark = Pick<CounterState, "total_steps" | "odd">;

export interface RunState {
  last_mode: Mode;
  /** The present interruption of the run by modes outside it; null: none. */
  pause: { since: EpochMs; no_data_from: EpochMs | null; only_no_data: boolean } | null;
}

/** A span of time whose mode is final. */
export interface Settled {
  mode: Mode;
  from: EpochMs;
  to: EpochMs;
  inferred: boolean;
}

/**
 * A position for a filter: the filter that is in, and the previous one.
 *
 * A change moves `current` to `former`. `former` may still change until all time up to the removal is settled; then its maintenance
 * record is written and `reported` becomes true. After an entry by a person, `without_entry` holds the same position as if the entry had
 * not been made. Every later event changes it too, so an undo replaces the position by `without_entry`.
 */
export interface FilterState {
  current: Installation;
  former: Installation | null;
  reported: boolean;
  /** Time of the last change that the PLC reported. */
  last_reset: EpochMs | null;
  /** True after a press of the reset button, until the counter falls. */
  awaits_fall: boolean;
  /** The person's entry that made `current`, while it can be undone. */
  entry: { seq: Seq; at: EpochMs } | null;
  /** null: the entry cannot be undone. */
  without_entry: FilterState | null;
}

export interface Installation {
  installed_at: EpochMs;
  removed_at: EpochMs | null;
  source: FilterService["value"]["source"];
  flagged: boolean;
  /** False for a filter that was in at first contact: its earlier use is unknown. */
  known: boolean;
  in_use_ms: Milliseconds;
  spray_ms: Milliseconds;
  cycles: number;
  limits: FilterLimits;
  /** Start of the present limits; absent: they hold from the installation on. */
  limits_from?: EpochMs;
  /** The PLC's own minutes: usage = offset + value. */
  plc: { offset: number; value: number } | null;
  /**
   * First reading of the counter, if `offset` holds the box's own time in use up to then. Time before it is added as it settles.
   * Absent: the counter counts from its own start.
   */
  own_until?: EpochMs;
  /**
   * Last poll of the counter before a person entered the removal. The counter's minutes between removal and this instant belong to the
   * next filter. Absent: the counter was reset with the removal.
   */
  counted_until?: EpochMs;
  overuse: Episode[];
  overuse_in_use_ms: Milliseconds;
  overuse_cycles: number;
  pressure: PressureState;
}

/** A time over a limit. */
export interface Episode {
  since: EpochMs;
  /** null: it still lasts. */
  until: EpochMs | null;
  /** True if it began while nothing was read: `since` is the first good reading after that. */
  flagged: boolean;
}

/** Pressure drops of a filter's spray stages. */
export interface PressureState {
  /** Drop of the clean filter, Pa; null: not known yet. */
  baseline: number | null;
  /** The last three. */
  drops: { end: EpochMs; pascal: number }[];
}

/** A tag's value from an instant on; null: no good value. */
export type Sampled = [at: EpochMs, value: number | null];

/** An entry of a person and its outcome. */
export type EntryState = { -readonly [K in Exclude<keyof FilterEntry, "undo_until">]: FilterEntry[K] } & { seq: Seq };

export interface RevisionState {
  /** Last good strings; "": none. */
  read: { version: string; revision: string };
  /** Newest version that was written as a fact; null: none yet. */
  entered: { version: string; revision: string; first_seen_at: EpochMs; initial: boolean } | null;
  /** New version that has not been stable for long enough yet. */
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
  /** Increments of the PLC's cycle counter. */
  counted_cycles: number;
  /** Counted cycles that ended in the hour. */
  derived_cycles: number;
  gas_therm: number;
  energy_kwh: number;
  /** Work of machines without a meter, in the unit of `workRate`; absent: none. */
  work?: Partial<Record<Machine, number>>;
  /** The hour's end, or the end of the gap that its end lies in; null: its time is not settled yet. */
  settled_at: EpochMs | null;
}

/** Something that should not be. */
export interface Incident extends Pick<IncidentFact["value"], "tag_name" | "check" | "logic" | "reason"> {
  /** Absent: a warning. */
  severity?: IncidentFact["value"]["severity"];
}

export interface IncidentState extends Required<Incident> {
  first_seen_at: EpochMs;
  last_seen_at: EpochMs;
  /** Consecutive evaluations that found nothing wrong. */
  good: number;
}

/** The memory of the validation checks. */
export interface Checks {
  /** Tags by their part in the checks, so that no record has to search for them. */
  tags: { analog: TagName[]; air: TagName | null; fan: TagName | null; burner: TagName | null; door: TagName | null };
  /** True if the parameters' time zone is known. */
  tz_known: boolean;
  /** Settled time in use since the first record. */
  in_use_ms: Milliseconds;
  runtime_ms: Milliseconds;
  /** Counted derived cycles since the first record. */
  cycles: number;
  /** Analog values that stay the same, with `in_use_ms` at their first reading. */
  unchanged: Record<TagName, { value: TagValue; since_ms: Milliseconds }>;
  /** Start of each contradiction between two readings, or a reading and the mode, by the tag that is reported. */
  conflicts: Record<string, EpochMs>;
  day: DayMarks | null;
}

/** Both sides' counts at the start of a local day. */
export interface DayMarks {
  /** Time of the comparison, and start of the next day. */
  end: EpochMs;
  begin: EpochMs;
  cycles: number;
  runtime_ms: Milliseconds;
  /** Attributed steps of counters by tag. */
  steps: Record<TagName, number>;
  filters: Partial<Record<FilterType, FilterMarks>>;
  /** Estimated work since then of machines with a meter, and the time their load was known. */
  estimates?: Partial<Record<Machine, { work: number; ms: Milliseconds }>>;
}

/** The box's time in use of an installation, ms, and the PLC's minutes. */
export interface FilterMarks {
  installed_at: EpochMs;
  own: Milliseconds;
  plc: number;
}
