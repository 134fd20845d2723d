import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bakesTruth, daysTruth } from "../../simulators/plc/model/records.ts";
import { MINUTE_MS, SECOND_MS } from "../../src/domain/time.ts";
import { bakesIn } from "../../src/reports/bakes.ts";
import { logSheet } from "../../src/reports/log-sheet.ts";
import { playQuarter, POLL_MS, type Quarter } from "./quarter.ts";

const DAYS = Number(process.env["RECORD_DAYS"] ?? 90);
/** Accuracy of a temperature: a tenth of a degree, and what it changes by between two polls. */
const TENTH_C = 0.1;

let quarter: Quarter;
const undos: (() => unknown)[] = [];
beforeAll(async () => {
  quarter = await playQuarter(DAYS, (undo) => void undos.push(undo));
}, 3_600_000);
afterAll(() => {
  quarter.close();
  for (const undo of undos) undo();
});

/** Returns the outages of the first bay, which has the PLC. */
function outages(): readonly { readonly start: number; readonly end: number }[] {
  const { booth, window } = quarter;
  return booth.truth(window.start, window.end).outages;
}

describe(`the records of ${DAYS} days with outages, changes, a corrected entry, two bays, and a change of the clocks`, () => {
  it("have each day's use, spray and time without data to the minute", () => {
    const { booth, source, window } = quarter;
    const found = new Map(logSheet(source, window).days.map((day) => [day.day, day]));
    const wrong = daysTruth(booth, window.start, window.end).flatMap((day) => {
      const lost = outages().filter(({ start, end }) => start < day.end && end > day.start);
      const unseen = lost.map(({ start, end }) => booth.truth(start, end));
      const sum = (of: (one: (typeof unseen)[number]) => number): number =>
        unseen.reduce((total, one) => total + of(one), 0);
      const truth = {
        use_ms: day.use_ms - sum(({ in_use_ms }) => in_use_ms),
        spray_ms: day.spray_ms - sum(({ spray_ms }) => spray_ms),
        no_data_ms: day.outage_ms,
      };
      const one = found.get(day.day);
      if (one === undefined) return truth.use_ms + truth.no_data_ms === 0 ? [] : [[day.day, "missing"]];
      const names = ["use_ms", "spray_ms", "no_data_ms"] as const;
      return names
        .filter((name) => Math.abs(one[name] - truth[name]) > MINUTE_MS)
        .map((name) => [day.day, name, one[name], truth[name]]);
    });
    expect(wrong).toEqual([]);
    expect(found.size).toBeGreaterThan(DAYS * 0.7);
  });

  it("have each bake that was observed, to the minute and to a tenth of a degree", () => {
    const { booth, source, window } = quarter;
    const bakes = bakesIn(source, window);
    const seen = bakesTruth(booth, window.start, window.end).filter(
      ({ start, end }) => !outages().some((one) => one.start < end + 2 * MINUTE_MS && one.end > start - 2 * MINUTE_MS),
    );
    expect(seen.length).toBeGreaterThan(DAYS * 4);
    const wrong = seen.flatMap((truth) => {
      const bake = bakes.find((one) => one.bay === truth.bay && Math.abs(one.start - truth.start) <= POLL_MS);
      if (bake === undefined) return [["missing", truth.bay, truth.start]];
      const faults: unknown[] = [];
      if (Math.abs(bake.end - truth.end) > POLL_MS || Math.abs(bake.bake_ms - truth.bake_ms) > 2 * POLL_MS)
        faults.push(["time", bake.end - truth.end]);
      for (const sensor of ["air", "metal"] as const) {
        const all = truth.parts.flatMap((part) => part[sensor]);
        const peak = Math.max(...all.map(({ high }) => high));
        if (Math.abs((bake[sensor]?.peak_c ?? 0) - peak) > TENTH_C + SLOPE_C[sensor])
          faults.push([sensor, "peak", bake[sensor]?.peak_c, peak]);
        const unknown = bake[sensor]?.unknown_ms ?? Infinity;
        if (unknown > 0) faults.push([sensor, "unknown", unknown]);
        for (const [nth, part] of truth.parts.entries()) {
          const at_ms = (bake.parts[nth]?.start ?? 0) - bake.start;
          const minutes = bake[sensor]?.minutes.filter((one) => one.at_ms >= at_ms) ?? [];
          faults.push(...curveFaults(minutes, part[sensor], sensor));
        }
      }
      return faults;
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  });

  it("judge each bake by the rules as the truth does, or say that they cannot tell", () => {
    const { booth, source, window } = quarter;
    const bakes = bakesIn(source, window);
    const counts = { met: 0, not_met: 0, cannot_tell: 0 };
    for (const truth of bakesTruth(booth, window.start, window.end)) {
      const bake = bakes.find((one) => one.bay === truth.bay && Math.abs(one.start - truth.start) <= POLL_MS);
      for (const { rule, verdict } of bake?.verdicts ?? []) {
        counts[verdict] += 1;
        const minutes = truth.parts.flatMap((part) => part[rule.sensor]);
        const own = booth.bays[truth.bay - 1];
        const values = secondsOf(truth).map(
          (at) => (own ?? booth).stateAt(at)[rule.sensor === "air" ? "air_c" : "metal_c"],
        );
        const isMet =
          rule.at_most_c === undefined
            ? longestRun(values.map((value) => value >= (rule.at_least_c ?? 0))) >= (rule.minutes ?? 0) * 60
            : minutes.every(({ high }) => high <= (rule.at_most_c ?? 0));
        if (verdict !== "cannot_tell")
          expect([truth.start, rule.name, verdict]).toEqual([truth.start, rule.name, isMet ? "met" : "not_met"]);
      }
    }
    expect(counts.met).toBeGreaterThan(0);
    expect(counts.not_met).toBeGreaterThan(0);
    // Few bakes are at the limit of a rule.
    expect(counts.cannot_tell).toBeLessThan(0.25 * (counts.met + counts.not_met));
  });

  it("have each filter change once, with the corrected text and the original", () => {
    const { booth, source, window, entered } = quarter;
    const { changes } = logSheet(source, window);
    const pressed = Object.entries(booth.truth(window.start, window.end).filters).flatMap(([filter, all]) =>
      all
        .filter(({ installed_at }) => installed_at > window.start)
        .map(({ installed_at }) => [filter, installed_at] as const),
    );
    const found = changes.map(({ filter, at }) => [filter, Math.round(at / MINUTE_MS)]);
    for (const [filter, at] of pressed) {
      expect(
        found.filter(([name, minute]) => name === filter && Math.abs(Number(minute) - at / MINUTE_MS) <= 1),
      ).toHaveLength(1);
    }
    const byHand = changes.filter(({ source: by }) => by === "technician");
    expect(byHand.map(({ filter, part_number, corrected, id }) => [filter, id, part_number, corrected])).toEqual([
      ["pre_filter", "entry-right", "PF-10", [{ part_number: "PF-l0", note: "" }]],
    ]);
    expect(Math.abs((byHand[0]?.at ?? 0) - (entered.get("entry-right") ?? 0))).toBeLessThan(MINUTE_MS);
    expect(changes).toHaveLength(pressed.length + 1);
  });
});

/** Largest change of a temperature between two polls. */
const SLOPE_C = { air: 0.25 * (POLL_MS / SECOND_MS), metal: 0.1 * (POLL_MS / SECOND_MS) };

type Minutes = ReturnType<typeof bakesIn>[number]["air"] extends { readonly minutes: infer M } | null ? M : never;

function curveFaults(
  found: Minutes,
  truth: readonly { low: number; high: number }[],
  sensor: "air" | "metal",
): unknown[] {
  const most = TENTH_C + SLOPE_C[sensor];
  return truth.slice(0, -1).flatMap((minute, at) => {
    const one = found[at];
    // The last minute of a stage may be some polls long.
    if (one === undefined || one.ms < 10 * POLL_MS) return [];
    const isNear =
      Math.abs((one.low ?? Infinity) - minute.low) <= most && Math.abs((one.high ?? Infinity) - minute.high) <= most;
    return isNear ? [] : [[sensor, at, one.low, minute.low, one.high, minute.high]];
  });
}

function secondsOf({ start, end }: { start: number; end: number }): number[] {
  return Array.from({ length: Math.floor((end - start) / SECOND_MS) }, (_, nth) => start + nth * SECOND_MS);
}

function longestRun(flags: readonly boolean[]): number {
  let longest = 0;
  let present = 0;
  for (const flag of flags) {
    present = flag ? present + 1 : 0;
    longest = Math.max(longest, present);
  }
  return longest;
}
