import {
  type ClockReading,
  type ClockWatch,
  type Heard,
  startWatch,
  watchClock,
  type Watched,
  withHeard,
} from "../../src/acquisition/rules/clock-watch.ts";
import type { TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { LogRecord } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { boothFor } from "../../simulators/plc/start.ts";
import { standardCycle } from "../../simulators/plc/scenarios/standard-cycle.ts";
import type { StageTruth } from "../../simulators/plc/model/truth.ts";
import { findProfile } from "../../src/config/profile.ts";
import type { EpochMs, Milliseconds } from "../../src/domain/units.ts";
import { T0 } from "./booth.ts";
import { PLAIN } from "./parameters.ts";

/** The truth about a gateway with its own clock. Times are milliseconds since the boot. */
export interface ClockedLife {
  readonly parameters: Parameters;
  readonly boot: string;
  readonly length_ms: number;
  readonly poll_ms: number;
  /** Returns the mode code at a time. */
  readonly mode: (ms: number) => number;
  /** Returns the time that the wall clock shows. */
  readonly wall: (ms: number) => number;
  readonly kernel: (ms: number) => boolean;
  /** Returns the service's time minus mono, as known at that time; null: not known yet. */
  readonly service: (ms: number) => number | null;
  /** Mono at the first poll. Default: 0. */
  readonly mono0?: number;
}

/** Returns the taken entries of this life. The real clock watch reads the clock with each poll. */
export function clockedEntries(life: ClockedLife, take0 = 0): TakenEntry[] {
  const entries: TakenEntry[] = [];
  const mono0 = life.mono0 ?? 0;
  const when = (ms: number) => ({ boot: life.boot, mono: mono0 + ms, at: life.wall(ms) });
  const add = (entry: Record<string, unknown>): void => {
    entries.push({ ...entry, take: take0 + entries.length + 1, stream: "s" } as unknown as TakenEntry);
  };
  const record = (ms: number, kind: LogRecord["kind"], value: unknown): void =>
    add({ kind: "record", record: { kind, ...when(ms), tag: "", value, quality: "good" } });
  // With each poll, the gateway gets the service's time by HTTP and by an ack.
  let heard: readonly Heard[] = [];
  const reading = (ms: number): ClockReading => {
    const mono = mono0 + ms;
    const offset = life.service(ms);
    if (offset !== null)
      for (const source of ["http", "ack"] as const) heard = withHeard(heard, { source, mono, offset });
    return { mono, wall: life.wall(ms), kernel: life.kernel(ms), heard };
  };
  let watch: ClockWatch | null = null;
  let last: TagValue = null;
  for (let ms = 0; ms <= life.length_ms; ms += life.poll_ms) {
    const watched: Watched = watch === null ? startWatch(null, reading(ms)) : watchClock(watch, reading(ms));
    if (watched.value !== null) record(ms, "t", watched.value);
    if (watch === null) record(ms, "p", life.parameters);
    watch = watched.watch;
    const mode = life.mode(ms);
    add({
      kind: "poll",
      ...when(ms),
      group: "fast",
      answered: true,
      changes: mode === last ? [] : [["mode", mode, "good"]],
    });
    last = mode;
  }
  return entries;
}

const CODES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(PLAIN.modes).map(([code, mode]) => [mode, Number(code)]),
);

/**
 * Returns the true stages of a booth's model from T0 on, in the model's own time. They depend on no gateway's clock.
 */
export function modelStages(length: Milliseconds): readonly StageTruth[] {
  const profile = findProfile("click-booth");
  const identity = { plc_serial: "ABCD-123-123" };
  return boothFor({ profile, scenario: standardCycle, seed: 1, start: T0, identity }).truth(T0, T0 + length).stages;
}

/** Returns the mode code that the model's PLC shows `ms` after T0. */
export function codeAt(stages: readonly StageTruth[], ms: Milliseconds): number {
  const stage = stages.find(({ end }) => end > T0 + ms) ?? stages.at(-1);
  return CODES[stage?.mode ?? ""] ?? NaN;
}

interface Span {
  readonly mode: string;
  readonly start: EpochMs;
  readonly end: EpochMs;
}

/**
 * Checks that the stages that overlap the window match the model's, with each border within `poll_ms` of the true one.
 */
export function areTrue(
  spans: readonly Span[],
  stages: readonly StageTruth[],
  within: { readonly from: EpochMs; readonly to: EpochMs; readonly poll_ms: Milliseconds },
): boolean {
  const inside = ({ start, end }: Span): boolean => start < within.to && end > within.from;
  const derived = spans.filter(inside);
  const real = stages.filter(inside);
  const isNear = real.slice(1).every(({ start }, index) => {
    const late = (derived[index + 1]?.start ?? NaN) - start;
    return late >= 0 && late <= within.poll_ms;
  });
  return isNear && derived.map(({ mode }) => mode).join() === real.map(({ mode }) => mode).join();
}
