import type { Truth } from "../../../simulators/plc/model/truth.ts";
import type { Mode } from "../../../src/core/types/booth.ts";
import type { Span } from "../outcome.ts";
import { united } from "./spans.ts";

/** A bake as long as this is a full one; a pause as long as this ends a run; a run of this much spraying needs no bake. */
const FULL_BAKE_MS = 300_000;
const PAUSE_MS = 120_000;
const SPRAY_MS = 180_000;
const RESTS: readonly Mode[] = ["idle", "setback", "prep", "unknown"];

/**
 * Where a duration lies so near to a limit that polls can't tell on which side: what a cycle came to is then open, as its truth's
 * 298 s of baking may be seen as 300.
 */
export function closeCalls({ stages, cycles }: Pick<Truth, "stages" | "cycles">, slack_ms: number): readonly Span[] {
  const isNear = (ms: number, limit: number): boolean => Math.abs(ms - limit) <= slack_ms;
  const bakes = stages.filter(({ mode, start, end }) => mode === "bake" && isNear(end - start, FULL_BAKE_MS));
  const rests = united(stages.filter(({ mode }) => RESTS.includes(mode)));
  const pauses = rests.filter(({ start, end }) => isNear(end - start, PAUSE_MS));
  const sprays = cycles.filter(({ spray_ms, bake_ms }) => bake_ms === 0 && isNear(spray_ms, SPRAY_MS));
  return [...bakes, ...pauses, ...sprays].map(({ start, end }) => ({ start, end }));
}
