import { emptyState, type DeriveState } from "../derivation/state.ts";
import { openEndOf, type OpenEnd } from "../derivation/fold.ts";
import type { Milliseconds, StreamId, EpochMs } from "../domain/units.ts";
import type { BoothStage, StoreReader, Window } from "../store/port.ts";

/** Where a report gets its figures from. */
export interface Source {
  readonly reader: StoreReader;
  readonly stream: StreamId;
  /** Corrected time of the asking; every window is clipped to it. */
  readonly now_ms: EpochMs;
  /** A state newer than the reader's, where the caller has one. */
  readonly state?: DeriveState;
}

/** What a figure stands on. The three add up to the window clipped to now. */
export interface FigureCoverage {
  readonly observed_ms: Milliseconds;
  readonly inferred_ms: Milliseconds;
  readonly missing_ms: Milliseconds;
}

/** The booth's time line over a window: spans that touch, from its start to its clipped end. */
export interface TimeLine {
  readonly window: Window;
  readonly spans: readonly BoothStage[];
  readonly coverage: FigureCoverage;
  readonly state: DeriveState;
  readonly open_end: OpenEnd;
}

/** The fold's state, or that before the first record where the store has none. */
export function stateOf(source: Source): DeriveState {
  return source.state ?? source.reader.state(source.stream) ?? emptyState();
}

/**
 * Stages of the booth over the window, clipped to it and to now; what no stage covers is no_data. `is_new_start`
 * is true only where the start lies in the window, so that counts over adjacent windows add up.
 */
export function timeLineOf(source: Source, asked: Window): TimeLine {
  const window = { start: asked.start, end: Math.max(asked.start, Math.min(asked.end, source.now_ms)) };
  const state = stateOf(source);
  const open_end = openEndOf(state, source.now_ms);
  const spans: BoothStage[] = [];
  let inferred_ms = 0;
  let missing_ms = 0;
  let at = window.start;
  const add = (span: BoothStage): void => {
    const start = Math.max(span.start, at);
    const end = Math.min(span.end, window.end);
    if (end < start || (end === start && span.end !== span.start)) return;
    if (start > at) add(noData(at, start));
    const uncertain_ms = span.uncertain_ms === 0 ? 0 : share(span, end) - share(span, start);
    const is_new_start = span.is_new_start && span.start >= window.start && span.start < window.end;
    spans.push({ mode: span.mode, start, end, uncertain_ms, is_new_start });
    if (span.mode === "no_data") missing_ms += end - start;
    else inferred_ms += uncertain_ms;
    at = end;
  };
  for (const span of source.reader.stages(source.stream, window)) {
    // Nearly all of a year's 73,000 stages lie whole behind each other.
    if (span.start === at && span.end > at && span.end <= window.end && span.uncertain_ms === 0) {
      spans.push(span);
      if (span.mode === "no_data") missing_ms += span.end - at;
      at = span.end;
    } else add(span);
  }
  for (const span of open_end.stages) if (span.end >= window.start && span.start < window.end) add(span);
  // The silence that lasts since the open stage's last good reading is a stage in the making: its start counts as one.
  const open = open_end.stages.at(-1);
  const is_new_start = open?.end === at && open.mode !== "no_data";
  if (at < window.end) add({ ...noData(at, window.end), is_new_start });
  const length = window.end - window.start;
  const coverage = { observed_ms: length - inferred_ms - missing_ms, inferred_ms, missing_ms };
  return { window, spans, coverage, state, open_end };
}

/** Coverage of a window for what is told without one of its own: from the first known time on, where it is asked for "ever". */
export function coverageOf(source: Source, { start, end }: Window): FigureCoverage {
  const stages = [...source.reader.stages(source.stream, { start: 0, end }), ...openEndOf(stateOf(source), end).stages];
  const first = stages[0];
  const from = start > 0 ? start : Math.min(first?.start ?? end, end);
  return timeLineOf(source, { start: from, end }).coverage;
}

/**
 * Returns the part of the line's window from the booth's first reading on. A share of working hours must not count days before the
 * booth was installed. A silence later on is part of it: the booth was there.
 */
export function watchedWindow({ reader, stream }: Source, { window, spans, open_end }: TimeLine): Window {
  const isKnown = ({ mode }: Pick<BoothStage, "mode">): boolean => mode !== "no_data";
  const [first] = spans;
  if (first === undefined || isKnown(first)) return window;
  const isEarlier = (one: BoothStage): boolean => isKnown(one) && one.start < window.start;
  if (open_end.stages.some(isEarlier) || reader.stages(stream, { start: 0, end: window.start }).some(isEarlier))
    return window;
  return { start: spans.find(isKnown)?.start ?? window.end, end: window.end };
}

/** Uncertain time of the span up to `at`, pro rata, in whole milliseconds that add up over adjacent windows. */
function share({ start, end, uncertain_ms }: BoothStage, at: EpochMs): Milliseconds {
  return end === start ? 0 : Math.floor((Math.min(uncertain_ms, end - start) * (at - start)) / (end - start));
}

function noData(start: EpochMs, end: EpochMs): BoothStage {
  return { mode: "no_data", start, end, is_new_start: false, uncertain_ms: 0 };
}
