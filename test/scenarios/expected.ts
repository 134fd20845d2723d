import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { BoothState } from "../../simulators/plc/model/types.ts";
import type { Mode } from "../../src/domain/booth.ts";
import type { Window } from "../../src/store/port.ts";

/** A span in which no poll is answered. */
export interface Outage {
  readonly start: number;
  readonly end: number;
}

/**
 * The accuracy with which the start of a span is known. seen: to the next poll; lost: to the last poll before; back:
 * when the link is up again.
 */
export type Sight = "seen" | "lost" | "back";

export interface ExpectedSpan {
  readonly mode: Mode;
  readonly start: number;
  readonly end: number;
  readonly sight: Sight;
}

/** max(3 x poll interval, 15 s) at polls of up to 5 s. */
const BRIDGE_MS = 15_000;
const LIMIT_MS = 12 * 3_600_000;
/** A step of the hour meter: 0.1 min. */
const METER_STEP_MS = 6_000;

/**
 * Returns the booth's time line by the gap rule, computed from the model's truth alone. An outage longer than the
 * bridge is no_data, unless mode, cycle counter and hour meter prove that the mode continued.
 */
export function expectedSpans(booth: Booth, window: Window, more: readonly Outage[] = []): ExpectedSpan[] {
  const truth = booth.truth(window.start, window.end);
  const judged = united([...truth.outages, ...more]).map((outage) => {
    const bridged = outage.end - outage.start <= BRIDGE_MS;
    return { ...outage, proven: bridged || isProven(booth, outage) };
  });
  const borders = [...truth.stages, ...judged].flatMap(({ start, end }) => [start, end]);
  const cuts = [...new Set(borders)].filter((at) => at >= window.start && at <= window.end).sort((a, b) => a - b);
  const spans: ExpectedSpan[] = [];
  cuts.slice(0, -1).forEach((start, index) => {
    const end = cuts[index + 1] ?? start;
    const gap = judged.find((outage) => outage.start <= start && start < outage.end);
    const stage = truth.stages.find((one) => one.start <= start && start < one.end);
    const real = stage?.mode ?? "no_data";
    const mode = gap === undefined ? real : gap.proven ? booth.stateAt(gap.start - 1).mode : "no_data";
    const back = judged.some((outage) => outage.end === start);
    const sight = mode === "no_data" ? "lost" : back ? "back" : "seen";
    const last = spans.at(-1);
    if (last?.mode === mode) spans[spans.length - 1] = { ...last, end };
    else spans.push({ mode, start, end, sight });
  });
  return spans;
}

function isProven(booth: Booth, { start, end }: Outage): boolean {
  const before = booth.stateAt(start - 1);
  const after = booth.stateAt(end);
  const restarted = after.booted_at !== before.booted_at;
  if (before.mode !== after.mode || after.totals.cycles !== before.totals.cycles || end - start > LIMIT_MS)
    return false;
  if (restarted && (before.run.in_run || shows(after, "run_ms") < shows(before, "run_ms"))) return false;
  const { error, tolerance } = meterOver(booth, { start, end });
  return error <= tolerance;
}

/** Returns the hour meter's deviation from the expectation by the mode before the outage, and the tolerance. */
function meterOver(booth: Booth, { start, end }: Outage): { error: number; tolerance: number } {
  const before = booth.stateAt(start - 1);
  const after = booth.stateAt(end);
  const expected = booth.rules.mode_sets.runtime.includes(before.mode) ? end - start : 0;
  const error = Math.abs(after.totals.run_ms - before.totals.run_ms - expected);
  return { error, tolerance: Math.max((end - start) / 10, METER_STEP_MS) };
}

function shows({ totals, offsets }: BoothState, counter: "run_ms"): number {
  return totals[counter] + offsets[counter];
}

/** Merges outages that touch. */
function united(outages: readonly Outage[]): Outage[] {
  const out: Outage[] = [];
  for (const { start, end } of outages.toSorted((a, b) => a.start - b.start)) {
    const last = out.at(-1);
    if (last !== undefined && start <= last.end)
      out[out.length - 1] = { start: last.start, end: Math.max(last.end, end) };
    else out.push({ start, end });
  }
  return out;
}
