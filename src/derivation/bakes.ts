import { type BakeCurve, type BakeFact, type BakePart, KIND } from "../domain/record.ts";
import { inFigureUnit, type Parameters, type TagParameters, type TagRole } from "../domain/parameters.ts";
import { MINUTE_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds, TagName } from "../domain/units.ts";
import { bridgeMs } from "./parameters.ts";
import {
  type BakeState,
  type BayState,
  type ClosedStage,
  type DeriveState,
  type Fold,
  type OpenStage,
  writeFact,
} from "./state.ts";

/** Maximum length of a stage's curve in minutes. A bake takes an hour; the limit bounds the state if the PLC stays in mode bake. */
const MAX_MINUTES = 24 * 60;
/** Maximum number of stages in one bake. The limit bounds the fact if the mode flaps. */
const MAX_PARTS = 40;
/** Temperatures are kept in tenths of a degree. */
const TENTHS = 10;

const SENSORS = { air: "air_temperature", metal: "metal_temperature" } as const satisfies Record<string, TagRole>;
type Sensor = keyof typeof SENSORS;
const SENSOR_NAMES: readonly Sensor[] = ["air", "metal"];

type EndReason = BakeFact["value"]["end_reason"];
type CurveStage = BakeState["stages"][number];
type RunningCurve = NonNullable<CurveStage["air"]>;

/** Cached sensors by parameters and bay, because each record needs them during a bake. */
const cachedSensors = new WeakMap<Parameters, Map<number, Readonly<Partial<Record<Sensor, TagName>>>>>();

/** Returns the temperature tags of a bay: its own, else the booth's. */
function sensorsOf(parameters: Parameters, bay: number): Readonly<Partial<Record<Sensor, TagName>>> {
  const bays = cachedSensors.get(parameters) ?? new Map<number, Readonly<Partial<Record<Sensor, TagName>>>>();
  const known = bays.get(bay);
  if (known !== undefined) return known;
  const tags = Object.entries(parameters.tags);
  const found: Partial<Record<Sensor, TagName>> = {};
  for (const name of SENSOR_NAMES) {
    const fitting = tags.filter(([, tag]) => tag.role === SENSORS[name]);
    const own = fitting.find(([, tag]) => tag.bay === bay) ?? fitting.find(([, tag]) => tag.bay === 0 || bay === 0);
    if (own !== undefined) found[name] = own[0];
  }
  cachedSensors.set(parameters, bays.set(bay, found));
  return found;
}

/** Begins a curve for each stage that the bay has entered at this instant. Must run after the modes of the instant are judged. */
export function followBakes(state: DeriveState): void {
  for (const { bay, open } of state.bays) {
    if (open === null || (open.mode !== "bake" && open.mode !== "cool_down")) continue;
    const known = state.bakes?.find((one) => one.bay === bay);
    // A cool-down belongs to the bake before it.
    if (known === undefined && open.mode === "cool_down") continue;
    const bake = known ?? { bay, open: null, stages: [] };
    if (known === undefined) (state.bakes ??= []).push(bake);
    if (stageAt(bake, open) === undefined) bake.stages.push({ mode: open.mode, start: open.start });
  }
}

function stageAt({ stages }: BakeState, { mode, start }: Pick<OpenStage, "mode" | "start">) {
  return stages.find((stage) => stage.start === start && stage.mode === mode);
}

/**
 * Adds the temperatures up to the present instant to the curves of the open stages. A good value is valid until the next reading of its tag,
 * while its group is covered. Must run before a temperature changes, and after the parameters or a group's coverage changed.
 */
export function passTemperatures(state: DeriveState): void {
  const { parameters, bakes } = state;
  if (parameters === null || bakes === undefined) return;
  for (const bake of bakes) {
    const open = state.bays.find(({ bay }) => bay === bake.bay)?.open;
    const stage = open ? stageAt(bake, open) : undefined;
    if (stage === undefined) continue;
    const sensors = sensorsOf(parameters, bake.bay);
    for (const name of SENSOR_NAMES) {
      const tag = sensors[name];
      if (tag !== undefined) passCurve(state, stage, { name, tag, parameters });
    }
  }
}

function passCurve(
  { clock, groups, latest }: DeriveState,
  stage: CurveStage,
  { name, tag, parameters }: { name: Sensor; tag: TagName; parameters: Parameters },
): void {
  const sensor = parameters.tags[tag];
  const group = groups[sensor?.group ?? ""];
  const { boot, mono, now } = clock;
  const curve = (stage[name] ??= { boot, mono: mono - (now - stage.start), low: [], high: [], known: [] });
  if (curve.boot !== boot) Object.assign(curve, { boot, mono });
  if (group?.boot !== boot) return;
  const from = Math.max(group.from, curve.mono);
  const end = Math.min(mono, group.to);
  if (end <= from) return;
  curve.mono = end;
  const reading = latest[tag];
  if (reading === undefined || reading.quality === "bad" || typeof reading.value !== "number") return;
  if (!Number.isFinite(reading.value)) return;
  const to = now - (mono - end);
  const value = Math.round(inFigureUnit(reading.value, sensor) * TENTHS);
  extend(curve, value, { from: Math.max(0, to - (end - from) - stage.start), to: to - stage.start });
}

/** Adds a value that was valid from `from` to `to`, ms since the start of the curve. */
function extend(curve: RunningCurve, value: number, { from, to }: { from: Milliseconds; to: Milliseconds }): void {
  const { low, high, known } = curve;
  for (let minute = Math.floor(from / MINUTE_MS); minute * MINUTE_MS < to && minute < MAX_MINUTES; minute += 1) {
    while (known.length <= minute) {
      low.push(null);
      high.push(null);
      known.push(0);
    }
    low[minute] = Math.min(low[minute] ?? value, value);
    high[minute] = Math.max(high[minute] ?? value, value);
    const ms = Math.min(to, (minute + 1) * MINUTE_MS) - Math.max(from, minute * MINUTE_MS);
    known[minute] = (known[minute] ?? 0) + ms;
  }
}

/** Adds a stage that can no longer change to the bay's bake. */
export function leaveBakeStage(fold: Fold, bay: BayState, stage: ClosedStage): void {
  const { state } = fold;
  const { mode, start, end } = stage;
  const bake = state.bakes?.find((one) => one.bay === bay.bay);
  if (bake === undefined) return;
  if (mode === "no_data" && bake.open !== null) bake.open.pause_ms += end - start;
  if (mode !== "bake" && mode !== "cool_down") return;
  const mine = bake.stages.filter((one) => one.start >= start && one.start < end && one.mode === mode);
  bake.stages = bake.stages.filter((one) => one.start >= end);
  if (bake.open === null && mode === "cool_down") return;
  const parts: BakePart[] = [];
  const open = (bake.open ??= { start, end, bake_ms: 0, no_data_ms: 0, pause_ms: 0, uncertain: false, parts });
  open.end = end;
  open.no_data_ms += open.pause_ms;
  open.pause_ms = 0;
  open.uncertain ||= stage.uncertain_ms > 0;
  if (mode === "bake") open.bake_ms += end - start;
  for (const [nth, one] of (mine.length > 0 ? mine : [{ mode, start }]).entries()) {
    const until = mine[nth + 1]?.start ?? end;
    open.parts.push(
      partOf(state, bay, { stage: { ...one, start: nth === 0 ? start : one.start }, from: one.start, end: until }),
    );
  }
  // Writes the bake at once if no rule of runs will end it: mode bake isn't in the run set, or the bake has too many stages.
  if (stage.end_reason === "restart") endBake(fold, bay, "restart");
  else if (bay.run === null || open.parts.length >= MAX_PARTS) endBake(fold, bay, "run");
}

/** Returns a part of a bake. `from`: the start of the curves, which is the part's start unless a short earlier stage was merged into it. */
function partOf(
  { parameters }: DeriveState,
  { bay }: BayState,
  { stage, from, end }: { stage: CurveStage; from: EpochMs; end: EpochMs },
): BakePart {
  const { mode, start } = stage;
  const sensors = parameters === null ? {} : sensorsOf(parameters, bay);
  const curves: Partial<Record<Sensor, BakeCurve>> = {};
  for (const name of SENSOR_NAMES) {
    const sensor = parameters?.tags[sensors[name] ?? ""];
    const running = stage[name];
    if (sensor === undefined && running === undefined) continue;
    const slack_ms = bridgeMs(parameters, sensor?.group ?? "");
    const lists = curveOf(running, { length: end - start, late_ms: from - start, slack_ms });
    curves[name] = { deadband: deadbandOf(sensor, running), ...lists };
  }
  return { mode, start, end, ...curves };
}

/** Returns the largest change of the temperature that isn't logged, in degrees Celsius. */
function deadbandOf(sensor: TagParameters | undefined, running: RunningCurve | undefined): number {
  const { deadband = 0, deadband_percent = 0, conversion } = sensor ?? {};
  const highest = Math.max(0, ...(running?.high ?? []).map((tenths) => Math.abs(tenths ?? 0) / TENTHS));
  return Math.max(deadband * (conversion?.scale ?? 1), (highest * deadband_percent) / 100);
}

/** Packs a curve. A minute's lowest value counts only if the temperature was known except for a bridge (see `bridgeMs`). */
function curveOf(
  { low, high, known }: Pick<RunningCurve, "low" | "high" | "known"> = { low: [], high: [], known: [] },
  { length, late_ms, slack_ms }: { length: Milliseconds; late_ms: Milliseconds; slack_ms: Milliseconds },
): Pick<BakeCurve, "low" | "high"> {
  const minutes = Math.min(MAX_MINUTES, Math.ceil(length / MINUTE_MS));
  const of = (list: readonly (number | null)[], isKnown: (minute: number) => boolean): (number | null)[] => {
    let before = 0;
    return Array.from({ length: minutes }, (_, minute) => {
      const value = list[minute] ?? null;
      if (value === null || !isKnown(minute)) return null;
      const step = value - before;
      before = value;
      return step;
    });
  };
  const isWhole = (minute: number): boolean => {
    const wanted = Math.min(MINUTE_MS, length - minute * MINUTE_MS);
    return (known[minute] ?? 0) + slack_ms + (minute === 0 ? late_ms : 0) >= wanted;
  };
  return { low: of(low, isWhole), high: of(high, () => true) };
}

/** Writes the bay's bake as a fact, if there is one. Its last stage must be final. */
export function endBake({ state, ...fold }: Fold, { bay }: BayState, end_reason: EndReason): void {
  const bake = state.bakes?.find((one) => one.bay === bay);
  const open = bake?.open ?? null;
  if (bake === undefined || open === null) return;
  bake.open = null;
  if (bake.stages.length === 0) {
    const others = state.bakes?.filter((one) => one !== bake) ?? [];
    if (others.length > 0) state.bakes = others;
    else delete state.bakes;
  }
  const { start, end, bake_ms, no_data_ms, parts, uncertain } = open;
  const tz = state.parameters?.tz ?? "UTC";
  const value = { bay, start, end, tz, bake_ms, no_data_ms, end_reason, parts };
  const isUncertain = uncertain || no_data_ms > 0 || end_reason === "no_data";
  writeFact({ state, ...fold }, { kind: KIND.bake, value, quality: isUncertain ? "uncertain" : "good" });
}
