import type { Mode, Quality, TagValue } from "../../domain/booth.ts";
import type { Parameters } from "../../domain/parameters.ts";
import type { StageFact } from "../../domain/record.ts";
import type { BootId, EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Machine } from "../parameters.ts";

/** Where a boot that waited stands in time: corrected time = mono + offset. */
export interface BootPlace {
  readonly boot: BootId;
  readonly offset: Milliseconds;
  /** It was never synced, or by a time that nobody else vouches for: its length is exact, its place is not. */
  readonly uncertain: boolean;
}

/** A stretch of a boot whose clock records are taken back. */
export interface TakenBack {
  readonly boot: BootId;
  /** In mono of the boot; null: its end. */
  readonly from: Milliseconds;
  readonly to: Milliseconds | null;
  /** Corrected time = mono + offset; null: nobody ever said it right, so it goes on from the last known instant. */
  readonly offset: Milliseconds | null;
}

/** What somebody else may look at, and no more. */
export type DeepReadonly<T> = T extends string | number ? T : { readonly [K in keyof T]: DeepReadonly<T[K]> };

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
interface Resume {
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

interface GapState extends CounterMarks {
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

interface CycleState {
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
  slices: Settled[];
}

/** A span of time whose mode is final. */
export interface Settled {
  mode: Mode;
  from: EpochMs;
  to: EpochMs;
  inferred: boolean;
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

/** What the timeline remembers: where the booth stands in time, what was read last, and what its bays are in. */
export interface TimelineState {
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
  /** Up to where machines' work is counted; absent: none has been yet. */
  worked?: Partial<Record<Machine, { boot: BootId; mono: Milliseconds }>>;
}

export function emptyTimeline(): TimelineState {
  return {
    clock: { boot: "", mono: 0, now: 0, offset: 0, placed: false, synced: false, unsure: false, places: [] },
    parameters: null,
    groups: {},
    pending: [],
    latest: {},
    counters: {},
    witnesses: {},
    bays: [],
    booth: null,
  };
}

/** Where the fold stands in time. */
export interface ClockState {
  /** "": no record yet. */
  boot: BootId;
  mono: Milliseconds;
  /** Corrected time of the present instant; never runs back. */
  now: EpochMs;
  /** Corrected time = mono + offset in this boot, unless that would run back. */
  offset: Milliseconds;
  /** Whether a clock record of this boot has given the offset; else it comes from the first record's raw time. */
  placed: boolean;
  /** A witness vouched for the offset. */
  synced: boolean;
  /** Where the boot stands in time is inferred: it was never synced, or nobody vouches for its first time yet. */
  unsure: boolean;
  /** Mono at which time last moved on by a day at once, less than a day of mono ago; absent: it didn't. */
  leapt?: Milliseconds;
  /** Clock records to come that later ones take back; absent: none. */
  taken_back?: TakenBack[];
  /** Boots that waited for their place and whose records come next. */
  places: BootPlace[];
}
