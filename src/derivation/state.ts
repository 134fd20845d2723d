import type { FilterType, Mode, Quality, TagValue } from "../domain/booth.ts";
import type { FilterEntry } from "../domain/entry.ts";
import type { Parameters, ReportRules } from "../domain/parameters.ts";
import type { Fact, LogRecord, StageFact } from "../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, Seq, TagName } from "../domain/units.ts";
import { emptyChecks, type ChecksState } from "./checks-state.ts";
import type { ClockState } from "./clock-state.ts";
import type { Machine } from "./machines.ts";
import type { FilterState } from "./installation.ts";

/** A fact before the store has given it its seq. */
export type FactDraft = Fact;

/** Coverage of one poll group: the last stretch without a gap over the bridge, in mono of `boot`. */
export interface GroupState {
  boot: BootId;
  from: Milliseconds;
  to: Milliseconds;
  /** End of the stretch before, in corrected time, as far as it is known. */
  known_until: EpochMs | null;
}

export interface CounterState {
  /** Last good decoded value, in the tag's unit. */
  raw: number;
  /** Accumulated in whole steps, so that nothing adds up rounding errors. Figure = total_steps x step x factor. */
  total_steps: number;
  /** Part of the total that counters showed for a span without data. */
  unattributed_steps: number;
  /** Falls and jumps that were neither counting nor a known wrap. */
  odd: number;
  boot: BootId;
  mono: Milliseconds;
  at: EpochMs;
}

export interface OpenStage {
  mode: Mode;
  raw: string;
  start: EpochMs;
  uncertain_ms: Milliseconds;
  uncertainty_ms: Milliseconds;
  /** no_data: the mode before it. Else the mode before the no_data stage that precedes; null: none precedes. */
  before: Mode | null;
  /** The run rules know of it. */
  entered: boolean;
}

export interface ClosedStage extends OpenStage {
  end: EpochMs;
  end_reason: StageFact["value"]["end_reason"];
}

/** How the mode came back after a gap: kept for a moment, as restart evidence comes with another poll. */
export interface Resume {
  at: EpochMs;
  good_until: EpochMs;
  /** The gap was attributed to the mode, which simply went on. */
  went_on: boolean;
}

/** The PLC restarted. */
export interface Restart {
  at: EpochMs;
  /** Its counters fell. */
  lost: boolean;
}

export interface GapState extends CounterMarks {
  /** Mono length grew over the limit of inference: it is no_data whatever comes. */
  expired: boolean;
}

export interface CounterMarks {
  cycles: CounterMark | null;
  hours: CounterMark | null;
}

export interface CounterMark {
  total_steps: number;
  odd: number;
}

export interface RunState {
  last_mode: Mode;
  /** What stands between two run stages at the moment. */
  pause: { since: EpochMs; no_data_from: EpochMs | null; only_no_data: boolean } | null;
}

export interface CycleState {
  start: EpochMs;
  spray_ms: Milliseconds;
  bake_ms: Milliseconds;
  gap: boolean;
}

/** The timeline of one bay (0: a booth with one). */
export interface BayState {
  bay: number;
  tag: TagName;
  group: string;
  /** Mode value that holds; null: none yet, or the last reading was bad. */
  raw: string | null;
  /** The mode was known up to the present instant. */
  live: boolean;
  /** Last instant at which the mode was known, with its mono. */
  good_until: EpochMs;
  good_boot: BootId;
  good_mono: Milliseconds;
  gap: GapState | null;
  /** Kept while the mode isn't known; absent: it never was yet. */
  marks?: CounterMarks | null;
  resume: Resume | null;
  /** Evidence that came while the mode wasn't known. */
  restart: Restart | null;
  /** Span inside the open stage that was inferred and is not yet settled. */
  inferred: { from: EpochMs; to: EpochMs } | null;
  /** Stages that ended but may still be merged or corrected, oldest first. */
  closed: ClosedStage[];
  open: OpenStage | null;
  /** Time up to here has its final mode. */
  settled: EpochMs;
  run: RunState | null;
  cycle: CycleState | null;
  /** Since when two modes' bits have been on at once; null, or absent before the first reading: they aren't. */
  conflict?: EpochMs | null;
  /** With several bays: settled time not yet united with the other bays'. */
  slices: Slice[];
}

/** A span of time whose mode is final. */
export interface Slice {
  mode: Mode;
  from: EpochMs;
  to: EpochMs;
  inferred: boolean;
}

/** What a tag said from an instant on; null: nothing good. */
export type Sampled = [at: EpochMs, value: number | null];

export interface Candidate {
  version: string;
  revision: string;
  first_seen_at: EpochMs;
  first_boot: BootId;
  first_mono: Milliseconds;
}

export interface RevisionState {
  /** Last good strings; "": none. */
  read: { version: string; revision: string };
  /** Newest entry; null: none yet. */
  entered: { version: string; revision: string; first_seen_at: EpochMs; initial: boolean } | null;
  candidate: Candidate | null;
}

export interface HourState {
  ms_by_mode: Partial<Record<Mode, Milliseconds>>;
  /** Increments of the PLC's cycle counter. */
  counted_cycles: number;
  /** Counted cycles that ended in it. */
  derived_cycles: number;
  gas_therm: number;
  energy_kwh: number;
  /** Work of machines without a meter, as derivation/energy has it; absent: none. */
  work?: Partial<Record<Machine, number>>;
  /** Its end, or the end of the gap that its end lies in; null: its time is not yet settled. */
  settled_at: EpochMs | null;
}

export interface PendingReading {
  tag: TagName;
  value: TagValue;
  quality: Quality;
}

export interface LatestValue {
  value: TagValue;
  at: EpochMs;
  quality: Quality;
}

/** An open incident, by check and tag. */
export interface IncidentState {
  tag_name: TagName;
  check: string;
  logic: Readonly<Record<string, TagValue>>;
  reason: string;
  severity: "info" | "warning" | "error";
  first_seen_at: EpochMs;
  last_seen_at: EpochMs;
  /** Evaluations in a row that found nothing wrong. */
  good: number;
}

/** Shape of the state. A saved one of another version is not used: the log is folded again. */
export const STATE_VERSION = 2;

/** Everything the fold remembers: plain JSON. Its shape belongs to derivation; others go through summaries. */
export interface DeriveState {
  version: typeof STATE_VERSION;
  seq: Seq;
  clock: ClockState;
  parameters: Parameters | null;
  groups: Record<string, GroupState>;
  /** Readings with a role of the present instant: judged together when the instant is over. */
  pending: PendingReading[];
  latest: Record<TagName, LatestValue>;
  counters: Record<TagName, CounterState>;
  /** Last value that restart evidence and reset coils are compared with. */
  witnesses: Record<TagName, number | boolean>;
  bays: BayState[];
  /** The booth's own stage where several bays are united; null with one bay. */
  booth: { open: OpenStage | null; settled: EpochMs } | null;
  filters: Partial<Record<FilterType, FilterState>>;
  revisions: { firmware: RevisionState; program: RevisionState };
  /** Hours not yet written, by their start as text. */
  hours: Record<string, HourState>;
  /** The first of them; null: none. */
  hour_next: EpochMs | null;
  /** The last day and a half of settled time and of cycle ends, for entries that come late. */
  recent: { slices: Slice[]; ends: EpochMs[]; increments: [at: EpochMs, steps: number][] };
  incidents: Record<string, IncidentState>;
  /** What reports depend on, by the instant it came into force; absent before the first parameters. */
  rules?: ReportRules[];
  /** The last entries of people, oldest first; absent: there was none yet. */
  entries?: EntryState[];
  checks: ChecksState;
  /** Up to where machines' work is counted; absent: none has been yet. */
  worked?: Partial<Record<Machine, { boot: BootId; mono: Milliseconds }>>;
  /** Pressure drops and fan speeds by tag, as far back as the open spray stage needs them. */
  samples: Record<TagName, Sampled[]>;
}

/** A technician's entry, with what became of it. */
export interface EntryState {
  id: string;
  seq: Seq;
  filter: FilterType;
  by: string;
  entered_at: EpochMs;
  installed_at: EpochMs;
  outcome: FilterEntry["outcome"];
}

/** What one step works on: the state, the record under its feet, and the facts made so far. */
export interface Fold {
  readonly state: DeriveState;
  readonly record: LogRecord & { readonly seq: Seq };
  readonly facts: FactDraft[];
}

function noRevision(): RevisionState {
  return { read: { version: "", revision: "" }, entered: null, candidate: null };
}

/** The state before the first record. */
export function emptyState(): DeriveState {
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
    revisions: { firmware: noRevision(), program: noRevision() },
    hours: {},
    hour_next: null,
    recent: { slices: [], ends: [], increments: [] },
    incidents: {},
    checks: emptyChecks(),
    samples: {},
  };
}

/** What a fact takes over from the record whose folding made it. */
export function stamp({ record }: Fold): { boot: BootId; mono: Milliseconds; at: EpochMs; tag: TagName } {
  return { boot: record.boot, mono: record.mono, at: record.at, tag: "" };
}
