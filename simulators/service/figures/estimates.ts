import type { Parameters, TagRole } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { type BoothLog, type Cover, inUnitOfFigure, parametersAt, type Sample, samplesOf, tagsOfRole } from "./log.ts";
import type { Span } from "../base/span.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

const MICRO = 1_000_000;

/** The estimate of a figure without a meter. */
interface Kind {
  readonly load: TagRole;
  readonly meter: TagRole;
  /** Load units per millisecond: whole numbers, so that their sums are exact. */
  readonly effort: (parameters: Parameters, percent: number) => number;
  /** Millionths of a therm or kWh. */
  readonly micro: (effort: number) => number;
}

/** Burner size x modulation: 3.6e13 BTU/h x % x ms are a therm. */
const GAS: Kind = {
  load: "burner_modulation",
  meter: "gas",
  effort: ({ burner_size_btu_h = 0 }, percent) => burner_size_btu_h * percent,
  micro: (effort) => Math.floor(effort / 36_000_000),
};

/** Motor hp x speed cubed; a hp is 745.7 W. */
const ELECTRICITY: Kind = {
  load: "fan_speed",
  meter: "kwh",
  effort: ({ motor_size_hp = 0 }, percent) => motor_size_hp * percent * percent * percent,
  micro: (effort) => Math.floor((effort * 745.7) / 3_600_000_000),
};

interface Piece extends Span {
  readonly effort: number;
}

/** Estimated work by UTC hour. */
export interface Estimate {
  readonly kind: Kind;
  readonly hours: ReadonlyMap<number, readonly Piece[]>;
}

export function estimatesOf(log: BoothLog): { readonly gas: Estimate; readonly kwh: Estimate } {
  return { gas: estimateOf(log, GAS), kwh: estimateOf(log, ELECTRICITY) };
}

function estimateOf(log: BoothLog, kind: Kind): Estimate {
  const hours = new Map<number, Piece[]>();
  const sized = log.parameters.some(
    ({ value }) => value.burner_size_btu_h !== undefined || value.motor_size_hp !== undefined,
  );
  if (!sized) return { kind, hours };
  const first = firstMode(log);
  for (const { name, tag } of tagsOfRole(log, kind.load)) {
    const group = joined(log, tag.group);
    for (const piece of workOf(log, { kind, name, covered: group })) {
      for (let start = Math.max(first, piece.start); start < piece.end;) {
        const hour = Math.floor(start / HOUR_MS) * HOUR_MS;
        const end = Math.min(piece.end, hour + HOUR_MS);
        const pieces = hours.get(hour) ?? [];
        hours.set(hour, pieces);
        pieces.push({ start, end, effort: piece.effort });
        start = end;
      }
    }
  }
  return { kind, hours };
}

/** Returns the instant of the booth's first known mode, from which hours are counted. */
function firstMode(log: BoothLog): number {
  const firsts = tagsOfRole(log, "mode").map(({ name }) => samplesOf(log, name).find(({ good }) => good)?.time);
  return Math.min(...firsts.map((time) => time ?? Infinity));
}

/** The group's polled time, silences up to the bridge included. */
function joined(log: BoothLog, group: string): Span[] {
  const out: { start: number; end: number }[] = [];
  let before: Cover | undefined;
  for (const cover of log.covers.get(group) ?? []) {
    const last = out.at(-1);
    const bridge = bridgeMs(parametersAt(log, cover.from), group);
    if (last !== undefined && before?.boot === cover.boot && cover.mono_from - before.mono_to <= bridge)
      last.end = cover.to;
    else out.push({ start: cover.from, end: cover.to });
    before = cover;
  }
  return out;
}

function* workOf(
  log: BoothLog,
  { kind, name, covered }: { kind: Kind; name: string; covered: readonly Span[] },
): Generator<Piece> {
  const samples = samplesOf(log, name);
  let at = 0;
  for (const span of covered) {
    while ((samples[at + 1]?.time ?? Infinity) <= span.start) at += 1;
    for (let i = at; i < samples.length; i += 1) {
      const sample = samples[i];
      if (sample === undefined || sample.time >= span.end) break;
      const end = Math.min(samples[i + 1]?.time ?? Infinity, span.end);
      yield* byParameters(log, { kind, name, sample }, { start: Math.max(span.start, sample.time), end });
    }
  }
}

/** Splits a value's time at changes of the parameters. */
function* byParameters(
  log: BoothLog,
  { kind, name, sample }: { kind: Kind; name: string; sample: Sample },
  span: Span,
): Generator<Piece> {
  if (!sample.good || typeof sample.value !== "number") return;
  const { value } = sample;
  const cuts = log.parameters.map(({ time }) => time).filter((time) => time > span.start && time < span.end);
  const borders = [span.start, ...cuts, span.end];
  for (const [index, start] of borders.entries()) {
    const end = borders[index + 1];
    const parameters = parametersAt(log, start);
    if (end === undefined || end <= start || parameters === undefined) continue;
    const tag = parameters.tags[name];
    const level = tag === undefined ? value : inUnitOfFigure(value, tag);
    const percent = Math.min(100, Math.max(0, Math.round(level)));
    // The first load tag stands for the whole booth, as its configured size does.
    if (Object.keys(parameters.tags).find((tag) => parameters.tags[tag]?.role === kind.load) !== name) continue;
    if (Object.values(parameters.tags).some(({ role }) => role === kind.meter)) continue;
    const effort = kind.effort(parameters, percent);
    if (effort > 0) yield { start, end, effort };
  }
}

/** Returns the energy of the window: for each hour, the estimate up to its end minus the estimate up to its start. */
export function estimated({ kind, hours }: Estimate, window: Span): number {
  let sum = 0;
  for (const [hour, pieces] of hours) {
    if (hour + HOUR_MS <= window.start || hour >= window.end) continue;
    sum += microUntil(kind, pieces, window.end) - microUntil(kind, pieces, window.start);
  }
  return sum / MICRO;
}

function microUntil(kind: Kind, pieces: readonly Piece[], at: number): number {
  let effort = 0;
  for (const piece of pieces) effort += piece.effort * Math.max(0, Math.min(piece.end, at) - piece.start);
  return kind.micro(effort);
}
