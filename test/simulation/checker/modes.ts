import { wireNameOf } from "../../../src/domain/booth.ts";
import type { Truth } from "../../../simulators/plc/model/truth.ts";
import type { Span } from "../outcome.ts";
import type { OracleStage } from "./oracle.ts";
import type { Sight } from "./sight.ts";
import { isHeldOver } from "./spacings.ts";
import { common, overlaps, spanText, without } from "./spans.ts";

/** Durations have four decimals of a minute. The sum over a window has this error at most. */
const ROUNDING_MIN = 0.01;

/** Checks that the service's time line is true during observed time, with each transition by the next poll. */
export function modeFaults(
  { stages }: Pick<Truth, "stages">,
  shown: readonly OracleStage[],
  { blind, slack_ms, spacings }: Pick<Sight, "blind" | "slack_ms" | "spacings">,
): string[] {
  return stages.flatMap(({ mode, start, end }) => {
    const sure = { start: start + slack_ms, end: end - slack_ms };
    if (sure.start >= sure.end) return [];
    return without(sure, blind).flatMap((span) => {
      const others = shown
        .filter((stage) => overlaps(stage, span) && stage.mode !== wireNameOf(mode))
        .filter((stage) => !isHeldOver({ mode: stage.mode, ...common(stage, span) }, stages, spacings));
      return [
        ...others.map((stage) => `${spanText(span)}: ${mode} in truth, the service shows ${stage.mode}`),
        ...untold(span, shown).map((hole) => `${spanText(hole)}: ${mode} in truth, the service shows nothing`),
      ];
    });
  });
}

/** Returns the parts of a span that no stage covers. */
function untold(span: Span, shown: readonly OracleStage[]): readonly Span[] {
  // Answers are in whole seconds.
  return without(span, shown).filter(({ start, end }) => end - start > 1_000);
}

/** Checks that the durations of all modes, including no data, add up to the window. */
export function minutesFaults(minutes: Readonly<Record<string, number>>, { start, end }: Span): string[] {
  const sum = Object.values(minutes).reduce((all, value) => all + value, 0);
  const window = (end - start) / 60_000;
  return Math.abs(sum - window) <= ROUNDING_MIN ? [] : [`modes make ${sum} minutes of a window of ${window}`];
}
