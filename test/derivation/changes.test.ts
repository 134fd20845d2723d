import { describe, expect, it } from "vitest";
import type { Maintenance } from "../../src/domain/record.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { enterFilter, put, run, script, type Script, stay, T0, valuesOf } from "../support/booth.ts";
import { exhaustFilter, live, lived } from "../support/lives.ts";
import { minutesTag, PARAMETERS, tag, uncounted, withFilters } from "../support/parameters.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time.ts";

const OWN = uncounted(withFilters({ exhaust_filter: { limits: { minutes: 30 } } }));
const COUNTED = withFilters(
  { exhaust_filter: { limits: { minutes: 1000 } }, pre_filter: { limits: { minutes: 1000 } } },
  { exhaust: minutesTag("exhaust_filter"), pre: minutesTag("pre_filter"), uptime: tag("uptime", "s") },
);

function records(booth: Script, parameters: Parameters): Maintenance[] {
  stay(booth, 5 * MINUTE_MS, { mode: 1 });
  return valuesOf(run(booth, parameters).facts, "f").flatMap(({ maintenance }) => maintenance ?? []);
}

/** Returns the changes that the PLC's counter shows. */
function changes(booth: Script): { at: number; flagged: boolean }[] {
  stay(booth, 5 * MINUTE_MS, { mode: 1 });
  const services = valuesOf(run(booth, COUNTED).facts, "f").filter(({ source }) => source === "plc_reset");
  return services.map(({ installed_at, flagged }) => ({ at: installed_at - T0, flagged }));
}

describe("filter overuse", () => {
  // Spray from 0 on, so that the limit of 30 min is reached at 30 min to the millisecond.
  it.each([
    [30 * MINUTE_MS - 1, "on_time", 0],
    [30 * MINUTE_MS, "on_time", 0],
    [30 * MINUTE_MS + 1, "late", 1],
  ])(
    "a filter with a limit of 30 min that is changed after %i ms of use is %s and has %i ms of overuse",
    (at, service, overuse_ms) => {
      const booth = script(OWN);
      enterFilter(booth, 0);
      stay(booth, 40 * MINUTE_MS, { mode: 3 });
      enterFilter(booth, at);
      expect(records(booth, OWN).at(-1)).toMatchObject({ service, overuse_ms, booth_overuse_ms: overuse_ms });
    },
  );

  it.each([
    [-1, 0],
    [0, 1],
    [1, 1],
  ])("a filter removed %i ms after the end of a cycle has %i cycle(s) in overuse", (by, cycles) => {
    const booth = script(OWN);
    enterFilter(booth, 0);
    live(booth, [40 * MINUTE_MS, { mode: 3 }], [10 * MINUTE_MS, { mode: 1 }]);
    enterFilter(booth, 40 * MINUTE_MS + by);
    expect(records(booth, OWN).at(-1)).toMatchObject({ booth_overuse_cycles: cycles, cycles });
  });
});

describe("filter changes that the PLC's counter shows", () => {
  it.each([
    [49.9, 1],
    [50, 0],
    [50.1, 0],
  ])(
    "a counter with a limit of 1,000 min that falls from 600 min to %d min shows %i filter change(s)",
    (value, count) => {
      const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 600, pre: 10 }], [MINUTE_MS, { exhaust: value }]);
      expect(changes(booth)).toHaveLength(count);
    },
  );

  it.each([
    ["alone", { exhaust: 0 }, 1],
    ["while another counter stays the same", { exhaust: 0, pre: 500 }, 1],
    ["while another counter rises", { exhaust: 0, pre: 500.1 }, 1],
    ["together with another counter", { exhaust: 0, pre: 0 }, 0],
    ["together with the uptime", { exhaust: 0, uptime: 3 }, 0],
    ["while the uptime rises", { exhaust: 0, uptime: 5001 }, 1],
  ])("a counter that falls %s (%j) shows %i filter change(s)", (_name, values, count) => {
    const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 600, pre: 500, uptime: 5000 }], [MINUTE_MS, values]);
    expect(changes(booth)).toHaveLength(count);
  });

  it.each([
    [10 * MINUTE_MS - 1, 1],
    [10 * MINUTE_MS, 1],
    [10 * MINUTE_MS + 1, 2],
  ])("a counter that falls twice, %i ms apart, shows %i filter change(s)", (apart, count) => {
    const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 600, pre: 10 }], [apart, { exhaust: 0.2 }]);
    stay(booth, MINUTE_MS, { exhaust: 0 });
    expect(changes(booth)).toHaveLength(count);
  });

  // The last reading came 1 ms before the minute's end: the gap is 60 min and 1 ms long.
  it.each([
    [59.9, 61 * MINUTE_MS - 59.9 * MINUTE_MS],
    [60, MINUTE_MS],
    [60.1, 61 * MINUTE_MS],
  ])(
    "a counter that falls to %d min during a gap of one hour dates the change to %i ms, flagged as uncertain",
    (value, at) => {
      const parameters = withFilters({ exhaust_filter: { limits: { minutes: 10_000 } } }, COUNTED.tags);
      const booth = lived(parameters, [MINUTE_MS, { mode: 3, exhaust: 6000 }], { gap_ms: HOUR_MS });
      live(booth, [5 * MINUTE_MS, { mode: 3, exhaust: value }], [5 * MINUTE_MS, { mode: 1 }]);
      const change = valuesOf(run(booth, parameters).facts, "f").find(({ source }) => source === "plc_reset");
      expect([(change?.installed_at ?? 0) - T0, change?.flagged]).toEqual([at, true]);
    },
  );
});

describe("filter entries", () => {
  it.each([
    [12 * HOUR_MS - 1, 1],
    [12 * HOUR_MS, 1],
    [12 * HOUR_MS + 1, 2],
  ])("an entry %i ms after the PLC's reset counts with the reset as %i filter change(s)", (after, count) => {
    const booth = lived(COUNTED, [MINUTE_MS, { mode: 1, exhaust: 600, pre: 10 }], [13 * HOUR_MS, { exhaust: 0 }]);
    enterFilter(booth, MINUTE_MS + after);
    stay(booth, 5 * MINUTE_MS, { mode: 1 });
    const services = valuesOf(run(booth, COUNTED).facts, "f").filter(({ filter }) => filter === "exhaust_filter");
    expect(services.filter(({ source }) => source !== "assumed")).toHaveLength(count);
  });

  it.each([
    [-1, 0],
    [0, 0],
    [1, 1],
  ])("an entry dated %i ms after the present filter's installation adds %i filter change(s)", (by, more) => {
    const far = withFilters({ exhaust_filter: { limits: { minutes: 3000 } } });
    const booth = script(far);
    enterFilter(booth, 0);
    stay(booth, HOUR_MS, { mode: 1 });
    enterFilter(booth, 20 * MINUTE_MS);
    stay(booth, HOUR_MS, { mode: 1 });
    // Two entries within 10 min are one.
    enterFilter(booth, by > 0 ? 30 * MINUTE_MS + by : 20 * MINUTE_MS + by);
    stay(booth, 5 * MINUTE_MS);
    const entries = valuesOf(run(booth, far).facts, "f").filter(({ source }) => source === "technician");
    expect(entries).toHaveLength(2 + more);
  });

  /** The state remembers use for 36 h after its end. */
  it.each([
    [36.5 * HOUR_MS - 1, 30],
    [36.5 * HOUR_MS, 30],
    [36.5 * HOUR_MS + 1, 0],
  ])("an entry dated back by %i ms moves %i min of use to the new filter", (ago, minutes) => {
    const far = withFilters({ exhaust_filter: { limits: { minutes: 3000 } } });
    const booth = script(far);
    enterFilter(booth, 0);
    live(booth, [2 * HOUR_MS, { mode: 1 }], [30 * MINUTE_MS, { mode: 3 }], [ago - 30 * MINUTE_MS, { mode: 1 }]);
    enterFilter(booth, 2 * HOUR_MS);
    stay(booth, 5 * MINUTE_MS);
    expect(exhaustFilter(booth, far)?.current.in_use_ms).toBe(minutes * MINUTE_MS);
  });
});

describe("new parameters", () => {
  it.each([
    [29, true],
    [30, true],
    [31, false],
  ])("with a limit of %i cycles, set after 30 cycles of use, let an open overuse continue: %s", (cycles, runs) => {
    const limited = (limit: number): Parameters =>
      uncounted(withFilters({ exhaust_filter: { limits: { cycles: limit } } }));
    const booth = script(limited(3));
    enterFilter(booth, 0);
    for (let turn = 0; turn < 30; turn += 1) {
      live(booth, [4 * MINUTE_MS, { mode: 3 }], [3 * MINUTE_MS, { mode: 1 }]);
    }
    put(booth, { kind: "p", value: limited(cycles) });
    stay(booth, 5 * MINUTE_MS);
    const [episode] = exhaustFilter(booth, PARAMETERS)?.current.overuse ?? [];
    expect(episode?.until ?? null).toBe(runs ? null : T0 + 30 * 7 * MINUTE_MS);
  });
});
