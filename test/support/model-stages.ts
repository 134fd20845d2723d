import { boothFor } from "../../simulators/plc/start.ts";
import { standardCycle } from "../../simulators/plc/scenarios/standard-cycle.ts";
import type { StageTruth } from "../../simulators/plc/model/truth.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { EpochMs, Milliseconds } from "../../src/domain/units.ts";
import { T0 } from "./booth.ts";
import { PLAIN } from "./parameters.ts";

const CODES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(PLAIN.modes).map(([code, mode]) => [mode, Number(code)]),
);

/** What a booth's model did from T0 on, by its own time, which no clock of any box has a part in. */
export function modelStages(length: Milliseconds): readonly StageTruth[] {
  const profile = findProfile("click-booth");
  const identity = { plc_serial: "ABCD-123-123" };
  return boothFor({ profile, scenario: standardCycle, seed: 1, start: T0, identity }).truth(T0, T0 + length).stages;
}

/** The mode code that the model's PLC shows `ms` after T0. */
export function codeAt(stages: readonly StageTruth[], ms: Milliseconds): number {
  const stage = stages.find(({ end }) => end > T0 + ms) ?? stages.at(-1);
  return CODES[stage?.mode ?? ""] ?? NaN;
}

interface Span {
  readonly mode: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/** Whether the spans that overlap the window are the model's, each border between them within `poll_ms` of its own. */
export function areTrue(
  spans: readonly Span[],
  stages: readonly StageTruth[],
  within: { readonly from: EpochMs; readonly to: EpochMs; readonly poll_ms: Milliseconds },
): boolean {
  const inside = ({ start, end }: Span): boolean => start < within.to && end > within.from;
  const [derived, real] = [spans.filter(inside), stages.filter(inside)];
  const isNear = real.slice(1).every(({ start }, index) => {
    const late = (derived[index + 1]?.start ?? NaN) - start;
    return late >= 0 && late <= within.poll_ms;
  });
  return isNear && derived.map(({ mode }) => mode).join() === real.map(({ mode }) => mode).join();
}
