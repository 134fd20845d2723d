import type { Mode } from "../domain/booth.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { highest } from "./combine.ts";
import { bridgeMs } from "./coverage.ts";
import { peek } from "./fold.ts";
import { isNewStart } from "./stage-fact.ts";
import type { BayState, DeriveState, FactDraft, OpenStage } from "./state.ts";

/** A stage of the booth, closed or not. */
export interface StageSpan {
  readonly mode: Mode;
  readonly raw: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
  readonly is_new_start: boolean;
  readonly uncertain_ms: Milliseconds;
}

export interface Tail {
  /** Stages that are not facts yet, oldest first; the last may be open. Time after the last one's end has no data. */
  readonly stages: readonly StageSpan[];
  /** Provisional facts of what is complete but not yet final. */
  readonly facts: readonly FactDraft[];
  /** The state after the present instant. */
  readonly state: DeriveState;
}

/** What follows the booth's stage facts: an open stage counts up to min(now, last good reading + bridge). */
export function tailOf(state: DeriveState, nowMs: EpochMs): Tail {
  const { state: peeked, facts } = peek(state, nowMs);
  const written = facts
    .filter((fact) => fact.kind === "m")
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
