import type { FilterType } from "../../../src/domain/booth.ts";
import { type BoothLog, inUnitOfFigure, parametersAt, perLog, type RoleTag, samplesOf, tagsOfRole } from "./log.ts";
import { firstAfter } from "../base/search.ts";
import type { Span } from "../base/span.ts";

const SETTLING_MS = 60_000;
const ENOUGH_MS = 3 * 60_000;
const FULL_FANS = 95;
const BASELINE_STAGES = 3;

/** The filter's pressure drop in one spray stage: the median over time of what was read with settled, full fans. */
export interface StagePressure {
  readonly end: number;
  readonly pascal: number;
}

/** Returns a value per spray stage that has samples of at least 3 min. */
export function stagePressures(log: BoothLog, filter: FilterType, sprays: readonly Span[]): StagePressure[] {
  const tag = tagsOfRole(log, "filter_pressure").find((entry) => entry.tag.filter === filter);
  if (tag === undefined) return [];
  const fans = tagsOfRole(log, "fan_speed")[0];
  const known = knownPressures(log, filter);
  return sprays.flatMap((spray) => {
    let entry = known.get(spray.start);
    if (entry?.end !== spray.end) {
      entry = { end: spray.end, pascal: pascalIn(log, { sensor: tag, fans, spray }) };
      known.set(spray.start, entry);
    }
    return entry.pascal === undefined ? [] : [{ end: spray.end, pascal: entry.pascal }];
  });
}

/** By the stage's start: only the last stage of a log may come out longer the next time. */
const knownPressures = perLog(() => new Map<number, { readonly end: number; readonly pascal: number | undefined }>());

interface Measured {
  readonly sensor: RoleTag;
  readonly fans: RoleTag | undefined;
  readonly spray: Span;
}

function pascalIn(log: BoothLog, { sensor, fans, spray }: Measured): number | undefined {
  const settled = { start: spray.start + SETTLING_MS, end: spray.end };
  const pieces = held(log, sensor, settled).flatMap((piece) => {
    if (fans === undefined) return [piece];
    const full = held(log, fans, piece).filter((part) => part.value >= FULL_FANS);
    return full.map((part) => ({ ...part, value: piece.value }));
  });
  return weightedMedian(pieces);
}

interface Piece extends Span {
  readonly value: number;
}

/** The values that held inside the span, each for its time, in Pa or %. */
function held(log: BoothLog, { name, tag }: RoleTag, span: Span): Piece[] {
  const samples = samplesOf(log, name);
  const out: Piece[] = [];
  const first = Math.max(0, firstAfter(samples, span.start, (sample) => sample.time) - 1);
  for (let i = first; i < samples.length; i += 1) {
    const sample = samples[i];
    if (sample === undefined || sample.time >= span.end) break;
    const start = Math.max(sample.time, span.start);
    const end = Math.min(samples[i + 1]?.time ?? Infinity, span.end);
    if (sample.good && end > start) out.push({ start, end, value: inUnitOfFigure(Number(sample.value), tag) });
  }
  return out;
}

function weightedMedian(pieces: readonly Piece[]): number | undefined {
  const total = pieces.reduce((sum, piece) => sum + piece.end - piece.start, 0);
  if (total < ENOUGH_MS) return undefined;
  let seen = 0;
  for (const piece of [...pieces].sort((a, b) => a.value - b.value)) {
    seen += piece.end - piece.start;
    if (seen * 2 >= total) return piece.value;
  }
  return undefined;
}

/** The clean drop of an installation: the median of its first three stages, or what the parameters say; undefined until known. */
export function baselineOf(log: BoothLog, filter: FilterType, stages: readonly StagePressure[]): number | undefined {
  const given = parametersAt(log, stages[0]?.end ?? Infinity)?.filters[filter]?.baseline_pa;
  if (given !== undefined) return given;
  if (stages.length < BASELINE_STAGES) return undefined;
  const first = stages.slice(0, BASELINE_STAGES).map((stage) => stage.pascal);
  return first.sort((a, b) => a - b)[1];
}

/** End of the second of two consecutive stages above the limit, at or after `from`. */
export function pressureReaches(stages: readonly StagePressure[], limit: number, range: Span): number | undefined {
  const index = stages.findIndex((stage, i) => {
    const before = stages[i - 1];
    return (
      before !== undefined &&
      before.pascal > limit &&
      stage.pascal > limit &&
      stage.end < range.end &&
      stage.end >= range.start
    );
  });
  return stages[index]?.end;
}
