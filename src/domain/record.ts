import type { FilterLimits, FilterType, Mode, Quality, TagValue } from "./booth.ts";
import type { Parameters } from "./parameters.ts";
import type { BootId, EpochMs, Milliseconds, Seq, TagName } from "./units.ts";

/** Kinds of records, with the letter that each kind has on disk and on the wire. */
export const KIND = {
  reading: "r",
  coverage: "h",
  clock: "t",
  parameters: "p",
  filter: "f",
  event: "e",
  void: "x",
  gap: "g",
  stage: "m",
  cycle: "c",
  revision: "v",
  hour: "d",
  incident: "i",
  filterDay: "u",
  bake: "b",
  label: "n",
} as const;

/** Kinds of facts that are kept for years, because an owner must show them to others. */
export const LASTING_KINDS: readonly Kind[] = [KIND.filter, KIND.filterDay, KIND.bake, KIND.label];

type Letters = typeof KIND;

/**
 * A record of a booth's stream. Readings, coverage and facts have the same shape, so store, wire and hash treat them alike:
 *
 * - `boot` and `mono` give the time: corrected time = mono + offset(boot), and clock records give the offset. A fact has the boot and mono
 *   of the record that it was made from. The times that a fact describes are in its value.
 * - `at` is the raw wall clock at receipt. It is stored, but never used for durations.
 * - `tag` is the tag's name in a reading, the poll group's name in a coverage record, and otherwise "".
 *
 * Records of one commit are ordered by mono, as the fold needs it; a coverage record counts at its `from`. At the same mono, clock,
 * parameters and coverage precede all other records, so a reading always follows the coverage that proves its poll.
 */
export interface RecordBase<K extends string, V> {
  readonly kind: K;
  readonly boot: BootId;
  readonly mono: Milliseconds;
  readonly at: EpochMs;
  readonly tag: TagName;
  readonly value: V;
  readonly quality: Quality;
}

/** A tag's value: it changed by more than its deadband, its heartbeat was due, or it was read for the first time after a gap. */
export interface Reading extends RecordBase<Letters["reading"], TagValue> {
  /**
   * Time of the value by the device's clock; absent: the device sends no time. It is not sent to the service and never used for durations.
   */
  readonly source_at?: EpochMs;
}

/**
 * Polls of one group that were answered from `from` to `to` (mono of this boot, inclusive). `max_interval_ms` is the longest time between
 * two of them. `polls` 0: the group gave no answer up to `to`. Such a record is written every 60 s so that time passes in the fold; it
 * proves nothing. The record's mono is `from`.
 */
export type Coverage = RecordBase<
  Letters["coverage"],
  {
    readonly group: string;
    readonly from: Milliseconds;
    readonly to: Milliseconds;
    readonly polls: number;
    readonly max_interval_ms: Milliseconds;
  }
>;

/** The wall clock at `mono`, and how reliable it is. */
export type ClockRecord = RecordBase<
  Letters["clock"],
  {
    readonly wall: EpochMs;
    readonly state: "unsynced" | "synced" | "stepped";
    readonly witness?: "kernel" | "service";
    /** true: this is the boot's first clock time, and it comes from a single answer that no second source has confirmed. */
    readonly unsure?: boolean;
  }
>;

/** All parameters that rules depend on. They are in force from this instant on. */
export type ParameterRecord = RecordBase<Letters["parameters"], Parameters>;

/** A filter change. Changes with source technician or service are inputs. Derivation makes those with source plc_reset or assumed. */
export type FilterService = RecordBase<
  Letters["filter"],
  {
    readonly filter: FilterType;
    readonly source: "plc_reset" | "technician" | "service" | "assumed";
    /** Time at which the new filter was installed. */
    readonly installed_at: EpochMs;
    readonly flagged: boolean;
    /**
     * Time from the change to the record's instant. Only for a technician's entry, whose `installed_at` comes from the raw clock and is
     * ignored.
     */
    readonly ago_ms?: Milliseconds;
    /** Id of a technician's entry. A repeated entry with the same id changes nothing. */
    readonly id?: string;
    /**
     * Maintenance record of the replaced filter, which only derivation adds; null: nothing is known about that filter. The fact's quality
     * is uncertain if the start of the filter's overuse was not observed.
     */
    readonly maintenance?: Maintenance | null;
    /** Person who entered the change. Only for technician and service. */
    readonly by?: string;
  }
>;

/** The maintenance record of a removed filter, in corrected time. On the wire, the durations are in minutes and days. */
export interface Maintenance {
  readonly filter_type: FilterType;
  readonly installed_at: EpochMs;
  readonly removed_at: EpochMs;
  readonly duration_ms: Milliseconds;
  readonly overuse_ms: Milliseconds;
  readonly overuse_since: EpochMs | null;
  readonly active_spray_ms: Milliseconds;
  readonly booth_in_use_ms: Milliseconds;
  readonly booth_overuse_cycles: number;
  readonly booth_overuse_ms: Milliseconds;
  readonly cycles: number;
  readonly limits: FilterLimits;
  readonly service: "on_time" | "late";
}

/** An event that only acquisition observed. It is evidence for an incident. */
export type EventRecord = RecordBase<
  Letters["event"],
  { readonly event: string; readonly detail: string; readonly tag?: TagName }
>;

/** Withdraws the record with that seq, such as an entry that a technician has undone. */
export type VoidRecord = RecordBase<Letters["void"], { readonly seq: Seq; readonly by?: string }>;

/** A range of records that were deleted and are never delivered, with the reason. */
export type GapRecord = RecordBase<Letters["gap"], { readonly from: Seq; readonly to: Seq; readonly reason: string }>;

/** A closed stage: a maximal interval in one mode. */
export type StageFact = RecordBase<
  Letters["stage"],
  {
    /** 0: the whole booth; 1, 2: a bay of a booth with several bays. */
    readonly bay: number;
    readonly mode: Mode;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly end_reason: "changed" | "gap" | "restart" | "shutdown";
    /** False after a short gap, or after no_data between two stages of the same mode: the stage then doesn't count as a new start. */
    readonly is_new_start: boolean;
    /** Part of [start, end) in which the mode was inferred over gaps. */
    readonly uncertain_ms: Milliseconds;
    /** Longest possible time between the real start and the reading that showed it. */
    readonly uncertainty_ms: Milliseconds;
    /** The PLC's raw mode value at the start, as text; "" for no_data. */
    readonly raw: string;
    /** Seq of the fact that this one replaces. */
    readonly supersedes?: Seq;
  }
>;

export type CycleResult = "complete" | "complete_no_bake" | "short_bake" | "aborted" | "indeterminate";

/** A closed cycle. `counted` is true for complete and complete_no_bake. */
export type CycleFact = RecordBase<
  Letters["cycle"],
  {
    readonly bay: number;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly result: CycleResult;
    readonly counted: boolean;
    /** Why the cycle was aborted: fault, estop, plc_restart, short; "": it wasn't aborted. */
    readonly reason: string;
    /** Whether the cycle contains a gap that didn't end the run. */
    readonly gap: boolean;
    readonly spray_ms: Milliseconds;
    readonly bake_ms: Milliseconds;
    readonly supersedes?: Seq;
  }
>;

/**
 * A firmware version or program seen for the first time. `initial`: it was found at first contact, so the date of the change is unknown.
 */
export type RevisionFact = RecordBase<
  Letters["revision"],
  {
    readonly item: "firmware" | "program";
    readonly firmware_version?: string;
    readonly plc_program?: string;
    readonly plc_program_revision?: string;
    readonly first_seen_at: EpochMs;
    readonly initial: boolean;
  }
>;

/** A finished hour: milliseconds by mode, and counted units. */
export type HourFact = RecordBase<
  Letters["hour"],
  {
    readonly hour: EpochMs;
    readonly ms_by_mode: Readonly<Partial<Record<Mode, Milliseconds>>>;
    readonly cycles: number;
    readonly gas_therm: number;
    readonly energy_kwh: number;
    readonly supersedes?: Seq;
  }
>;

/** The opening or the end of a validation incident. */
export type IncidentFact = RecordBase<
  Letters["incident"],
  {
    readonly tag_name: string;
    readonly check: string;
    readonly logic: Readonly<Record<string, TagValue>>;
    readonly reason: string;
    readonly first_seen_at: EpochMs;
    readonly last_seen_at: EpochMs;
    readonly resolved_at: EpochMs | null;
    readonly severity: "info" | "warning" | "error";
    readonly supersedes?: Seq;
  }
>;

/** A filter's pressure drop over a day, from the spray stages that ended in it while the filter was in. */
export interface DayDrop {
  /** Highest drop of a stage, Pa. */
  readonly highest_pa: number;
  /** Median over time of the stages' median drops, Pa. */
  readonly median_pa: number;
  /** Spray time from which the drops come. */
  readonly measured_ms: Milliseconds;
}

/**
 * A filter on a local day on which the booth was in use or not observed. A later fact with the same day, filter and `installed_at` corrects
 * it. On the day of a change, the removed filter and the new one have a fact each.
 */
export type FilterDayFact = RecordBase<
  Letters["filterDay"],
  {
    /** Local date, such as "2026-03-02". */
    readonly day: string;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly tz: string;
    readonly filter: FilterType;
    readonly installed_at: EpochMs;
    /** Whether the filter was in at first contact, so that its installation time is unknown. */
    readonly assumed: boolean;
    /** Removal on this day; null: the filter was still in at the end of the day. */
    readonly removed_at: EpochMs | null;
    /** Time in use, in spray, and without data of the booth on the whole day. */
    readonly use_ms: Milliseconds;
    readonly spray_ms: Milliseconds;
    readonly no_data_ms: Milliseconds;
    /** Use since installation up to the removal or the end of the day; null: unknown. */
    readonly filter_use_ms: Milliseconds | null;
    readonly overuse_since: EpochMs | null;
    /** Pressure drops; null: the filter has a sensor, but no drop was measured; absent: the filter has no sensor. */
    readonly drop?: DayDrop | null;
    /** Drop of the clean filter, Pa; null: not known yet; absent: the filter has no sensor. */
    readonly baseline_pa?: number | null;
    readonly limits: FilterLimits;
    readonly supersedes?: Seq;
  }
>;

/**
 * The temperature in a part of a bake: the lowest and highest value of each minute, counted from the start of the part. Both lists hold
 * differences to the list's last known value, first to 0, in tenths of a degree Celsius. `low` is null if the temperature was unknown for
 * a part of the minute, `high` only if it was unknown for the whole minute.
 */
export interface BakeCurve {
  /** How far the temperature may have been from the recorded values, in degrees Celsius: changes up to this size are not logged. */
  readonly deadband: number;
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

/** A stage of a bake. */
export interface BakePart {
  readonly mode: "bake" | "cool_down";
  readonly start: EpochMs;
  readonly end: EpochMs;
  /** Absent: the bay has no such sensor. */
  readonly air?: BakeCurve;
  readonly metal?: BakeCurve;
}

/**
 * A bake: the stages bake and cool_down of a run from a bake's start to the next spray or flash, or to the end of the run. Minutes after
 * the first 24 hours have no curve.
 */
export type BakeFact = RecordBase<
  Letters["bake"],
  {
    readonly bay: number;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly tz: string;
    /** Time in mode bake. */
    readonly bake_ms: Milliseconds;
    /** Time without data of the mode between the parts. */
    readonly no_data_ms: Milliseconds;
    /** Why the bake ended: the next job's spray, the end of the run, a fault, a restart of the PLC, or unknown because data is missing. */
    readonly end_reason: "spray" | "run" | "fault" | "estop" | "restart" | "no_data";
    readonly parts: readonly BakePart[];
    readonly supersedes?: Seq;
  }
>;

/**
 * A person's text about a filter change. The record that a person makes becomes an equal fact, which is kept for years. A later record with
 * the same id corrects it. Names of persons are never part of it, because a record can't be changed: see `src/api/filter-labels.ts`.
 */
export type LabelRecord = RecordBase<
  Letters["label"],
  {
    readonly id: string;
    readonly filter: FilterType;
    readonly installed_at: EpochMs;
    readonly part_number: string;
    readonly note: string;
  }
>;

/** Records made by acquisition and by people. They are the only input of the fold. */
export type LogRecord =
  | Reading
  | Coverage
  | ClockRecord
  | ParameterRecord
  | FilterService
  | LabelRecord
  | EventRecord
  | VoidRecord
  | GapRecord;

/** Records that the fold makes. A FilterService record that is a fact has the source plc_reset or assumed, or answers a person's entry. */
export type Fact =
  | StageFact
  | CycleFact
  | RevisionFact
  | HourFact
  | IncidentFact
  | FilterService
  | FilterDayFact
  | BakeFact
  | LabelRecord;

export type StreamRecord = LogRecord | Fact;
export type Kind = StreamRecord["kind"];

/** A record with the seq that the commit assigned. */
export type Stored<R extends StreamRecord = StreamRecord> = R & { readonly seq: Seq };

/** A stored record with the corrected time that the fold gave it at the commit. */
export type Placed<R extends StreamRecord = StreamRecord> = Stored<R> & { readonly time: EpochMs };

/**
 * A part of a log as it is stored: a packed row of log records of one boot and one clock offset, and the facts between them. Together they
 * are all records from `from` to `to`.
 */
export interface LogChunk {
  readonly from: Seq;
  readonly to: Seq;
  /** Seq of the first record in the body, with its boot and times. */
  readonly first_seq: Seq;
  readonly boot: BootId;
  readonly mono0: Milliseconds;
  readonly t0: EpochMs;
  /** The packed records in the format of docs/reference/wire.md. */
  readonly body: Uint8Array;
  readonly facts: readonly Placed<Fact>[];
}
