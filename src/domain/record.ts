import type { FilterLimits, FilterType, Mode, Quality, TagValue } from "./booth.ts";
import type { Parameters } from "./parameters.ts";
import type { BootId, EpochMs, Milliseconds, Seq, TagName } from "./units.ts";

/** Kinds of records, by the letter that disk and wire have for each. */
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
} as const;

type Letters = typeof KIND;

/**
 * A record of a booth's stream. Readings, coverage and facts share one shape, so that store, wire and hash treat them alike:
 *
 * - `boot` and `mono` give the time: corrected time = mono + offset(boot), and the offset comes from clock records. A fact carries
 *   the boot and mono of the record whose folding made it; the times it describes are in its value.
 * - `at` is the raw wall clock at receipt. It is stored, and never used for durations.
 * - `tag` is the tag's name for a reading, the poll group's name for coverage, and "" otherwise.
 *
 * Order inside one commit, which is the order of the fold: by mono, where a coverage record counts at its `from`. At equal mono,
 * clock, parameters and coverage precede everything else, so that a reading always follows the coverage that proves its poll.
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

/** a tag's value changed (beyond its deadband), its heartbeat fell due, or it was read for the first time after a gap. */
export interface Reading extends RecordBase<Letters["reading"], TagValue> {
  /** Time of the value by the device's clock; absent if the device gives none. Never used for durations, and not sent. */
  readonly source_at?: EpochMs;
}

/**
 * polls of one group that were answered from `from` to `to` (mono of this boot, inclusive), the widest spacing
 * between two of them being `max_interval_ms`. `polls` 0: the group got no answer up to `to`; written every 60 s
 * so that time passes in the fold, proves nothing. mono = from.
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

/** The wall clock at `mono`, and how far it can be trusted. */
export type ClockRecord = RecordBase<
  Letters["clock"],
  {
    readonly wall: EpochMs;
    readonly state: "unsynced" | "synced" | "stepped";
    readonly witness?: "kernel" | "service";
    /** true: the first time of a boot, from a single answer, not confirmed by a second source. */
    readonly unsure?: boolean;
  }
>;

/** everything that rules depend on, in force from this instant on. */
export type ParameterRecord = RecordBase<Letters["parameters"], Parameters>;

/** a filter was changed. Sources technician and service are inputs; plc_reset and assumed are made by derivation. */
export type FilterService = RecordBase<
  Letters["filter"],
  {
    readonly filter: FilterType;
    readonly source: "plc_reset" | "technician" | "service" | "assumed";
    /** Time of the installation of the new filter. */
    readonly installed_at: EpochMs;
    readonly flagged: boolean;
    /** technician: the change was this long before the record's instant. Then `installed_at` is by the raw clock and not used. */
    readonly ago_ms?: Milliseconds;
    /** technician: names the entry; the same one again changes nothing. */
    readonly id?: string;
    /**
     * The old filter's maintenance record; null where nothing is known of it. Made by derivation alone.
     * Where its overuse began unseen the fact's quality is uncertain.
     */
    readonly maintenance?: Maintenance | null;
    /** The person who entered it; technician and service only. */
    readonly by?: string;
  }
>;

/** The maintenance record of a removed filter. Times are corrected times; the wire converts the durations to minutes and days. */
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

/** what only acquisition saw; evidence for an incident. */
export type EventRecord = RecordBase<
  Letters["event"],
  { readonly event: string; readonly detail: string; readonly tag?: TagName }
>;

/** withdraws the record with that seq (a technician's undone entry). */
export type VoidRecord = RecordBase<Letters["void"], { readonly seq: Seq; readonly by?: string }>;

/** a range that was dropped and is never delivered, with the reason. */
export type GapRecord = RecordBase<Letters["gap"], { readonly from: Seq; readonly to: Seq; readonly reason: string }>;

/** one closed stage: a maximal interval in one mode. */
export type StageFact = RecordBase<
  Letters["stage"],
  {
    /** 0: the booth; 1, 2: a bay of a booth with several. */
    readonly bay: number;
    readonly mode: Mode;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly end_reason: "changed" | "gap" | "restart" | "shutdown";
    /** False after a bridged gap or after no_data into the same mode: then it counts as no new start. */
    readonly is_new_start: boolean;
    /** Time inside [start, end) that was inferred over gaps. */
    readonly uncertain_ms: Milliseconds;
    /** Upper limit for the time between the start and the reading that showed it. */
    readonly uncertainty_ms: Milliseconds;
    /** The PLC's raw mode value at its start, as text; "" for no_data. */
    readonly raw: string;
    /** Seq of the claim that this one replaces. */
    readonly supersedes?: Seq;
  }
>;

export type CycleResult = "complete" | "complete_no_bake" | "short_bake" | "aborted" | "indeterminate";

/** one closed cycle. `counted` is true for complete and complete_no_bake. */
export type CycleFact = RecordBase<
  Letters["cycle"],
  {
    readonly bay: number;
    readonly start: EpochMs;
    readonly end: EpochMs;
    readonly result: CycleResult;
    readonly counted: boolean;
    /** Why it was aborted: fault, estop, plc_restart, short; "" else. */
    readonly reason: string;
    /** The cycle contains a gap that did not end the run. */
    readonly gap: boolean;
    readonly spray_ms: Milliseconds;
    readonly bake_ms: Milliseconds;
    readonly supersedes?: Seq;
  }
>;

/** a firmware version or program first seen. `initial`: found at first contact, so the date of the change is unknown. */
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

/** one finished hour, as milliseconds by mode and counted units. */
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

/** a validation incident opened or resolved. */
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

/** The records of acquisition and people: the only input of the fold. */
export type LogRecord =
  Reading | Coverage | ClockRecord | ParameterRecord | FilterService | EventRecord | VoidRecord | GapRecord;

/** The records that the fold makes. A FilterService among them has the source plc_reset or assumed, or answers an input. */
export type Fact = StageFact | CycleFact | RevisionFact | HourFact | IncidentFact | FilterService;

export type StreamRecord = LogRecord | Fact;
export type Kind = StreamRecord["kind"];

/** A record with the place the commit gave it. */
export type Stored<R extends StreamRecord = StreamRecord> = R & { readonly seq: Seq };

/** A stored record with its corrected time, as the fold placed it when it was committed. */
export type Placed<R extends StreamRecord = StreamRecord> = Stored<R> & { readonly time: EpochMs };

/**
 * A part of a log as it lies in the store: one packed row of log records of one boot and one clock offset, and the facts among them.
 * Together they are all of `from` to `to`.
 */
export interface LogChunk {
  readonly from: Seq;
  readonly to: Seq;
  /** Seq of the body's first record, with its boot and times. */
  readonly first_seq: Seq;
  readonly boot: BootId;
  readonly mono0: Milliseconds;
  readonly t0: EpochMs;
  /** As docs/reference/wire.md describes it. */
  readonly body: Uint8Array;
  readonly facts: readonly Placed<Fact>[];
}
