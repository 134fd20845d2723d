import { describe, expect, it } from "vitest";
import {
  conversionOf,
  converted,
  timeUnitInName,
  unitNames,
  unitOf,
  unitSpellings,
} from "../../src/domain/engineering-units.ts";

describe("unitOf", () => {
  it.each([
    ["min", "minutes Minute mins MIN Min. [min] (min) Minuten minutos"],
    ["h", "hours Hour hr hrs HRS h. H HUR Std. Stunden horas"],
    ["s", "sec seconds Sek S Segundos"],
    ["C", "°C ºC ℃ degC deg.C Celsius cel c"],
    ["F", "°F degF DEGF Fahrenheit fah ℉"],
    ["Pa", "pa PA Pascal"],
    ["inWC", "inwc INWC inH2O inH₂O in.W.C. in_H2O \"WC ″WC inWG iwc [in_i'H2O]"],
    ["%", "percent pct Prozent P1"],
    ["kWh", "kwh KWH kW·h kW.h kW*h kilowatthours"],
    ["therm", "therms thm"],
    ["MMBTU", "mmbtu"],
    ["m3", "m³ m^3 cbm"],
    ["CFM", "cfm ft3/min ft³/min"],
    ["rpm", "RPM r/min U/min"],
    ["Hz", "hz Hertz"],
  ])("recognizes %s by each usual spelling", (unit, spellings) => {
    const found = spellings.split(" ").map((spelling) => [spelling, unitOf(spelling)?.unit]);
    expect(found).toEqual(spellings.split(" ").map((spelling) => [spelling, unit]));
  });

  it("ignores spaces within a spelling", () => {
    expect(["deg F", " in. W.C. ", "inches of water column"].map((text) => unitOf(text)?.unit)).toEqual([
      "F",
      "inWC",
      "inWC",
    ]);
  });

  it.each(["", " ", "1/10 h", "minuets", "furlong", "MBTU", "x".repeat(41)])("returns undefined for %j", (text) => {
    expect(unitOf(text)).toBeUndefined();
  });

  it("respects upper and lower case if two units differ only in case", () => {
    expect(["MPa", "mPa", "mpa", "MW", "mW", "mw"].map((text) => unitOf(text)?.unit)).toEqual([
      "MPa",
      "mPa",
      undefined,
      "MW",
      "mW",
      undefined,
    ]);
  });

  it("recognizes each canonical name, and maps each spelling to a single unit", () => {
    for (const name of unitNames()) expect(unitOf(name)?.unit).toBe(name);
    for (const [spelling, unit] of unitSpellings()) expect([spelling, unitOf(spelling)]).toEqual([spelling, unit]);
  });
});

describe("conversionOf", () => {
  it.each([
    [104, "F", "C", 40],
    [-40, "F", "C", -40],
    [40, "C", "F", 104],
    [0, "K", "C", -273.15],
    [1, "inWC", "Pa", 249.089],
    [0.03, "inWC", "Pa", 7.47267],
    [90, "min", "h", 1.5],
    [1, "d", "min", 1440],
    [1, "therm", "BTU", 100_000],
    [29.300_111, "kWh", "therm", 1],
    [1, "ratio", "%", undefined],
    [1, "min", "C", undefined],
  ])("converts %f %s to %s with the result %s", (...[value, from, to, expected]) => {
    const source = unitOf(from);
    const target = unitOf(to);
    const conversion = source === undefined || target === undefined ? undefined : conversionOf(source, target);
    const result = conversion === undefined ? undefined : converted(value, conversion);
    if (expected === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(expected, 6);
  });
});

describe("timeUnitInName", () => {
  it.each([
    ["Exhaust filter hours", "h"],
    ["ExhaustFilterHrs", "h"],
    ["exhaust_minutes", "min"],
    ["Filterminuten", undefined],
    ["hour_meter", undefined],
    ["uptime_s", undefined],
    ["second_stage", undefined],
    ["hours_and_minutes", undefined],
  ])('returns, for the tag name "%s", the unit %s', (name, unit) => {
    expect(timeUnitInName(name)?.unit).toBe(unit);
  });
});
