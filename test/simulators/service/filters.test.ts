import { describe, expect, it } from "vitest";
import { boothOveruse } from "../../../simulators/service/figures/filters.ts";
import type { Parameters } from "../../../src/domain/parameters.ts";
import { EPOCH, figuresOf, HOUR, MINUTE, PARAMETERS, script, type Script } from "./service-log.ts";

const with_ = (filters: Parameters["filters"], more: Partial<Parameters> = {}): Parameters => ({
  ...PARAMETERS,
  ...more,
  filters,
});

/** Spray for `minutes`, the PLC's exhaust counter going from `from` with it. */
const sprayCounting = (log: Script, from: number, minutes: number): Script => {
  log.set("mode", 3);
  for (let done = 0; done < minutes; done += 1) log.set("exhaust_minutes", from + done).wait(MINUTE);
  return log.set("exhaust_minutes", from + minutes);
};

const exhaust = (log: Script, after = 0) =>
  figuresOf(log, after).installations.filter((filter) => filter.type === "exhaust_filter");

describe("filters of the reference service", () => {
  it("begins with an assumed filter whose usage is the PLC's, and latches overuse where the limit is reached", () => {
    const [filter] = exhaust(sprayCounting(script(), 5990, 20));
    expect(filter).toMatchObject({
      source: "assumed",
      removed_at: null,
      overuse: [{ start: EPOCH + 10 * MINUTE, end: Infinity }],
    });
    expect(filter?.usage.minutesAt(EPOCH + 20 * MINUTE)).toBe(6010);
  });

  it("writes a maintenance record at a reset, pressed twice, with what was late in it", () => {
    const log = sprayCounting(script(), 5990, 20).set("exhaust_reset", false).stage("idle", MINUTE);
    log
      .set("exhaust_reset", true)
      .set("exhaust_minutes", 0)
      .wait(5000)
      .set("exhaust_reset", false)
      .wait(MINUTE)
      .set("exhaust_reset", true);
    const { maintenance, installations } = figuresOf(log.stage("idle", MINUTE));
    expect(installations.filter((filter) => filter.type === "exhaust_filter").map((filter) => filter.source)).toEqual([
      "assumed",
      "plc_reset",
    ]);
    expect(maintenance).toMatchObject([
      {
        filter_type: "exhaust_filter",
        removed_at: EPOCH + 21 * MINUTE,
        overuse_ms: 11 * MINUTE,
        overuse_since: EPOCH + 10 * MINUTE,
        active_spray_ms: 20 * MINUTE,
        booth_overuse_ms: 10 * MINUTE,
        service: "late",
      },
    ]);
  });

  it("takes a counter that begins again for a change, and memory loss for none", () => {
    const begun = sprayCounting(script().set("pre_minutes", 50), 100, 5).set("exhaust_minutes", 0.2);
    expect(exhaust(begun.wait(MINUTE)).map((filter) => filter.source)).toEqual(["assumed", "plc_reset"]);
    const lost = sprayCounting(script().set("pre_minutes", 50), 100, 5)
      .wait(1000)
      .set("exhaust_minutes", 0)
      .set("pre_minutes", 0)
      .wait(MINUTE);
    const [filter, ...more] = exhaust(lost.set("exhaust_minutes", 1).wait(MINUTE));
    expect(more).toEqual([]);
    expect(filter?.usage.minutesAt(EPOCH + lost.now())).toBe(106);
  });

  it.each([
    ["had counted more than it can have since", { meter: 1000, changed: [45] }],
    ["may have begun anew as well", { meter: 90, changed: [] }],
  ])(
    "takes filters changed together in a gap for changes where a counter beside them %s",
    (_name, { meter, changed }) => {
      const log = sprayCounting(script().set("pre_minutes", 50).set("run_minutes", meter), 100, 5).silence(HOUR);
      log.set("exhaust_minutes", 20).set("pre_minutes", 0).set("run_minutes", meter);
      const [, ...told] = exhaust(log.stage("spray", MINUTE));
      expect(told.map(({ source, installed_at }) => [source, installed_at])).toEqual(
        changed.map((minute) => ["plc_reset", EPOCH + minute * MINUTE]),
      );
    },
  );

  it("gives a new filter what its counter shows with the very reading that tells of the change", () => {
    const log = sprayCounting(script(), 100, 5).wait(1000).set("exhaust_minutes", 0.1);
    const filter = exhaust(log.wait(MINUTE).set("exhaust_minutes", 1.1).wait(MINUTE))[1];
    expect(filter?.usage.minutesAt(EPOCH + log.now())).toBeCloseTo(1.1, 9);
  });

  it("finds a limit reached where sums of decimal steps come out a trifle short of it", () => {
    const lost = with_({ exhaust_filter: { limits: { minutes: 18_000 } } });
    const log = script(lost).set("mode", 3).set("exhaust_minutes", 17_756.1).set("pre_minutes", 50).wait(MINUTE);
    // The PLC forgets its counters twice; what they had counted stays.
    log
      .set("exhaust_minutes", 0)
      .set("pre_minutes", 0)
      .wait(3 * HOUR);
    log.set("exhaust_minutes", 150.8).set("pre_minutes", 9).wait(MINUTE);
    log
      .set("exhaust_minutes", 0)
      .set("pre_minutes", 0)
      .wait(2 * HOUR);
    const reached = log.set("exhaust_minutes", 93.1).now();
    const [filter] = exhaust(log.wait(MINUTE).set("exhaust_minutes", 94).wait(MINUTE));
    expect(filter?.usage.minutesAt(EPOCH + reached)).toBeLessThan(18_000);
    expect(filter?.overuse).toEqual([{ start: EPOCH + reached, end: Infinity }]);
  });

  it("places a reset inside a gap by the counter's value", () => {
    const log = sprayCounting(script(), 100, 5).silence(HOUR).set("exhaust_minutes", 20).stage("spray", MINUTE);
    expect(exhaust(log)[1]).toMatchObject({ source: "plc_reset", flagged: true, installed_at: EPOCH + 45 * MINUTE });
  });

  it("joins a technician's entry with the PLC's reset within 12 h, and takes one alone", () => {
    const entry = (at: number) => ({
      filter: "exhaust_filter",
      source: "technician",
      installed_at: at,
      flagged: false,
      by: "T",
    });
    const log = sprayCounting(script(), 100, 5).set("exhaust_minutes", 0).wait(MINUTE);
    const joined = exhaust(log.record("f", entry(EPOCH + 11 * HOUR)).wait(MINUTE));
    expect(joined.map((filter) => filter.installed_at)).toEqual([EPOCH, EPOCH + 5 * MINUTE]);
    const alone = sprayCounting(script(), 100, 5).record("f", entry(EPOCH + 3 * MINUTE));
    const [, filter] = exhaust(alone.wait(MINUTE));
    expect(filter).toMatchObject({ source: "technician", installed_at: EPOCH + 3 * MINUTE });
    expect(filter?.usage.minutesAt(EPOCH + 5 * MINUTE)).toBe(2);
  });

  it("ignores what the gateway claims, and an entry that was withdrawn", () => {
    const claim = { filter: "exhaust_filter", source: "plc_reset", installed_at: EPOCH + MINUTE, flagged: false };
    expect(
      exhaust(
        script()
          .stage("idle", 5 * MINUTE)
          .record("f", claim),
      ),
    ).toHaveLength(1);
    const log = script()
      .stage("idle", MINUTE)
      .record("f", { ...claim, source: "technician" })
      .wait(MINUTE);
    const seq = log.records().findIndex((record) => record.kind === "f") + 1;
    expect(exhaust(log.wait(MINUTE))).toHaveLength(2);
    expect(exhaust(log.record("x", { seq }).wait(MINUTE))).toHaveLength(1);
  });

  it("counts by cycles and days, and the union of filters once", () => {
    const filters = { exhaust_filter: { limits: { cycles: 1 } }, pre_filter: { limits: { cycles: 2 } } };
    const tags = Object.fromEntries(
      Object.entries(PARAMETERS.tags).filter(([name]) => !name.endsWith("_minutes") || name === "run_minutes"),
    );
    const fit = { source: "technician", installed_at: EPOCH, flagged: false };
    const log = script(with_(filters, { tags }))
      .record("f", { ...fit, filter: "exhaust_filter" })
      .record("f", { ...fit, filter: "pre_filter" });
    for (let i = 0; i < 3; i += 1) log.stage("spray", 10 * MINUTE).stage("off", 5 * MINUTE);
    const figures = figuresOf(log);
    expect(figures.installations.map(({ type, overuse }) => [type, (overuse[0]?.start ?? 0) - EPOCH])).toEqual([
      ["pre_filter", 25 * MINUTE],
      ["exhaust_filter", 10 * MINUTE],
    ]);
    const window = { start: EPOCH, end: figures.now };
    expect(boothOveruse(figures.filter_input, figures.installations, window)).toEqual({ ms: 20 * MINUTE, cycles: 2 });
  });

  it("ends a running episode where a new limit isn't reached, and begins one where it is", () => {
    const log = sprayCounting(script(), 5990, 20);
    log.record("p", with_({ exhaust_filter: { limits: { minutes: 7000 } } })).wait(MINUTE);
    log.record("p", with_({ exhaust_filter: { limits: { minutes: 100 } } })).wait(MINUTE);
    const episodes = exhaust(log)[0]?.overuse.map(({ start, end }) =>
      [start - EPOCH, end - EPOCH].map((ms) => ms / MINUTE),
    );
    expect(episodes).toEqual([
      [10, 20],
      [21, Infinity],
    ]);
  });

  it("finds overuse by pressure after the second spray stage above the baseline and limit", () => {
    const log = script(with_({ exhaust_filter: { limits: { pressure_pa: 125 } } }));
    for (const pascal of [20, 22, 24, 200, 146, 148, 150]) {
      log
        .set("exhaust_pressure", pascal)
        .stage("spray", 10 * MINUTE)
        .stage("flash", 5 * MINUTE);
    }
    // Baseline 22, limit 147: 200 | 146 | 148, 150 -> the end of the seventh spray.
    expect(exhaust(log)[0]?.overuse).toEqual([{ start: EPOCH + (6 * 15 + 10) * MINUTE, end: Infinity }]);
  });

  it.each([
    ["h", 1, 1.5, 90],
    ["s", 1, 5400, 90],
    ["d", 24, 2, 2880],
  ])("counts a meter in %s with factor %i as the gateway does: %f is %i min", (...[unit, factor, value, minutes]) => {
    const { exhaust_minutes: meter } = PARAMETERS.tags;
    if (meter === undefined) throw new Error("no meter");
    const tags = { ...PARAMETERS.tags, exhaust_minutes: { ...meter, unit, factor } };
    const log = script({ ...PARAMETERS, tags })
      .set("exhaust_minutes", value)
      .stage("idle", MINUTE);
    expect(exhaust(log)[0]?.usage.minutesAt(EPOCH + MINUTE)).toBe(minutes);
  });

  it("compares pressures in a sensor's own unit with limits in Pa, as the gateway converts them", () => {
    const { exhaust_pressure: sensor } = PARAMETERS.tags;
    if (sensor === undefined) throw new Error("no sensor");
    const tags = { ...PARAMETERS.tags, exhaust_pressure: { ...sensor, conversion: { scale: 249.089, offset: 0 } } };
    const limits = { exhaust_filter: { limits: { pressure_pa: 125 }, baseline_pa: 50 } };
    const overuse = [0.69, 0.72].map((drop) => {
      const log = script(with_(limits, { tags }));
      for (let nth = 0; nth < 2; nth += 1) {
        log
          .set("exhaust_pressure", drop)
          .stage("spray", 10 * MINUTE)
          .stage("flash", 5 * MINUTE);
      }
      return exhaust(log)[0]?.overuse.length;
    });
    expect(overuse).toEqual([0, 1]);
  });
});
