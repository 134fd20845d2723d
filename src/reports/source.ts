import { type OpenEnd, openEndOf } from "../derivation/fold.ts";
import { type DeriveState, emptyState } from "../derivation/state.ts";
import type { EpochMs, Milliseconds, StreamId } from "../domain/units.ts";
import type { BoothStage, StoreReader, Window } from "../store/port.ts";

/** The booth and the time of a report. */
export interface Source {
  readonly reader: StoreReader;
  readonly stream: StreamId;
  /** Corrected time of the request. Every window ends at this time at the latest. */
  readonly now_ms: EpochMs;
  /** A state that is newer than the reader's; absent: the reader's state is used. */
  readonly state?: DeriveState;
}

/** Observed, inferred and missing time of a figure. Together they are the window up to now. */
export interface FigureCoverage {
  readonly observed_ms: Milliseconds;
  readonly inferred_ms: Milliseconds;
  readonly missing_ms: Milliseconds;
}

/**
 * The booth's stages over a window: spans without holes, up to the window's end or now. All reports start from a timeline, so all figures
 * are clipped in the same way and have the same coverage. `open_end` has the stages after the last stage fact, provisional facts, and the
 * state at that end. `state` is the state after the newest record.
 */
export interface TimeLine {
  readonly window: Window;
  readonly spans: readonly BoothStage[];
  readonly coverage: FigureCoverage;
  readonly state: DeriveState;
  readonly open_end: OpenEnd;
}

/** Returns the fold's state, or the empty state if the store has none. */
export function stateOf(source: Source): DeriveState {
  return source.state ?? source.reader.state(source.stream) ?? emptyState();
}

/**
 * Returns the stages of the booth over the window, clipped to it and to now. Time without a stage is no_data. `is_new_start` is true only
 * if the start is in the window, so that counts over adjacent windows add up.
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
    // Handles nearly all of a year's 73,000 stages on a fast path: they are complete, certain, and without a gap before them.
    if (span.start === at && span.end > at && span.end <= window.end && span.uncertain_ms === 0) {
      spans.push(span);
      if (span.mode === "no_data") missing_ms += span.end - at;
      at = span.end;
    } else add(span);
  }
  for (const span of open_end.stages) if (span.end >= window.start && span.start < window.end) add(span);
  // Counts the start of the stage that the silence after the open stage's last good reading will become.
  const open = open_end.stages.at(-1);
  const is_new_start = open?.end === at && open.mode !== "no_data";
  if (at < window.end) add({ ...noData(at, window.end), is_new_start });
  const length = window.end - window.start;
  const coverage = { observed_ms: length - inferred_ms - missing_ms, inferred_ms, missing_ms };
  return { window, spans, coverage, state, open_end };
}

/** Returns the coverage of a window. A window that starts at 0 is taken from the first known time. */
export function coverageOf(source: Source, { start, end }: Window): FigureCoverage {
  const stages = [...source.reader.stages(source.stream, { start: 0, end }), ...openEndOf(stateOf(source), end).stages];
  const from = start > 0 ? start : Math.min(stages[0]?.start ?? end, end);
  return timeLineOf(source, { start: from, end }).coverage;
}

/**
 * Returns the part of the window that begins with the booth's first reading. A share of working hours must not count days before the booth
 * was installed. Later time without data is included.
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

/**
 * Returns the uncertain time of the span up to `at`, in proportion to its length. It is in whole milliseconds that add up over adjacent
 * windows.
 */
function share({ start, end, uncertain_ms }: BoothStage, at: EpochMs): Milliseconds {
  return end === start ? 0 : Math.floor((Math.min(uncertain_ms, end - start) * (at - start)) / (end - start));
}

function noData(start: EpochMs, end: EpochMs): BoothStage {
  return { mode: "no_data", start, end, is_new_start: false, uncertain_ms: 0 };
}
