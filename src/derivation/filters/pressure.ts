import { FILTER_TYPES, type FilterType } from "../../domain/booth.ts";
import { inFigureUnit } from "../../domain/parameters.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import { tagsWithRole, tagWithRole } from "../parameters.ts";
import { addSheetDrop } from "../sheet.ts";
import type { DeriveState, Installation, OpenStage, PressureState, Sampled } from "../state.ts";
import { withAndWithout } from "./installation.ts";
import { isOverPressure, startOveruse } from "./overuse.ts";

/** Time after the start of spraying at which the pressure drop is stable. */
const SETTLING_MS: Milliseconds = 60_000;
/** Shortest part of a stage from which a drop is computed. */
const ENOUGH_MS: Milliseconds = 180_000;
/** Fan speed in % from which drops can be compared. */
const FULL_FANS = 95;
const BASELINE_STAGES = 3;
/** Maximum number of samples kept per tag. A stage has some dozens; the limit bounds the state if a sensor is faulty. */
const MAX_SAMPLES = 600;

/** Notes the pressure drops and fan speeds of this instant. They are judged at the end of the spray stage. */
export function samplePressures({ pending, parameters, samples, clock, bays, booth }: DeriveState): void {
  const isSpray = (stage: OpenStage | null | undefined): boolean => stage?.mode === "spray";
  for (const { tag, value, quality } of pending) {
    const sensor = parameters?.tags[tag];
    if (sensor?.role !== "filter_pressure" && sensor?.role !== "fan_speed") continue;
    const sampled = (samples[tag] ??= []);
    const isKnown = quality !== "bad" && typeof value === "number";
    sampled.push([clock.now, isKnown ? inFigureUnit(value, sensor) : null]);
    if (sampled.length > MAX_SAMPLES) sampled.shift();
    const isSpraying = isSpray(booth?.open) || bays.some(({ open, closed }) => isSpray(open) || closed.some(isSpray));
    // Keeps only the present value outside of spray stages.
    if (!isSpraying) sampled.splice(0, sampled.length - 1);
  }
}

interface Span {
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/**
 * Adds the pressure drop of a spray stage of the booth to each fitted filter that has a sensor. The stage must be final (no longer changed
 * by later records).
 */
export function endSpray(state: DeriveState, span: Span): void {
  const { parameters, samples } = state;
  if (parameters === null) return;
  const fans = tagWithRole(parameters, "fan_speed");
  for (const type of FILTER_TYPES) {
    const [tag] = tagsWithRole(parameters, "filter_pressure", type);
    const measured = tag === undefined ? null : medianDrop(samples, { tag, fans }, span);
    if (measured === null) continue;
    const { pascal, highest, ms } = measured;
    const baseline = parameters.filters[type]?.baseline_pa ?? null;
    enterDrop(state, type, { drop: { end: span.end, pascal }, baseline });
    addSheetDrop(state, type, [span.end, highest, pascal, ms]);
  }
  for (const sampled of Object.values(samples)) {
    while (sampled[1] !== undefined && sampled[1][0] <= span.end) sampled.shift();
  }
}

/** Returns median over time and highest of the drops at stable, full fan speed; null: such drops cover less than 3 min. */
function medianDrop(
  samples: DeriveState["samples"],
  { tag, fans }: { tag: TagName; fans: TagName | undefined },
  { start, end }: Span,
): { readonly pascal: number; readonly highest: number; readonly ms: Milliseconds } | null {
  const pieces = valuesIn(samples[tag], { start: start + SETTLING_MS, end }).flatMap((piece) => {
    if (fans === undefined) return [piece];
    const full = valuesIn(samples[fans], piece).filter(({ value }) => value >= FULL_FANS);
    return full.map((part) => ({ ...part, value: piece.value }));
  });
  const total = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  if (total < ENOUGH_MS) return null;
  let passed = 0;
  const sorted = pieces.sort((a, b) => a.value - b.value);
  const median = sorted.find((piece) => {
    passed += piece.end - piece.start;
    return passed * 2 >= total;
  });
  const highest = sorted.at(-1);
  return median && highest ? { pascal: median.value, highest: highest.value, ms: total } : null;
}

/** Returns the good values inside the span, each with the time for which it was valid. */
function valuesIn(samples: readonly Sampled[] = [], span: Span): (Span & { readonly value: number })[] {
  return samples.flatMap(([at, value], index) => {
    const start = Math.max(at, span.start);
    const end = Math.min(samples[index + 1]?.[0] ?? Infinity, span.end);
    return value === null || end <= start ? [] : [{ start, end, value }];
  });
}

/** Adds a drop to the filter that was in at the end of the stage. `baseline`: the drop of the clean filter, if the parameters have it. */
function enterDrop(
  { filters }: DeriveState,
  type: FilterType,
  { drop, baseline }: { drop: PressureState["drops"][number]; baseline: number | null },
): void {
  for (const { current, former, reported } of withAndWithout(filters[type])) {
    const filter = drop.end > current.installed_at ? current : reported ? null : former;
    if (filter === null) continue;
    const { pressure } = filter;
    if (pressure.drops.length === 0) pressure.baseline = baseline;
    pressure.drops = [...pressure.drops, drop].slice(-BASELINE_STAGES);
    learnBaseline(pressure);
    if (isOverPressure(filter)) startOveruse(filter, drop.end);
  }
}

/** Uses the median of the first three stages after the installation as the drop of the clean filter, if none is given. */
function learnBaseline(pressure: PressureState): void {
  if (pressure.baseline !== null || pressure.drops.length < BASELINE_STAGES) return;
  pressure.baseline = pressure.drops.map(({ pascal }) => pascal).sort((a, b) => a - b)[1] ?? null;
}

/** Moves drops that were measured after the installation of the new filter from the old filter to the new one. */
export function sharePressure(former: Installation, current: Installation): void {
  const { before = [], after = [] } = Object.groupBy(former.pressure.drops, ({ end }) =>
    end > current.installed_at ? "after" : "before",
  );
  former.pressure.drops = before;
  current.pressure.drops = [...after, ...current.pressure.drops].slice(-BASELINE_STAGES);
  learnBaseline(current.pressure);
}
