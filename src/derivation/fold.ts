import type { Mode } from "../domain/booth.ts";
import type { Parameters } from "../domain/parameters.ts";
import { KIND, type LogRecord, type Stored } from "../domain/record.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { bridgeMs, isIn } from "./parameters.ts";
import type { BayState, DeriveState, FactDraft, Fold, OpenStage } from "./state.ts";
import { forgetMode } from "./timeline/gaps.ts";
import { highest, isNewStart } from "./timeline/stages.ts";
import { advance, applyParameters, finish, takeRecord } from "./timeline/timeline.ts";

interface Step {
  readonly state: DeriveState;
  /** Facts in order. The store gives them the sequence numbers after the record's number. */
  readonly facts: FactDraft[];
}

/**
 * Folds one record of a booth's log. Records must be in the order of their sequence numbers. A record that was already folded has no
 * effect.
 *
 * The given state is consumed: the returned state is the same object, changed, so that a record takes only microseconds. A caller that
 * needs the earlier state keeps a JSON copy. The same records folded on that copy give the same facts.
 *
 * The files of `timeline/` turn records into stages and cycles. They call the filters, hours, checks and revisions with final time, counts
 * and readings. The readings of an instant may arrive one by one, so the instant is judged when the first later record arrives. Facts that
 * are due by elapsed time are made with the next record too, but carry the instant at which they were due.
 */
export function step(state: DeriveState, record: Stored<LogRecord>): Step {
  if (record.seq <= state.seq) return { state, facts: [] };
  state.seq = record.seq;
  const fold: Fold = { state, record, facts: [] };
  takeRecord(fold);
  const facts = state.clock.unsure
    ? fold.facts.map((fact): FactDraft => ({ ...fact, quality: "uncertain" }))
    : fold.facts;
  return { state, facts };
}

/**
 * Puts other parameters into force at the state's instant without a record. A rebuild with today's parameters needs this if it starts from
 * a saved state. Equal parameters change nothing. The given state is consumed.
 */
export function adoptParameters(state: DeriveState, parameters: Parameters): Step {
  const fold: Fold = {
    state,
    record: { kind: KIND.parameters, ...presentRecord(state), value: parameters },
    facts: [],
  };
  if (JSON.stringify(state.parameters) !== JSON.stringify(parameters)) applyParameters(fold, parameters);
  return fold;
}

function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/**
 * Copies the parts of a state that elapsed time can change. Shares the rest, which is most of the state and changes only with a record:
 * parameters, rules, the latest values, and all recent time except the newest.
 */
function copyOfTime(state: DeriveState): DeriveState {
  const { parameters, rules, latest, recent } = state;
  const copy = copyOf({ ...state, parameters: null, ...(rules && { rules: [] }), latest: {}, recent: null });
  const slices = [...recent.slices.slice(0, -1), ...copyOf(recent.slices.slice(-1))];
  const shared = { parameters, latest, recent: { slices, ends: [...recent.ends], increments: [...recent.increments] } };
  return { ...copy, ...shared, ...(rules && { rules }) };
}

/** Returns the part of a state that describes the booth at present, without the data that only entries, reports and rebuilds need. */
export function presentOf(state: DeriveState): DeriveState {
  const { sheet: _sheet, ...present } = state;
  const { parameters, recent } = present;
  const lastRun = recent.slices.findLastIndex(({ mode }) => isIn(parameters?.mode_sets.run, mode));
  return { ...present, rules: [], recent: { ...recent, slices: recent.slices.slice(lastRun < 0 ? -1 : lastRun) } };
}

/**
 * Returns the state and facts that would follow if no further record came. Completes the present instant and advances time to `nowMs`, as
 * far as polls cover it. The returned state is a copy that shares parts with the original, so no record may be folded on it. The facts are
 * provisional and are never logged.
 */
export function peek(state: DeriveState, nowMs: EpochMs): Step {
  return peekInto(copyOfTime(state), nowMs);
}

function peekInto(copy: DeriveState, nowMs: EpochMs): Step {
  const { boot, mono, now, offset } = copy.clock;
  const record = { kind: KIND.gap, ...presentRecord(copy), value: { from: 0, to: 0, reason: "" } };
  const fold: Fold = { state: copy, record, facts: [] };
  finish(fold);
  const groups = copy.bays.map(({ group }) => copy.groups[group]).filter((group) => group?.boot === boot);
  const reach = Math.max(mono, ...groups.map((group) => group?.to ?? mono));
  const at = Math.max(now, Math.min(nowMs, reach + offset));
  advance(fold, { new_boot: false, mono: Math.min(reach, mono + (at - now)), at, jump_ms: 0 });
  return fold;
}

/** Returns the common fields of a made-up record at the state's instant. The record isn't logged. */
function presentRecord({ clock: { boot, mono, now }, seq }: DeriveState) {
  return { boot, mono, at: now, tag: "", quality: "good", seq } as const;
}

/**
 * Prepares a state for records after a gap in the log. Everything is known up to the last poll. After that, the mode is unknown until its
 * next reading, because the missing records may contain a change. The given state stays unchanged.
 */
export function forgetModes(state: DeriveState): DeriveState {
  const { state: reached } = peekInto(copyOf(state), Number.MAX_SAFE_INTEGER);
  for (const bay of reached.bays) forgetMode(reached, bay);
  return reached;
}

/** A stage of the booth, open or closed. */
export interface StageSpan {
  readonly mode: Mode;
  readonly raw: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
  readonly is_new_start: boolean;
  readonly uncertain_ms: Milliseconds;
}

export interface OpenEnd {
  /** Stages that aren't facts yet, oldest first. The last one may be open. There is no data after its end. */
  readonly stages: readonly StageSpan[];
  /** Provisional facts about stages and cycles that are complete, but which later records may still change. */
  readonly facts: readonly FactDraft[];
  /** The state after the present instant is complete. */
  readonly state: DeriveState;
}

/**
 * Returns the stages after the booth's last stage fact. An open stage lasts until min(now, last good reading + bridge). The bridge is the
 * longest gap over which a value stays valid.
 */
export function openEndOf(state: DeriveState, nowMs: EpochMs): OpenEnd {
  const { state: peeked, facts } = peek(state, nowMs);
  const written = facts.flatMap((fact) => (fact.kind === KIND.stage && fact.value.bay === 0 ? [fact.value] : []));
  const spans = peeked.bays.map((bay) => baySpans(peeked, bay, nowMs));
  const rest = peeked.booth === null ? (spans[0] ?? []) : unite(peeked, spans);
  return { stages: [...written, ...rest], facts, state: peeked };
}

function baySpans(state: DeriveState, { open, closed, gap, good_until, group }: BayState, nowMs: EpochMs): StageSpan[] {
  if (open === null) return [];
  const known = gap?.expired === true ? nowMs : good_until + bridgeMs(state.parameters, group);
  const end = Math.max(open.start, Math.min(nowMs, known));
  return [...closed.map((stage) => spanOf(stage, stage.end)), spanOf(open, end)];
}

function spanOf(stage: OpenStage, end: EpochMs): StageSpan {
  const { mode, raw, start, uncertain_ms } = stage;
  return { mode, raw, start, end, is_new_start: isNewStart(stage), uncertain_ms };
}

/** Returns the stages of a booth with several bays: its open stage, then the stages that follow from the bays' stages that aren't final. */
function unite({ booth }: DeriveState, bays: readonly (readonly StageSpan[])[]): StageSpan[] {
  if (booth === null || booth.open === null) return [];
  const { open, settled } = booth;
  const united = [spanOf(open, settled)];
  const borders = new Set([settled, ...bays.flat().flatMap(({ start, end }) => [start, end])]);
  const instants = [...borders].filter((at) => at >= settled).sort((a, b) => a - b);
  instants.slice(0, -1).forEach((start, index) => {
    const end = instants[index + 1] ?? start;
    const modes = bays.map((spans) => spans.find((span) => span.start <= start && start < span.end)?.mode ?? "no_data");
    const mode = highest(modes);
    const last = united.at(-1);
    if (last?.mode === mode) united[united.length - 1] = { ...last, end };
    else united.push({ mode, raw: "", start, end, is_new_start: true, uncertain_ms: 0 });
  });
  return united;
}
