import type { Parameters } from "../domain/parameters.ts";
import { KIND, type LogRecord, type Stored } from "../domain/record.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { checksSlice } from "./checks/checks.ts";
import { filtersSlice } from "./filters/filters.ts";
import { hoursSlice, recentSlice } from "./hours.ts";
import { foldFinding, incidentsSlice } from "./incidents.ts";
import { revisionsSlice } from "./revisions.ts";
import { rulesSlice } from "./rules.ts";
import type { Finding, Slice, SliceFold, Fold, NewFact, TimelineEvent } from "./timeline/events.ts";
import type { DeriveState, FactDraft } from "./state.ts";
import { forgetMode } from "./timeline/gaps.ts";
import { advance, applyParameters, finish, takeRecord } from "./timeline/timeline.ts";
import type { Mode } from "../domain/booth.ts";
import { bridgeMs, isIn } from "./parameters.ts";
import { highest, isNewStart } from "./timeline/stages.ts";
import type { BayState, OpenStage } from "./timeline/state.ts";

interface Step {
  readonly state: DeriveState;
  /** In order; the store gives them the seqs right after the record's. */
  readonly facts: FactDraft[];
}

/** In the order in which they fold an event: where two write facts of it, that is the facts' order. */
const SLICES: readonly Slice<DeriveState, DeriveState>[] = [
  recentSlice,
  revisionsSlice,
  filtersSlice,
  hoursSlice,
  checksSlice,
  rulesSlice,
  incidentsSlice,
];

type Listener = (fold: Folding, event: TimelineEvent) => void;

const LISTENERS = new Map<TimelineEvent["kind"], Listener[]>();
for (const slice of SLICES) {
  for (const [kind, listener] of Object.entries(slice) as [TimelineEvent["kind"], Listener][]) {
    LISTENERS.set(kind, [...(LISTENERS.get(kind) ?? []), listener]);
  }
}

/** What timeline and slices work on in one step: the state is theirs as far as their types let them write it. */
class Folding implements Fold, SliceFold<DeriveState, DeriveState>, Step {
  readonly state: DeriveState;
  readonly own: DeriveState;
  readonly seen: DeriveState;
  readonly record: Stored<LogRecord>;
  readonly facts: FactDraft[] = [];

  constructor(state: DeriveState, record: Stored<LogRecord>) {
    this.state = state;
    this.own = state;
    this.seen = state;
    this.record = record;
  }

  fact({ kind, value, quality }: NewFact): void {
    const { boot, mono, at } = this.record;
    // A kind and its value belong together, which a type of all kinds can't say.
    this.facts.push({ kind, boot, mono, at, tag: "", value, quality } as FactDraft);
  }

  finding(finding: Finding): void {
    foldFinding(this, finding);
  }

  tell(event: TimelineEvent): void {
    const listeners = LISTENERS.get(event.kind);
    if (listeners === undefined) return;
    for (const listener of listeners) listener(this, event);
  }
}

/**
 * Folds one record of a booth's log in, in seq order. A seq already seen changes nothing.
 *
 * The state given is used up: the one returned is the same object, changed, so that a record costs microseconds.
 * Whoever needs the state before keeps a JSON copy; going on from such a copy gives the same facts.
 *
 * The timeline turns the record into events, and the slices fold each event as it comes. An instant is judged when the first
 * record after it arrives, as its readings may come one by one. What falls due by time alone comes with the next record too,
 * and carries the instant at which it fell due.
 */
export function step(state: DeriveState, record: Stored<LogRecord>): Step {
  if (record.seq <= state.seq) return { state, facts: [] };
  state.seq = record.seq;
  const fold = new Folding(state, record);
  takeRecord(fold);
  const { facts } = fold;
  if (state.clock.unsure) facts.forEach((fact, index) => (facts[index] = { ...fact, quality: "uncertain" }));
  return fold;
}

/**
 * Other parameters come into force at the state's instant without a record, as where a rebuild with today's begins with a
 * state that was made with those of then. The same ones change nothing. The state given is used up.
 */
export function adoptParameters(state: DeriveState, parameters: Parameters): Step {
  const fold = new Folding(state, { kind: KIND.parameters, ...present(state), value: parameters });
  if (JSON.stringify(state.parameters) !== JSON.stringify(parameters)) applyParameters(fold, parameters);
  return fold;
}

/** A copy of its own, but for what is in `shared`: that is taken over as it is. */
function copied<T>(value: T, shared: ReadonlySet<unknown>): T {
  if (typeof value !== "object" || value === null || shared.has(value)) return value;
  if (Array.isArray(value)) return value.map((one: unknown) => copied(one, shared)) as T;
  const copy = { ...value };
  for (const key in copy) copy[key] = copied(copy[key], shared);
  return copy;
}

/**
 * A copy in which time can go on. What only a record changes is the state's own, as most of a state is: parameters and rules, the
 * values read last, and of the last day and a half all but the newest time.
 */
function copyOfTime(state: DeriveState): DeriveState {
  const { parameters, rules, latest, recent } = state;
  const copy = copied(state, new Set<unknown>([parameters, rules, latest, recent]));
  const last = recent.slices.at(-1);
  const slices = last === undefined ? [] : [...recent.slices.slice(0, -1), { ...last }];
  copy.recent = { slices, ends: [...recent.ends], increments: [...recent.increments] };
  return copy;
}

/** What of a state says how the booth is now: what only entries dated back, reports and rebuilds go by isn't in it. */
export function presentOf(state: DeriveState): DeriveState {
  const { parameters, recent } = state;
  // Where the booth last ran, and since.
  const ran = recent.slices.findLastIndex(({ mode }) => isIn(parameters?.mode_sets.run, mode));
  return { ...state, rules: [], recent: { ...recent, slices: recent.slices.slice(ran < 0 ? -1 : ran) } };
}

/**
 * What could be said at `nowMs` if nothing further came: the present instant is taken for complete, and time goes on
 * as far as polls cover it. Works on a copy, which shares with the state what time doesn't change: it isn't to be folded on. Its facts
 * are provisional and are never logged.
 */
export function peek(state: DeriveState, nowMs: EpochMs): Step {
  return peekInto(copyOfTime(state), nowMs);
}

function peekInto(copy: DeriveState, nowMs: EpochMs): Step {
  const { boot, mono, now, offset } = copy.clock;
  const fold = new Folding(copy, { kind: KIND.gap, ...present(copy), value: NOTHING });
  finish(fold);
  const groups = copy.bays.map(({ group }) => copy.groups[group]).filter((group) => group?.boot === boot);
  const reach = Math.max(mono, ...groups.map((group) => group?.to ?? mono));
  const at = Math.max(now, Math.min(nowMs, reach + offset));
  advance(fold, { new_boot: false, mono: Math.min(reach, mono + (at - now)), at, jump_ms: 0 });
  return fold;
}

const NOTHING = { from: 0, to: 0, reason: "" };

/** A record that nobody logged, at the state's instant. */
function present({ clock: { boot, mono, now }, seq }: DeriveState) {
  return { boot, mono, at: now, tag: "", quality: "good", seq } as const;
}

/**
 * What comes next follows on records that are gone: up to the last poll all is known, then no mode until it is logged anew, as a change
 * of it may be among them. The state given stays as it is.
 */
export function forgetModes(state: DeriveState): DeriveState {
  const { state: reached } = peekInto(copied(state, new Set()), Number.MAX_SAFE_INTEGER);
  for (const bay of reached.bays) forgetMode(reached, bay);
  return reached;
}

/** A stage of the booth, closed or not. */
export interface StageSpan {
  readonly mode: Mode;
  readonly raw: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
  readonly is_new_start: boolean;
  readonly uncertain_ms: Milliseconds;
}

export interface OpenEnd {
  /** Stages that are not facts yet, oldest first; the last may be open. Time after the last one's end has no data. */
  readonly stages: readonly StageSpan[];
  /** Provisional facts of what is complete but not yet final. */
  readonly facts: readonly FactDraft[];
  /** The state after the present instant. */
  readonly state: DeriveState;
}

/** What follows the booth's stage facts: an open stage counts up to min(now, last good reading + bridge). */
export function openEndOf(state: DeriveState, nowMs: EpochMs): OpenEnd {
  const { state: peeked, facts } = peek(state, nowMs);
  const written = facts
    .filter((fact) => fact.kind === KIND.stage)
    .filter(({ value }) => value.bay === 0)
    .map(({ value }) => value);
  const spans = peeked.bays.map((bay) => baySpans(peeked, bay, nowMs));
  const rest = peeked.booth === null ? (spans[0] ?? []) : unite(peeked, spans);
  return { stages: [...written, ...rest], facts, state: peeked };
}

function baySpans(state: DeriveState, bay: BayState, nowMs: EpochMs): StageSpan[] {
  const { open } = bay;
  if (open === null) return [];
  const lasts = bay.gap?.expired === true ? nowMs : bay.good_until + bridgeMs(state.parameters, bay.group);
  const end = Math.max(open.start, Math.min(nowMs, lasts));
  return [...bay.closed.map((stage) => spanOf(stage, stage.end)), spanOf(open, end)];
}

function spanOf(stage: OpenStage, end: EpochMs): StageSpan {
  const { mode, raw, start, uncertain_ms } = stage;
  return { mode, raw, start, end, is_new_start: isNewStart(stage), uncertain_ms };
}

/** Several bays: the booth's open stage, then what the bays' own unsettled stages make of the rest. */
function unite({ booth }: DeriveState, bays: readonly (readonly StageSpan[])[]): StageSpan[] {
  const united: StageSpan[] = [];
  if (booth === null || booth.open === null) return united;
  united.push(spanOf(booth.open, booth.settled));
  const borders = bays.flat().flatMap(({ start, end }) => [start, end]);
  const instants = [...new Set([booth.settled, ...borders])].filter((at) => at >= booth.settled).sort((a, b) => a - b);
  instants.forEach((start, index) => {
    const end = instants[index + 1];
    if (end === undefined) return;
    const modes = bays.map((spans) => spans.find((span) => span.start <= start && start < span.end)?.mode ?? "no_data");
    const mode = highest(modes);
    const last = united.at(-1);
    if (last?.mode === mode) united[united.length - 1] = { ...last, end };
    else united.push({ mode, raw: "", start, end, is_new_start: true, uncertain_ms: 0 });
  });
  return united;
}
