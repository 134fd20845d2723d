import { FILTER_TYPES, type FilterType, type Mode } from "../../domain/booth.ts";
import { inFigureUnit } from "../../domain/parameters.ts";
import { tagsWithRole, tagWithRole } from "../parameters.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import {
  type FiltersFold,
  type FiltersState,
  type Installation,
  type PressureState,
  type Sampled,
  withAndWithout,
} from "./installation.ts";
import { isOverPressure, startOveruse } from "./overuse.ts";

/** The drop settles this long after spraying began. */
const SETTLING_MS: Milliseconds = 60_000;
/** Less than this of a stage says nothing. */
const ENOUGH_MS: Milliseconds = 180_000;
/** Share of full speed, %, at which drops can be compared. */
const FULL_FANS = 95;
const BASELINE_STAGES = 3;
/** A stage has some dozens; a raving sensor must not grow the state. */
const MAX_SAMPLES = 600;

/** Takes in what this instant's readings say of pressure drops and fans; judged when the spray stage is over. */
export function samplePressures({ own, seen }: FiltersFold): void {
  for (const { tag, value, quality } of seen.pending) {
    const parameters = seen.parameters?.tags[tag];
    if (parameters?.role !== "filter_pressure" && parameters?.role !== "fan_speed") continue;
    const samples = (own.samples[tag] ??= []);
    const isKnown = quality !== "bad" && typeof value === "number";
    samples.push([seen.clock.now, isKnown ? inFigureUnit(value, parameters) : null]);
    if (samples.length > MAX_SAMPLES) samples.shift();
    // Outside of spray only the value that holds is of use.
    if (!isSpraying(seen)) samples.splice(0, samples.length - 1);
  }
}

function isSpraying({ bays, booth }: FiltersFold["seen"]): boolean {
  const isSpray = (stage: { readonly mode: Mode } | null): boolean => stage?.mode === "spray";
  return isSpray(booth?.open ?? null) || bays.some(({ open, closed }) => isSpray(open) || closed.some(isSpray));
}

/** A spray stage of the booth is final: every fitted filter with a sensor gets its drop. */
export function endSpray(
  { own, seen: { parameters } }: FiltersFold,
  span: { readonly start: EpochMs; readonly end: EpochMs },
): void {
  if (parameters === null) return;
  const fans = tagWithRole(parameters, "fan_speed");
  for (const type of FILTER_TYPES) {
    const [tag] = tagsWithRole(parameters, "filter_pressure", type);
    const pascal = tag === undefined ? null : medianDrop(own, { tag, fans }, span);
    if (pascal === null) continue;
    const baseline = parameters.filters[type]?.baseline_pa ?? null;
    enterDrop(own, type, { drop: { end: span.end, pascal }, baseline });
  }
  for (const samples of Object.values(own.samples)) {
    while (samples[1] !== undefined && samples[1][0] <= span.end) samples.shift();
  }
}

/** The median over time of what was read with settled, full fans; null: under 3 min of it. */
function medianDrop(
  { samples }: FiltersState,
  { tag, fans }: { tag: TagName; fans: TagName | undefined },
  { start, end }: { start: EpochMs; end: EpochMs },
): number | null {
  const settled = { start: start + SETTLING_MS, end };
  const pieces = held(samples[tag], settled).flatMap((piece) => {
    if (fans === undefined) return [piece];
    const full = held(samples[fans], piece).filter(({ value }) => value >= FULL_FANS);
    return full.map((part) => ({ ...part, value: piece.value }));
  });
  const total = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  if (total < ENOUGH_MS) return null;
  let seen = 0;
  for (const piece of pieces.sort((a, b) => a.value - b.value)) {
    seen += piece.end - piece.start;
    if (seen * 2 >= total) return piece.value;
  }
  return null;
}

interface Piece {
  readonly start: EpochMs;
  readonly end: EpochMs;
  readonly value: number;
}

/** The good values that held inside the span, each for its time. */
function held(samples: readonly Sampled[] = [], span: { start: EpochMs; end: EpochMs }): Piece[] {
  return samples.flatMap(([at, value], index) => {
    const start = Math.max(at, span.start);
    const end = Math.min(samples[index + 1]?.[0] ?? Infinity, span.end);
    return value === null || end <= start ? [] : [{ start, end, value }];
  });
}

/** `baseline`: the clean drop where it is known beforehand. */
function enterDrop(
  { filters }: FiltersState,
  type: FilterType,
  { drop, baseline }: { drop: PressureState["drops"][number]; baseline: number | null },
): void {
  for (const { current, former, reported } of withAndWithout(filters[type])) {
    const mine = drop.end > current.installed_at ? current : reported ? null : former;
    if (mine === null) continue;
    const { pressure } = mine;
    if (pressure.drops.length === 0) pressure.baseline = baseline;
    pressure.drops = [...pressure.drops, drop].slice(-BASELINE_STAGES);
    learnBaseline(pressure);
    if (isOverPressure(mine)) startOveruse(mine, drop.end);
  }
}

/** Without a given one, the first three stages after the installation are what a clean filter is like. */
function learnBaseline(pressure: PressureState): void {
  if (pressure.baseline !== null || pressure.drops.length < BASELINE_STAGES) return;
  pressure.baseline = pressure.drops.map(({ pascal }) => pascal).sort((a, b) => a - b)[1] ?? null;
}

/** A change dated back takes the stages since then to the new filter. */
export function sharePressure(former: Installation, current: Installation): void {
  const since = former.pressure.drops.filter(({ end }) => end > current.installed_at);
  former.pressure.drops = former.pressure.drops.filter(({ end }) => end <= current.installed_at);
  current.pressure.drops = [...since, ...current.pressure.drops].slice(-BASELINE_STAGES);
  learnBaseline(current.pressure);
}
