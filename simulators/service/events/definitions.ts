import type { BoothFigures } from "../figures/booth.ts";
import { clip, type Span } from "../base/span.ts";
import type { Calendar } from "../figures/summary.ts";
import { periodFigures } from "./figures.ts";
import { endedPeriods, type EvaluationPeriod, FINAL_MS, periodOf } from "./periods.ts";
import { holds, type Rule, spansOfRules } from "./rules.ts";

/** The condition of an event definition. */
export interface Definition {
  readonly event_type: "tag" | "aggregate";
  readonly evaluation_period: EvaluationPeriod;
  readonly min_duration_ms: number;
  readonly rules: readonly Rule[];
  /** Start of the present rules. Periods that had ended by then are unchanged. */
  readonly rules_since: number;
}

export interface FoundEvent extends Span {
  /** The local day or week in which the event started. */
  readonly period: Span;
}

interface EvaluatedBooth {
  readonly figures: BoothFigures;
  readonly calendar: Calendar;
}

/**
 * Returns a definition's events of one booth. For tags: each span of at least min_duration in which all rules hold
 * without a gap. For aggregates: each complete period whose figures satisfy the rules. A period without data has no
 * event.
 */
export function eventsOf(definition: Definition, { figures, calendar }: EvaluatedBooth): FoundEvent[] {
  const { event_type, evaluation_period, min_duration_ms, rules, rules_since } = definition;
  const { tz } = calendar;
  const first = Math.max(rules_since, figures.stages[0]?.start ?? figures.now);
  if (event_type === "aggregate") {
    const periods = endedPeriods(tz, evaluation_period, { from: first, until: figures.now - FINAL_MS });
    return periods
      .filter((period) => fits({ figures, calendar }, rules, period))
      .map((period) => ({ ...period, period }));
  }
  const start = periodOf(tz, evaluation_period, rules_since).start;
  return clip(spansOfRules(figures.log, rules), { start, end: Infinity })
    .filter((span) => span.end - span.start >= min_duration_ms)
    .map((span) => ({ ...span, period: periodOf(tz, evaluation_period, span.start) }));
}

function fits({ figures, calendar }: EvaluatedBooth, rules: readonly Rule[], period: Span): boolean {
  const found = periodFigures(figures, calendar, period);
  return found !== undefined && rules.every((rule) => found[rule.tag] !== null && holds(rule, found[rule.tag]));
}
