import { describe, expect, test } from "vitest";
import type { FilterType } from "../../src/domain/booth.ts";
import type { Maintenance } from "../../src/domain/record.ts";
import type { Parameters, TagRole } from "../../src/domain/parameters.ts";
import { enterFilter, forget, put, run, script, type Script, silence, stay, T0, valuesOf } from "../support/booth.ts";
import { live, lived } from "../support/lives.ts";
import { minutesTag, tag, uncounted, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const LIMIT = 100;
const COUNTED = withFilters(
  { exhaust_filter: { limits: { minutes: LIMIT } }, pre_filter: { limits: { minutes: LIMIT } } },
  {
    exhaust: minutesTag("exhaust_filter"),
    pre: minutesTag("pre_filter"),
    button: tag("filter_reset", "", { filter: "exhaust_filter" }),
  },
);
const OWN = uncounted(withFilters({ exhaust_filter: { limits: { minutes: LIMIT } } }));

function changesOf(
  booth: Script,
  parameters: Parameters,
): { at: number; source: string; record: Maintenance | null }[] {
  stay(booth, 3 * MINUTE_MS, { mode: 1 });
  return valuesOf(run(booth, parameters).facts, "f").map(({ source, installed_at, maintenance }) => ({
    at: (installed_at - T0) / MINUTE_MS,
    source,
    record: maintenance ?? null,
  }));
}

test("the filter at first contact is recorded as assumed, without a record of its use", () => {
  const booth = lived(OWN, [3 * HOUR_MS, { mode: 3 }]);
  expect(changesOf(booth, OWN)).toEqual([{ at: 0, source: "assumed", record: null }]);
});

test("the filter at first contact starts with the booth's first mode reading, not with the start of the agent", () => {
  const booth = script(COUNTED);
  silence(booth, 7 * MINUTE_MS);
  live(booth, [MINUTE_MS, { exhaust: 120, pre: 10 }], [5 * MINUTE_MS, { mode: 1 }]);
  expect(changesOf(booth, COUNTED).map(({ at, source }) => [at, source])).toEqual([
    [8, "assumed"],
    [8, "assumed"],
  ]);
  const { exhaust_filter } = run(booth, COUNTED).state.filters;
  expect(exhaust_filter?.current.overuse).toEqual([{ since: T0 + 8 * MINUTE_MS, until: null, flagged: false }]);
});

test("a filter starts when it is first configured, or at its change if that comes before the first mode reading", () => {
  const booth = lived(OWN, [5 * MINUTE_MS, { mode: 1 }]);
  put(booth, { kind: "p", value: COUNTED });
  expect(changesOf(booth, COUNTED).map(({ at }) => at)).toEqual([0, 5]);

  const unseen = lived(COUNTED, [MINUTE_MS, { exhaust: 60, pre: 10 }], [MINUTE_MS, { exhaust: 1 }]);
  stay(unseen, MINUTE_MS, { mode: 1 });
  expect(changesOf(unseen, COUNTED)).toEqual([
    { at: 1, source: "plc_reset", record: null },
    { at: 2, source: "assumed", record: null },
  ]);
});

describe("filters whose counters fall in the same poll", () => {
  interface Visit {
    readonly beside?: number | null;
    readonly then?: number | null;
    readonly gap?: boolean;
    readonly retained?: boolean;
    readonly unread?: boolean;
    readonly role?: TagRole;
  }
  /** Returns the filters that count as changed when both counters fall at once, and whether that is a loss of memory. */
  function visit({ beside = 400, then = beside, gap = false, unread = false, ...more }: Visit) {
    const { retained = true, role = "cycle_counter" } = more;
    const cycles = tag(role, "", { counter: { step: 1, retained: true } });
    const minutes = (filter: FilterType) => {
      const one = minutesTag(filter);
      return { ...one, counter: { step: 0.1, ...one.counter, retained } };
    };
    const tags = { exhaust: minutes("exhaust_filter"), pre: minutes("pre_filter"), cycles };
    const parameters = withFilters(COUNTED.filters, tags);
    const booth = lived(parameters, [MINUTE_MS, { mode: 1, exhaust: 60, pre: 10, cycles: beside }]);
    if (gap) silence(booth, 10 * MINUTE_MS);
    if (gap) forget(booth);
    stay(booth, MINUTE_MS, { mode: 1, exhaust: 0, pre: 0, ...(unread ? {} : { cycles: then }) });
    stay(booth, 3 * MINUTE_MS, { mode: 1 });
    const { facts } = run(booth, parameters);
    const changed = valuesOf(facts, "f").flatMap(({ filter, source }) => (source === "plc_reset" ? [filter] : []));
    return [changed.sort().join(), valuesOf(facts, "i").some(({ check }) => check === "memory_loss")];
  }
  const BOTH = ["exhaust_filter,pre_filter", false];
  const LOST = ["", true];
  test.each<[string, Visit, unknown[]]>([
    ["count as changed if the cycle counter stays the same", {}, BOTH],
    ["count as changed if the cycle counter rises by one", { then: 401 }, BOTH],
    ["count as lost PLC memory if the cycle counter falls too", { then: 0 }, LOST],
    ["count as lost PLC memory if the cycle counter was 0", { beside: 0 }, LOST],
    ["count as lost PLC memory if the cycle counter can't be read", { then: null }, LOST],
    ["count as changed after a silence if the cycle counter stays the same", { gap: true }, BOTH],
    ["count as changed after a silence if the cycle counter rises", { gap: true, then: 402 }, BOTH],
    ["count as lost PLC memory after a silence if the cycle counter can't be read", { gap: true, then: null }, LOST],
    [
      "count as lost PLC memory after a silence if the cycle counter isn't read again",
      { gap: true, unread: true },
      LOST,
    ],
    [
      "count as lost PLC memory after 11 min of silence if the cycle counter shows 2, which it can reach from 0",
      { gap: true, beside: 2 },
      LOST,
    ],
    [
      "count as changed after 11 min of silence if the cycle counter shows 3, which it cannot reach from 0",
      { gap: true, beside: 3 },
      BOTH,
    ],
    [
      "count as lost PLC memory after a silence if the other counter's fastest rate is unknown",
      { gap: true, role: "kwh" },
      LOST,
    ],
    [
      "count as lost PLC memory after a silence if the PLC retains only the cycle counter",
      { gap: true, retained: false },
      LOST,
    ],
    ["count as lost PLC memory if the PLC retains only the cycle counter", { retained: false }, LOST],
  ])("%s", (_name, story, expected) => expect(visit(story)).toEqual(expected));
});

test("a press of the reset button and the counter's later fall are a single filter change", () => {
  const booth = lived(COUNTED, [MINUTE_MS, { mode: 3, exhaust: 60, button: false }], [2000, { button: true }]);
  live(booth, [MINUTE_MS, { exhaust: 0.1 }], [3 * MINUTE_MS, { mode: 1 }]);
  const { facts, state } = run(booth, COUNTED);
  expect(valuesOf(facts, "f").filter(({ source }) => source === "plc_reset")).toHaveLength(1);
  expect(state.filters.exhaust_filter?.current.plc).toEqual({ offset: 0, value: 0.1 });
});

test("a filter's removal record has the filter's own use, and its overuse from the instant of the limit on", () => {
  const booth = lived(OWN, [MINUTE_MS, { mode: 1 }]);
  enterFilter(booth, MINUTE_MS);
  live(booth, [130 * MINUTE_MS, { mode: 3 }], [10 * MINUTE_MS, { mode: 1 }]);
  enterFilter(booth);
  const record = changesOf(booth, OWN).at(-1)?.record;
  expect(record).toMatchObject({
    duration_ms: 140 * MINUTE_MS,
    active_spray_ms: 130 * MINUTE_MS,
    booth_in_use_ms: 130 * MINUTE_MS,
    overuse_since: T0 + 101 * MINUTE_MS,
    overuse_ms: 40 * MINUTE_MS,
    booth_overuse_ms: 30 * MINUTE_MS,
    cycles: 1,
    booth_overuse_cycles: 1,
    service: "late",
  });
});

test("a PLC reset within 12 h after an entry sets the time of the filter change, and replaces the entry's removal record", () => {
  const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 60, button: false }]);
  enterFilter(booth);
  // The agent logs the counter again after an entry.
  forget(booth);
  stay(booth, 10 * MINUTE_MS - 1000, { mode: 3, exhaust: 60, button: false });
  live(booth, [1000, { exhaust: 70 }], [5000, { mode: 1, button: true, exhaust: 0 }]);
  const changes = changesOf(booth, COUNTED).slice(2);
  expect(changes.map(({ source, at }) => [source, at])).toEqual([
    ["technician", 1],
    ["plc_reset", 11],
  ]);
  expect(changes[1]?.record).toMatchObject({ booth_in_use_ms: 70 * MINUTE_MS, removed_at: T0 + 11 * MINUTE_MS });
});
