import { type Mode, MODES_BY_PRIORITY } from "../domain/booth.ts";
import { pushStage } from "./stage-fact.ts";
import type { Fold, Slice } from "./state.ts";

/**
 * Settled time that all bays have reached, in the booth's mode: the one with the highest priority among its bays'.
 * Where it changes, the booth's stage (bay 0) becomes a fact; equal neighbours unite, without min_stage.
 */
export function unitedSlices(fold: Fold): Slice[] {
  const { bays, booth } = fold.state;
  const united: Slice[] = [];
  if (booth === null || bays.some((bay) => bay.open === null)) return united;
  const until = Math.min(...bays.map((bay) => bay.settled));
  // A bay that came later has no time before: the booth's time starts with the last one.
  booth.settled = Math.max(
    booth.settled,
    ...bays.map((bay) => bay.slices[0]?.from ?? 0).filter(() => booth.open === null),
  );
  while (booth.settled < until) {
    for (const bay of bays) while (bay.slices[0] !== undefined && bay.slices[0].to <= booth.settled) bay.slices.shift();
    const heads = bays.map((bay) => bay.slices[0]).filter((slice) => slice !== undefined);
    if (heads.length < bays.length) break;
    const mode = highest(heads.map((slice) => slice.mode));
    const slice = {
      mode,
      from: booth.settled,
      to: Math.min(...heads.map(({ to }) => to)),
      inferred: heads.some((head) => head.mode === mode && head.inferred),
    };
    booth.settled = slice.to;
    growBoothStage(fold, slice);
    united.push(slice);
  }
  return united;
}

export function highest(modes: readonly Mode[]): Mode {
  return MODES_BY_PRIORITY.find((mode) => modes.includes(mode)) ?? "no_data";
}

function growBoothStage(fold: Fold, { mode, from, to, inferred }: Slice): void {
  const { booth, bays } = fold.state;
  if (booth === null) return;
  const uncertain_ms = inferred ? to - from : 0;
  const { open } = booth;
  if (open?.mode === mode) {
    open.uncertain_ms += uncertain_ms;
    return;
  }
  if (open !== null) {
    pushStage(fold, 0, { ...open, end: from, end_reason: mode === "no_data" ? "gap" : "changed" });
  }
  const before = open === null ? null : mode === "no_data" ? open.mode : open.mode === "no_data" ? open.before : null;
  const raw = bays.map((bay) => bay.raw ?? "").join("/");
  booth.open = { mode, raw, start: from, uncertain_ms, uncertainty_ms: 0, before, entered: true };
}
