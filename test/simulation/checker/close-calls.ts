import type { Truth } from "../../../simulators/plc/model/truth.ts";
import type { Span } from "../outcome.ts";
import { FULL_BAKE_MS, PAUSE_MS, RESTS } from "./runs.ts";
import type { Sight } from "./sight.ts";
import { latenessAt } from "./spacings.ts";
import { overlaps, united } from "./spans.ts";

/** A run with this much spraying needs no bake. */
const SPRAY_MS = 180_000;

/**
 * Returns the stages whose length is so close to a limit that polls can't tell on which side it is. The result of their
 * cycle is then undefined: 298 s of true baking may be seen as 300 s, and a pause of half a second between two bakes
 * may be missed.
 */
export function closeCalls(
  { stages, cycles }: Pick<Truth, "stages" | "cycles">,
  { slack_ms, spacings }: Pick<Sight, "slack_ms" | "spacings">,
): readonly Span[] {
  const isNear = (ms: number, limit: number, bounds: readonly number[]): boolean =>
    Math.abs(ms - limit) <= Math.max(...bounds.map((at) => latenessAt(spacings, at, slack_ms)));
  const isNearlyOf =
    (limit: number) =>
    (span: Span): boolean =>
      isNear(span.end - span.start, limit, [span.start, span.end]);
  const bakes = stages.filter(({ mode }) => mode === "bake").filter(isNearlyOf(FULL_BAKE_MS));
  const rests = united(stages.filter(({ mode }) => RESTS.includes(mode)));
  const pauses = rests.filter(isNearlyOf(PAUSE_MS));
  const sprays = cycles.filter((cycle) => {
    const own = stages.filter((stage) => stage.mode === "spray" && overlaps(stage, cycle));
    const bounds = own.flatMap(({ start, end }) => [start, end]);
    return cycle.bake_ms === 0 && isNear(cycle.spray_ms, SPRAY_MS, bounds);
  });
  const unseen = stages.filter(isNearlyOf(0));
  return [...bakes, ...pauses, ...sprays, ...unseen].map(({ start, end }) => ({ start, end }));
}
