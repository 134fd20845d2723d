import type { FilterType, Mode, TagValue } from "../../domain/booth.ts";
import type { Parameters, TagRole } from "../../domain/parameters.ts";
import type {
  ClockRecord,
  EventRecord,
  Fact,
  FilterService,
  LogRecord,
  Reading,
  Stored,
  VoidRecord,
} from "../../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Machine } from "../parameters.ts";
import type { BayState, ClosedStage, DeepReadonly, PendingReading, Settled, TimelineState } from "./state.ts";

export type CountKind = "normal" | "wrap" | "reset" | "unexplained";

/** What the timeline makes of the log, for the slices. Instants are corrected time; what an event tells of is done when it is told. */
interface Events {
  /** They are in force from now on. */
  parameters: { parameters: Parameters };
  /** Settled time of the booth. */
  time: { settled: Settled };
  /** A bay's stage is final. `tag`: the bay's; null: the united stage of a booth with several. */
  stage_closed: { bay: number; tag: TagName | null; stage: ClosedStage; next: Mode };
  /** A cycle that counts. */
  cycle_ended: { end: EpochMs };
  /** A good reading with a role, once its instant is over. */
  reading: { reading: PendingReading; role: TagRole };
  /** A counter went on, by `amount` of the figure's unit, or did what no counter does. */
  count: { tag: TagName; role: TagRole | undefined; amount: number; as: CountKind; from: number; to: number };
  /** The PLC's own minutes of a filter were read. */
  minutes: {
    filter: FilterType;
    minutes: number;
    /** The reading before was good and is this old at most: the fall happened just now. */
    seen: boolean;
    /** Last instant before, at which the counter was known. */
    known_until: EpochMs;
    fell: boolean;
    /** The PLC lost its memory: not a change. */
    lost: boolean;
  };
  reset_pressed: { filter: FilterType };
  /** Counters fell with a restart of the PLC. */
  memory_lost: { tags: TagName[] };
  /** A bay's mode was read well. */
  mode_read: { bay: BayState; raw: string };
  /** No further record belongs to the present instant. */
  instant_over: object;
  /** Time has passed for that bay. */
  bay_passed: { bay: BayState };
  /** It has for all of them. `jump_ms`: so much of it is a wall clock that was put forward. */
  passed: { jump_ms: Milliseconds };
  /** A machine worked, `rate` in a millisecond. `metered`: a meter counts what it took. */
  work: { machine: Machine; rate: number; from: EpochMs; to: EpochMs; metered: boolean };
  /** All of the present instant is told: what falls due by it comes now. */
  due: object;
  /** A reading came with the time at which its source took it; `latest` still has the one before it. */
  source_time: { reading: Reading };
  /** A clock record came; the clock is still as it was. */
  clock_record: { record: ClockRecord };
  /** What only acquisition saw. */
  noticed: { record: EventRecord };
  /** A person says that a filter was changed. */
  entry: { record: Stored<FilterService> };
  /** A person withdraws an entry. */
  void: { record: VoidRecord };
}

export type EventOf<K extends keyof Events> = DeepReadonly<Events[K]> & { readonly kind: K };
export type TimelineEvent = { [K in keyof Events]: EventOf<K> }[keyof Events];

/** A fact without what it takes over from the record whose folding makes it. */
export type NewFact = Fact extends infer F ? (F extends Fact ? Pick<F, "kind" | "value" | "quality"> : never) : never;

/** What the timeline works on: its own state, the record under its feet; it writes stages and cycles, and tells the slices. */
export interface Fold {
  readonly state: TimelineState;
  readonly record: Stored<LogRecord>;
  fact(fact: NewFact): void;
  tell(event: TimelineEvent): void;
}

/** Something that shouldn't be. */
export interface Incident {
  tag_name: TagName;
  check: string;
  logic: Readonly<Record<string, TagValue>>;
  reason: string;
  /** Absent: a warning. */
  severity?: "info" | "warning" | "error";
}

/** What a check found; the incidents are made of it. */
export type Finding =
  | { readonly kind: "wrong"; readonly incident: Incident; readonly at?: EpochMs }
  | { readonly kind: "right"; readonly check: string; readonly tag_name: TagName }
  /** What holds until its tag says otherwise goes on without a further record. */
  | { readonly kind: "lasts"; readonly check: string; readonly tag_name: TagName }
  /** One reading is proof enough: it is over now. */
  | { readonly kind: "over"; readonly check: string; readonly tag_name: TagName };

/**
 * What a slice works on while it folds an event: what it remembers itself, which nobody else writes, and the timeline, with
 * such slices as it names in `Seen`, to look at. Slices fold an event one after the other: those before it have done so.
 */
export interface SliceFold<Own, Seen = unknown> {
  readonly own: Own;
  readonly seen: DeepReadonly<TimelineState & Seen>;
  fact(fact: NewFact): void;
  finding(finding: Finding): void;
}

/** A part of what the fold remembers, with what it makes of the events that it listens to. */
export type Slice<Own, Seen = unknown> = {
  readonly [K in TimelineEvent["kind"]]?: (fold: SliceFold<Own, Seen>, event: EventOf<K>) => void;
};

type Finder = Pick<SliceFold<unknown>, "finding">;

/** `at`: when it fell due, where that was before the present instant. */
export function report(fold: Finder, incident: Incident, at?: EpochMs): void {
  fold.finding(at === undefined ? { kind: "wrong", incident } : { kind: "wrong", incident, at });
}

/** A check was made. */
export function judge(fold: Finder, wrong: boolean, incident: Incident): void {
  if (wrong) report(fold, incident);
  else fold.finding({ kind: "right", check: incident.check, tag_name: incident.tag_name });
}
