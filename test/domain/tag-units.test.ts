import { describe, expect, it } from "vitest";
import { inFigureUnit, maxRateOf, type TagRole, unitsPerHour } from "../../src/domain/parameters.ts";
import { unitFaultOf, withUnitsInForce } from "../../src/domain/tag-units.ts";
import { PARAMETERS, tag } from "../support/parameters.ts";

describe("withUnitsInForce", () => {
  it.each<[TagRole, string]>([
    ["filter_minutes", "min"],
    ["hour_meter", "h"],
    ["hour_meter", "s"],
    ["hour_meter", ""],
    ["gas", "therm"],
    ["kwh", "kWh"],
    ["air_temperature", "C"],
    ["filter_pressure", "Pa"],
    ["fan_speed", "%"],
    ["plc_clock", "ms"],
    ["plc_clock", ""],
    ["cycle_counter", "cycles"],
    ["uptime", "s"],
    ["mode", ""],
  ])("leaves a tag with the role %s and the unit %j unchanged", (role, unit) => {
    const one = tag(role, unit);
    expect(withUnitsInForce(one)).toEqual(one);
  });

  it.each([
    ["minutes", 90, 90],
    ["Min.", 90, 90],
    ["hours", 1.5, 90],
    ["seconds", 5400, 90],
    ["days", 2, 2880],
    ["ms", 60_000, 1],
  ])("makes a filter meter in %s with the reading %f count %f min", (unit, value, minutes) => {
    const one = withUnitsInForce(tag("filter_minutes", unit));
    // As derivation counts (`takeMinutes`).
    expect((value * one.factor * 60) / unitsPerHour(one.unit)).toBeCloseTo(minutes, 9);
  });

  it("gives a filter meter in days the maximum rate of an hour meter, converted to days", () => {
    const counter = { step: 0.01, retained: true };
    const rate = maxRateOf(withUnitsInForce(tag("filter_minutes", "days", { counter })), PARAMETERS);
    expect(rate).toBeCloseTo(1.02 / 24, 9);
  });

  it.each<[TagRole, string, number, number, number]>([
    ["air_temperature", "degF", 1, 104, 40],
    ["filter_pressure", "in. W.C.", 1, 0.5, 124.5445],
    ["filter_pressure", "kPa", 1, 0.125, 125],
    ["filter_pressure", "counts", 2.5, 50, 125],
    ["fan_speed", "percent", 1, 80, 80],
    ["fan_speed", "Hz", 100 / 60, 60, 100],
  ])(
    "converts, for the role %s in %s with factor %f, the reading %f to %f",
    (...[role, unit, factor, value, expected]) => {
      expect(inFigureUnit(value, withUnitsInForce(tag(role, unit, { factor })))).toBeCloseTo(expected, 6);
    },
  );

  it.each<[TagRole, string, number, number]>([
    ["gas", "kWh", 1, 1 / 29.300_111],
    ["gas", "therms", 1, 1],
    ["gas", "MMBTU", 1, 10],
    ["gas", "m3", 0.36, 0.36],
    ["gas", "kWh", 0.034, 0.034],
    ["kwh", "MWh", 1, 1000],
    ["kwh", "Wh", 0.001, 0.001],
    ["plc_clock", "min", 1, 60],
  ])("gives a tag with the role %s in %s with factor %f the factor %f", (...[role, unit, factor, expected]) => {
    expect(withUnitsInForce(tag(role, unit, { factor })).factor).toBeCloseTo(expected, 6);
  });

  it.each<[TagRole, string]>([
    ["filter_minutes", "minuets"],
    ["filter_minutes", "m"],
    ["filter_minutes", ""],
    ["hour_meter", "Pa"],
    ["gas", "m3"],
    ["kwh", "kW"],
    ["air_temperature", "deg"],
    ["filter_pressure", "C"],
    ["fan_speed", "Hz"],
    ["plc_clock", "ticks"],
  ])("removes only the role %s from a tag whose unit %j does not fit the role", (role, unit) => {
    const one = withUnitsInForce(tag(role, unit, { filter: "exhaust_filter" }));
    expect(one).toEqual({ ...tag("mode", unit, { filter: "exhaust_filter" }), role: undefined, unfit_role: role });
  });

  it("keeps the role of a tag whose role accepts any unit", () => {
    expect(withUnitsInForce(tag("booth_pressure", "furlong"))).toMatchObject({ role: "booth_pressure" });
    expect(withUnitsInForce(tag("cycle_counter", "C"))).toMatchObject({ role: "cycle_counter" });
  });
});

describe("unitFaultOf", () => {
  it.each([
    [
      { role: "filter_minutes", unit: "minuets", factor: 1 },
      { kind: "unknown", expected: "time", isFigureOff: true },
    ],
    [
      { role: "hour_meter", unit: "", factor: 1 },
      { kind: "missing", expected: "time", isFigureOff: false },
    ],
    [
      { role: "booth_pressure", unit: "C", factor: 1 },
      { kind: "unfit", expected: "pressure", isFigureOff: false },
    ],
    [
      { unit: "furlong", factor: 1 },
      { kind: "unknown", expected: undefined, isFigureOff: false },
    ],
    [{ unit: "", factor: 1 }, null],
    [{ unit: "l/min", factor: 1 }, null],
    [{ role: "gas", unit: "m3", factor: 0.36 }, null],
  ] as const)("returns, for the tag %j, %j", (one, fault) => {
    expect(unitFaultOf(one)).toEqual(fault);
  });
});
