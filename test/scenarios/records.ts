import { expect } from "vitest";
import { bakesTruth, daysTruth, type MinuteTruth } from "../../simulators/plc/model/records.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import { type BakeCurve, type BakeFact, type FilterDayFact, KIND } from "../../src/domain/record.ts";
import type { Source } from "../../src/reports/source.ts";
import type { Window } from "../../src/store/port.ts";

/** The accuracy to which records must equal the story's truth. */
export interface RecordAccuracy {
  readonly border_ms: number;
  readonly celsius: number;
}

/** A minute whose value is further than the accuracy from the truth, or is missing. */
interface Deviation {
  readonly sensor: string;
  readonly at: number;
  readonly truth: MinuteTruth;
  readonly low: number | null;
  readonly high: number | null;
}

/** Returns whether a fact's time is inside the window. */
function isInside({ start, end }: Window): (value: Window) => boolean {
  return (value) => value.start >= start && value.end <= end;
}

/** Compares the bakes and days of a story with the truth of its PLC. Only for stories without outages. */
export function judgeRecords(
  booth: Booth,
  { source, window }: { readonly source: Source; readonly window: Window },
  accuracy: RecordAccuracy,
): void {
  const { reader, stream } = source;
  const bakes = reader
    .facts(stream, KIND.bake, window)
    .map(({ value }) => value)
    .filter(isInside(window));
  const days = reader.facts(stream, KIND.filterDay, window).map(({ value }) => value);
  const truths = bakesTruth(booth, window.start, window.end);
  expect(bakes.map(({ bay, parts }) => [bay, parts.map(({ mode }) => mode)]).sort()).toEqual(
    truths.map(({ bay, parts }) => [bay, parts.map(({ mode }) => mode)]).sort(),
  );
  for (const truth of truths) {
    const bake = bakes.find((one) => one.bay === truth.bay && Math.abs(one.start - truth.start) <= accuracy.border_ms);
    expect(bake && Math.abs(bake.end - truth.end)).toBeLessThanOrEqual(accuracy.border_ms);
    expect(bake && Math.abs(bake.bake_ms - truth.bake_ms)).toBeLessThanOrEqual(2 * accuracy.border_ms);
    if (bake !== undefined) expect(deviationsOf(bake, truth, accuracy.celsius)).toEqual([]);
  }
  judgeDays(days, daysTruth(booth, window.start, window.end), accuracy.border_ms);
}

function deviationsOf(bake: BakeFact["value"], truth: ReturnType<typeof bakesTruth>[number], celsius: number) {
  return truth.parts.flatMap((part, nth): Deviation[] => {
    const found = bake.parts[nth];
    return (["air", "metal"] as const).flatMap((sensor) => {
      const curve = found?.[sensor];
      // A booth without the sensor has no curve.
      if (curve === undefined) return [];
      const low = degreesOf(curve.low);
      const high = degreesOf(curve.high);
      // The last minute is shorter, so a shift of the border by one poll changes what belongs to it.
      return part[sensor].slice(0, -1).flatMap((minute, at): Deviation[] => {
        const deviation = { sensor, at, truth: minute, low: low[at] ?? null, high: high[at] ?? null };
        const isNear =
          Math.abs((deviation.low ?? Infinity) - minute.low) <= celsius &&
          Math.abs((deviation.high ?? Infinity) - minute.high) <= celsius;
        return isNear ? [] : [deviation];
      });
    });
  });
}

function degreesOf(list: BakeCurve["low"]): (number | null)[] {
  let tenths = 0;
  return list.map((step) => {
    tenths += step ?? 0;
    return step === null ? null : tenths / 10;
  });
}

function judgeDays(
  facts: readonly FilterDayFact["value"][],
  truths: ReturnType<typeof daysTruth>,
  border_ms: number,
): void {
  for (const day of truths) {
    const found = facts.findLast((one) => one.day === day.day);
    if (day.use_ms === 0 && day.outage_ms === 0) expect(found).toBeUndefined();
    else {
      const judged = found && { ...found, use_ms: near(found.use_ms, day.use_ms, border_ms) };
      expect(judged).toMatchObject({ use_ms: "near" });
    }
  }
}

/** A day has some fifty borders, each of which may be a poll late; their errors cancel out nearly. */
const BORDERS = 20;

function near(found: number, truth: number, border_ms: number): string {
  return Math.abs(found - truth) <= BORDERS * border_ms ? "near" : `${found}, not ${truth}`;
}
