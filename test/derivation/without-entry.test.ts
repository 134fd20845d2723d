import { describe, expect, it } from "vitest";
import { usedMinutes } from "../../src/derivation/filters/installation.ts";
import type { FilterState } from "../../src/derivation/state.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import {
  enterFilter,
  forget,
  put,
  run,
  script,
  type Script,
  silence,
  stay,
  T0,
  type Values,
} from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, tag, withFilters } from "../support/parameters.ts";
import { sourceOf } from "../support/reader.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const LIMIT = 100;
const COUNTED = withFilters(
  { exhaust_filter: { limits: { minutes: LIMIT } } },
  { exhaust: minutesTag("exhaust_filter"), button: tag("filter_reset", "", { filter: "exhaust_filter" }) },
);
const OWN = withFilters({ exhaust_filter: { limits: { minutes: LIMIT } } });

function enter(booth: Script, ago_ms = 0): void {
  enterFilter(booth, booth.now, { ago_ms, id: `at ${booth.now}` });
  // The agent logs the counter again after an entry.
  forget(booth);
}

function withdrawLast(booth: Script): void {
  const entries = run(booth, COUNTED).records.filter(({ kind }) => kind === "f");
  const withdrawn = run(booth, COUNTED).records.filter(({ kind }) => kind === "x").length;
  put(booth, { kind: "x", value: { seq: entries.at(-1 - withdrawn)?.seq ?? 0, by: "alex" } });
}

function filterOf(booth: Script, parameters = COUNTED): FilterState {
  const { exhaust_filter } = run(booth, parameters).state.filters;
  if (exhaust_filter === undefined) throw new Error("no filter is fitted");
  return exhaust_filter;
}

const minutesOf = ({ current, former }: FilterState): (number | null)[] =>
  [former, current].map((one) => (one === null ? null : usedMinutes(one))).map((one) => one && Number(one.toFixed(3)));

/** Returns the removal records: installed, removed, start and length of overuse, in minutes. */
function recordsOf(booth: Script): (number | null)[][] {
  const source = sourceOf(booth, COUNTED);
  const minutes = (at: number | null): number | null => (at === null ? null : (at - T0) / MINUTE_MS);
  return filterMaintenanceHistory(source, { start: T0, end: T0 + booth.now }).map((one) => [
    minutes(one.installed_at),
    minutes(one.removed_at),
    minutes(one.overuse_since),
    one.overuse_ms / MINUTE_MS,
  ]);
}

describe("a filter entry that is followed by the PLC's reset within 12 h", () => {
  it.each([
    [99.9, null, 0],
    [100, 12, 10],
    [100.1, 12, 10],
  ])(
    "leaves a removal record with overuse if the counter showed %f of 100 min before the reset (since minute %s)",
    (shown, since, overuse) => {
      const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 90, button: false }], [MINUTE_MS, { mode: 3 }]);
      enter(booth);
      stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 91, button: false });
      live(booth, [10 * MINUTE_MS, { mode: 1, exhaust: shown }], [5 * MINUTE_MS, { button: true, exhaust: 0 }]);
      expect(recordsOf(booth)).toEqual([[0, 22, since, overuse]]);
    },
  );

  it("leaves the removal record of an earlier entry unchanged", () => {
    const booth = lived(COUNTED, [30 * MINUTE_MS, { mode: 1, exhaust: 90, button: false }]);
    enter(booth);
    stay(booth, 30 * MINUTE_MS, { mode: 1, exhaust: 90, button: false });
    enter(booth);
    stay(booth, 30 * MINUTE_MS, { mode: 1, exhaust: 90, button: false });
    stay(booth, 5 * MINUTE_MS, { button: true, exhaust: 0 });
    expect(recordsOf(booth)).toEqual([
      [0, 30, null, 0],
      [30, 90, null, 0],
    ]);
  });
});

describe("undoing filter entries", () => {
  it("in reverse order restores the first filter and its overuse", () => {
    const booth = script(COUNTED);
    const quarter = (values: Values): void => {
      stay(booth, 15 * MINUTE_MS, values);
    };
    quarter({ mode: 3, exhaust: 90, button: false });
    enter(booth);
    quarter({ mode: 3, exhaust: 99, button: false });
    enter(booth);
    quarter({ mode: 3, exhaust: 110, button: false });
    withdrawLast(booth);
    stay(booth, MINUTE_MS);
    expect(filterOf(booth).current).toMatchObject({ installed_at: T0 + 15 * MINUTE_MS, overuse: [] });
    withdrawLast(booth);
    stay(booth, MINUTE_MS, { mode: 1 });
    const { current, former } = filterOf(booth);
    expect(current).toMatchObject({ installed_at: T0, overuse: [{ since: T0 + 30 * MINUTE_MS, until: null }] });
    expect([usedMinutes(current), former]).toEqual([110, null]);
  });

  it.each([
    [4, 0],
    [5, 1],
  ])("is possible for the last four entries (%i entries made, %i not undone)", (count, left) => {
    const booth = lived(OWN, [MINUTE_MS, { mode: 1 }]);
    for (let turn = 0; turn < count; turn += 1) {
      enter(booth);
      stay(booth, HOUR_MS, { mode: 1 });
    }
    for (let turn = 0; turn < count; turn += 1) {
      withdrawLast(booth);
      stay(booth, MINUTE_MS);
    }
    expect(filterOf(booth, OWN).current.installed_at).toBe(T0 + left * MINUTE_MS);
  });

  it("keeps a limit that was changed after the entry", () => {
    const booth = lived(OWN, [MINUTE_MS, { mode: 1 }]);
    enter(booth);
    stay(booth, 30 * MINUTE_MS, { mode: 3 });
    put(booth, { kind: "p", value: withFilters({ exhaust_filter: { limits: { minutes: 20 } } }) });
    stay(booth, MINUTE_MS, { mode: 1 });
    withdrawLast(booth);
    stay(booth, MINUTE_MS);
    expect(filterOf(booth, OWN).current).toMatchObject({ installed_at: T0, limits: { minutes: 20 } });
  });
});

describe("an entry made while the PLC is silent", () => {
  /** Plays spray with a silence of 20 min, in which a person enters a change 15 min ago; the PLC's counters rise meanwhile. */
  function silent(shown: Values): Script {
    const booth = script(COUNTED);
    stay(booth, 10 * MINUTE_MS, { mode: 3, exhaust: 10, button: false, cycles: 5, meter: 100 });
    stay(booth, MINUTE_MS, { exhaust: 20, meter: 110 });
    silence(booth, 10 * MINUTE_MS);
    enter(booth, 15 * MINUTE_MS);
    silence(booth, 10 * MINUTE_MS);
    live(booth, [5 * MINUTE_MS, { mode: 3, button: false, cycles: 5, ...shown }], [MINUTE_MS, { mode: 1 }]);
    return booth;
  }

  it("assigns the silence to the new filter's use if the hour meter proves that the booth was in use", () => {
    // 20 min were counted up to the last poll, 5 of them after the change; 20 min of silence follow.
    expect(minutesOf(filterOf(silent({ exhaust: 40, meter: 130 })))).toEqual([15, 25]);
  });

  it("does not assign the silence to the new filter's use if the mode in the silence is unknown", () => {
    expect(minutesOf(filterOf(silent({ exhaust: 40, meter: 111 })))).toEqual([15, 5]);
  });
});

describe("a filter entry that is dated back", () => {
  it.each([
    [29, 59],
    [30, 60],
    [31, null],
  ])("with use from minute %i to minute 60 reaches the limit of 30 min at minute %s", (from, since) => {
    const parameters = withFilters({ exhaust_filter: { limits: { minutes: 30 } } });
    const booth = lived(parameters, [from * MINUTE_MS, { mode: 1 }], [(60 - from) * MINUTE_MS, { mode: 3 }]);
    stay(booth, 10 * MINUTE_MS, { mode: 1 });
    enter(booth, 41 * MINUTE_MS);
    stay(booth, MINUTE_MS, { mode: 1 });
    const overuse = filterOf(booth, parameters).current.overuse.map((one) => (one.since - T0) / MINUTE_MS);
    expect(overuse).toEqual(since === null ? [] : [since]);
  });
});
