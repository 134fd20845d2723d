import type { ModeSets } from "../../../src/domain/booth.ts";
import type { BoothLog } from "./log.ts";
import { clip, type Span, union } from "../base/span.ts";
import type { Stage } from "./stage.ts";
import { spansIn } from "./window.ts";

interface TimeLine {
  readonly log: BoothLog;
  readonly stages: readonly Stage[];
}

/** The booth's time in a named set, each moment by the modes that the set had then; before the first parameters by theirs. */
export function timeIn({ log, stages }: TimeLine, name: keyof ModeSets): readonly Span[] {
  const changes = log.parameters
    .map(({ time, value }) => ({ time, modes: value.mode_sets[name] }))
    .filter(({ modes }, i, all) => i === 0 || String(all[i - 1]?.modes) !== String(modes));
  const [only, ...more] = changes;
  if (only === undefined) return [];
  if (more.length === 0) return spansIn(stages, only.modes);
  const parts = changes.flatMap(({ time, modes }, i) => {
    const start = i === 0 ? -Infinity : time;
    return clip(spansIn(stages, modes), { start, end: changes[i + 1]?.time ?? Infinity });
  });
  return union(parts);
}
