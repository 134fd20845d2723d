import type { EpochMs } from "../core/types/units.ts";
import type { BoothStage, Window } from "../ports.ts";

/**
 * A booth's closed stages in memory, by start: some 7 MB for the 73,000 of a year, of which a report gets its part without
 * a copy of any. They tile the booth's time, so their ends are in order too.
 */
export interface StageList {
  add(stage: BoothStage): void;
  /** Stages that overlap or touch the window. */
  within(window: Window): BoothStage[];
}

export function stageList(): StageList {
  const stages: BoothStage[] = [];
  return {
    add({ mode, start, end, is_new_start, uncertain_ms }) {
      const stage = { mode, start, end, is_new_start, uncertain_ms };
      const last = stages.at(-1);
      // One that replaces another came later than its place.
      if (last === undefined || last.start <= start) stages.push(stage);
      else
        stages.splice(
          firstWhere(stages, (one) => one.start > start),
          0,
          stage,
        );
    },
    within({ start, end }) {
      return stages.slice(
        firstEndingAt(stages, start),
        firstWhere(stages, (one) => one.start >= end),
      );
    },
  };
}

function firstEndingAt(stages: readonly BoothStage[], at: EpochMs): number {
  return firstWhere(stages, ({ end }) => end >= at);
}

/** Index of the first for which a condition holds that holds for all after it. */
function firstWhere(stages: readonly BoothStage[], holds: (stage: BoothStage) => boolean): number {
  let [low, high] = [0, stages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const stage = stages[middle];
    if (stage === undefined || holds(stage)) high = middle;
    else low = middle + 1;
  }
  return low;
}
