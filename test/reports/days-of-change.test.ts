import { describe, expect, it } from "vitest";
import { toWall } from "../../simulators/service/base/zone.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { dayOf, isKnownZone, weekdayOf, zoneOffsetMs } from "../../src/domain/time-zone.ts";
import type { WorkingHours } from "../../src/domain/booth.ts";
import { runtimeSeries, utilization, utilizationTimeline } from "../../src/reports/usage.ts";
import type { Source } from "../../src/reports/source.ts";
import { PLAIN } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const WEEK = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const;

type Shift = readonly [start: string, stop: string];
const daily = ([start, stop]: Shift): WorkingHours[] =>
  WEEK.map((day) => ({ day, enabled: true, start: `${start}:00`, stop: `${stop}:00` }));

/** The first shift is in force from 0 on, each further one from its instant on. */
interface Life {
  readonly tz: string;
  /** Start of 4 h of spray. */
  readonly start: number;
  readonly end: number;
  readonly shifts: readonly (readonly [from: number, shift: Shift])[];
}

function sourceOf({ tz, start, end, shifts }: Life): Source {
  const base = { boot: "b", mono: 0, at: start, tag: "", quality: "good" } as const;
  const stage = { bay: 0, mode: "spray", start, end: start + 4 * HOUR_MS, end_reason: "changed", is_new_start: true };
  const idle = { ...stage, mode: "idle", start: stage.end, end };
  const certain = { uncertain_ms: 0, uncertainty_ms: 0, raw: "3" };
  const facts = [
    { kind: "m", ...base, value: { ...stage, ...certain } },
    { kind: "m", ...base, value: { ...idle, ...certain } },
  ] as never[];
  const rules = shifts.map(([from, shift]) => ({
    from,
    mode_sets: PLAIN.mode_sets,
    tz,
    working_hours: daily(shift),
  }));
  const working_hours = rules.at(-1)?.working_hours ?? [];
  const state = { ...emptyState(), parameters: { ...PLAIN, tz, working_hours }, rules };
  return { reader: readerOf({ state, facts, records: [] }), stream: "s", now_ms: end + HOUR_MS };
}

/** Working minutes of a day with a shift of 00:00-06:00, 22:00-06:00 and 01:45-02:15. */
type Working = readonly [early: number, night: number, across: number];

/** First instants (UTC) of a local day and of the next one, the day's length, and the hour of the week that its fifth hour is. */
const DAYS: readonly [tz: string, from: string, to: string, minutes: number, hour: number, working: Working][] = [
  ["America/Denver", "2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z", 1380, 149, [300, 420, 15]],
  ["America/Denver", "2026-11-01T06:00:00Z", "2026-11-02T07:00:00Z", 1500, 147, [420, 540, 90]],
  ["Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", 1380, 149, [300, 420, 15]],
  // 02:15 exists twice: the earlier one is in summer time.
  ["Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 1500, 147, [420, 540, 30]],
  ["Australia/Lord_Howe", "2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z", 1470, 147, [390, 510, 60]],
  ["Australia/Lord_Howe", "2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z", 1410, 148, [330, 450, 15]],
  ["Asia/Kolkata", "2026-03-07T18:30:00Z", "2026-03-08T18:30:00Z", 1440, 148, [360, 480, 30]],
  ["Mars/Olympus", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z", 1440, 148, [360, 480, 30]],
];

describe.each(DAYS)("%s on the local day from %s", (...[tz, from, to, minutes, hour, [early, night, across]]) => {
  const window = { start: Date.parse(from), end: Date.parse(to) };
  const life = (shift: Shift): Source => sourceOf({ tz, ...window, shifts: [[0, shift]] });

  it.each<[Shift, number, number]>([
    [["00:00", "06:00"], early, 240],
    [["22:00", "06:00"], night, 240],
    [["01:45", "02:15"], across, across],
    [["08:00", "08:00"], minutes, 240],
  ])("with the shift %j has %i working minutes, %i of them in use", (shift, working, inside) => {
    const figures = utilization(life(shift), window);
    expect(figures).toMatchObject({
      in_use_ms: 240 * MINUTE_MS,
      working_ms: working * MINUTE_MS,
      in_use_working_ms: inside * MINUTE_MS,
      overtime_ms: (240 - inside) * MINUTE_MS,
      tz_known: tz !== "Mars/Olympus",
    });
    expect(figures.utilization_pct).toBeCloseTo((100 * inside) / working, 9);
  });

  it(`has one day bucket of ${minutes} min, and hour and half-hour buckets that cover it completely`, () => {
    const source = life(["00:00", "06:00"]);
    const lengths = (unit: "day" | "hour"): number[] =>
      runtimeSeries(source, window, { unit }).buckets.map(({ start, end }) => (end - start) / MINUTE_MS);
    expect(lengths("day")).toEqual([minutes]);
    const whole = Array.from({ length: Math.floor(minutes / 60) }, () => 60);
    expect(lengths("hour")).toEqual(minutes % 60 === 0 ? whole : [...whole, minutes % 60]);
    const hours = runtimeSeries(source, window, { unit: "hour" }).buckets.map(({ ms }) => ms / MINUTE_MS);
    expect(hours.slice(0, 5)).toEqual([60, 60, 60, 60, 0]);
    const { slots } = utilizationTimeline(source, window, 30 * MINUTE_MS);
    expect(slots.map(({ by_mode }) => (by_mode.spray ?? 0) / MINUTE_MS)).toEqual(
      Array.from({ length: minutes / 30 }, (_, slot) => (slot < 8 ? 30 : 0)),
    );
  });

  it(`has hour ${hour} of the week 4 h after midnight on both gateway and service`, () => {
    const at = window.start + 4 * HOUR_MS;
    const local = at + zoneOffsetMs(tz, at);
    expect(weekdayOf(dayOf(tz, at)) * 24 + Math.floor((local % (24 * HOUR_MS)) / HOUR_MS)).toBe(hour);
    expect(toWall(isKnownZone(tz) ? tz : "UTC", at)).toBe(local);
  });
});

/** Working hours that change during one of the days above. */
describe("the working minutes of a day on which the working hours change", () => {
  const DAY: Shift = ["08:00", "16:00"];
  const LATE: Shift = ["12:00", "20:00"];
  const NIGHT: Shift = ["22:00", "06:00"];
  const SHORT: Shift = ["22:00", "02:00"];
  const EVENING: Shift = ["22:00", "01:00"];
  const LONG: Shift = ["22:00", "04:00"];
  it.each<[string, number, string, [Shift, Shift], number]>([
    // 08:00 to 11:00 by the first shift, 12:00 to 20:00 by the second.
    [
      "the hours change at 11:00 on the day of the clock change in Denver in spring",
      0,
      "2026-03-08T17:00:00Z",
      [DAY, LATE],
      660,
    ],
    [
      "the hours change at 11:00 on the day of the clock change in Berlin in spring",
      2,
      "2026-03-29T09:00:00Z",
      [DAY, LATE],
      660,
    ],
    [
      "the hours change at 14:00 on the day of the clock change in Berlin in autumn",
      3,
      "2026-10-25T13:00:00Z",
      [DAY, LATE],
      720,
    ],
    // 00:00 to 02:00 (then 03:00), and 22:00 to 24:00.
    ["a night shift in Denver is shortened at the missing hour", 0, "2026-03-08T09:00:00Z", [NIGHT, SHORT], 240],
    // 00:00 to 01:00; from 01:30 summer time to 04:00 winter time 3.5 h; 22:00 to 24:00.
    [
      "a night shift in Denver is extended in the repeated hour",
      1,
      "2026-11-01T07:30:00Z",
      [EVENING, LONG],
      60 + 210 + 120,
    ],
    ["a night shift in Berlin is shortened at the missing hour", 2, "2026-03-29T01:00:00Z", [NIGHT, SHORT], 120 + 120],
    // From 02:30 summer time to 04:00 winter time.
    [
      "a night shift in Berlin is extended in the repeated hour",
      3,
      "2026-10-25T00:30:00Z",
      [EVENING, LONG],
      60 + 150 + 120,
    ],
    // 02:00 is reached half an hour after the clock was put back from it.
    [
      "a night shift on Lord Howe is shortened when the clock goes back",
      4,
      "2026-04-04T15:00:00Z",
      [NIGHT, SHORT],
      120 + 30 + 120,
    ],
    // 02:00 doesn't exist: the first instant after the jump.
    [
      "a night shift on Lord Howe is shortened at the missing half hour",
      5,
      "2026-10-03T15:30:00Z",
      [NIGHT, SHORT],
      120 + 120,
    ],
    [
      "a night shift in Kolkata (no clock change) is shortened at 02:00",
      6,
      "2026-03-07T20:30:00Z",
      [NIGHT, SHORT],
      120 + 120,
    ],
    [
      "a night shift in Kolkata (no clock change) is extended at 00:30",
      6,
      "2026-03-07T19:00:00Z",
      [EVENING, LONG],
      30 + 210 + 120,
    ],
  ])("are exact if %s", (...[, index, at, [first, second], working]) => {
    const [tz = "", from = "", to = ""] = DAYS[index] ?? [];
    const window = { start: Date.parse(from), end: Date.parse(to) };
    const shifts = [[0, first] as const, [Date.parse(at), second] as const];
    const source = sourceOf({ tz, ...window, shifts });
    expect(utilization(source, window).working_ms / MINUTE_MS).toBe(working);
  });
});
