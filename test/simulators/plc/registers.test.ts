import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBooth } from "../../../simulators/plc/model/booth.ts";
import { encodePoint } from "../../../simulators/plc/encode.ts";
import { modeCoder, registerImage } from "../../../simulators/plc/registers.ts";
import { findScenario } from "../../../simulators/plc/scenarios/all.ts";
import { virtualDriver, virtualLink } from "../../../simulators/virtual/driver.ts";
import { clickBooth } from "../../support/profiles.ts";
import { handClock } from "./rig.ts";
import type { ModbusPoint, ModbusTag } from "../../../src/domain/profile.ts";
import type { Scenario } from "../../../simulators/plc/model/scenario.ts";
import { readGroup } from "../../acquisition/driver-calls.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 3, 16);
const profile = clickBooth();
const scenario = (name: string): Scenario => findScenario(name) as Scenario;
const booth = createBooth({ scenario: scenario("standard-cycle"), seed: 3, start: START });
const image = registerImage(profile, booth);
const holding = (address: number, count: number, at: number): readonly number[] =>
  image.read({ table: "holding", address, count }, at) ?? [];
const tag = (point: Partial<ModbusPoint>, more: Partial<ModbusTag> = {}): ModbusTag =>
  ({ point: { table: "holding", address: 0, scale: 1, offset: 0, sentinels: [], ...point }, ...more }) as ModbusTag;
const quirks = (word_order: "high_first" | "low_first", string_order = word_order): typeof profile => ({
  ...profile,
  quirks: { ...profile.quirks, word_order, string_order },
});

describe("the PLC simulator's register encoding", () => {
  it("uses the profile's word order and character order", () => {
    const big = tag({ type: "uint32" });
    expect(encodePoint(quirks("high_first"), big, 0x1234_5678)).toEqual([0x1234, 0x5678]);
    expect(encodePoint(quirks("low_first"), big, 0x1234_5678)).toEqual([0x5678, 0x1234]);
    const float = tag({ type: "float32" });
    expect(encodePoint(quirks("high_first"), float, 1)).toEqual([0x3f80, 0]);
    expect(encodePoint(quirks("low_first"), float, 1)).toEqual([0, 0x3f80]);
    const text = tag({ type: "string", length: 3 });
    expect(encodePoint(quirks("high_first"), text, "AB1")).toEqual([0x4142, 0x3100, 0]);
    expect(encodePoint(quirks("low_first"), text, "AB1")).toEqual([0x4241, 0x0031, 0]);
  });

  it("scales values, counts only full steps, wraps counters, and writes negative numbers in two's complement", () => {
    const counter = { step: 0.1, retained: true };
    expect(encodePoint(profile, tag({ type: "uint16", scale: 0.1 }, { counter }), 12.39)).toEqual([123]);
    expect(encodePoint(profile, tag({ type: "uint16", scale: 0.1 }), 12.39)).toEqual([124]);
    expect(encodePoint(profile, tag({ type: "uint16" }, { counter }), 65_538)).toEqual([2]);
    expect(encodePoint(profile, tag({ type: "int16", offset: 10, scale: 0.5 }), 9)).toEqual([0xfffe]);
    expect(encodePoint(quirks("high_first"), tag({ type: "int32" }), -2)).toEqual([0xffff, 0xfffe]);
    expect(encodePoint(quirks("high_first"), tag({ type: "uint32" }, { counter }), 2 ** 32 + 5)).toEqual([0, 5]);
    expect(encodePoint(profile, tag({ type: "bool", bit: 9 }), true)).toEqual([512]);
  });

  it("uses different mode codes for ramp and soak if the profile has two codes for bake", () => {
    const code = modeCoder(profile);
    expect(code({ mode: "bake", phase: "ramp" })).toBe(6);
    expect(code({ mode: "bake", phase: "soak" })).toBe(7);
    expect(code({ mode: "spray", phase: null })).toBe(3);
    expect(code({ mode: "unknown", phase: null })).toBe(99);
  });
});

describe("the simulated register image of the profile click-booth", () => {
  const stages = booth.truth(START, START + 180 * MINUTE_MS).stages;

  it("shows a mode's code from the exact start of its stage", () => {
    for (const stage of stages.filter(({ start }) => start > START)) {
      const [before] = holding(0, 1, stage.start - 1);
      const [after] = holding(0, 1, stage.start);
      expect(profile.modes[String(after)]).toBe(stage.mode);
      expect(profile.modes[String(before)]).not.toBe(stage.mode);
    }
  });

  it("stores counters with the low word first and text with the low character first", () => {
    const at = START + 170 * MINUTE_MS;
    const [low = 0, high = 0] = holding(16_384, 2, at);
    expect(low + high * 65_536).toBe(1843);
    const [runLow = 0, runHigh = 0] = holding(16_386, 2, at);
    expect((runLow + runHigh * 65_536) / 10).toBeCloseTo(9_843_210 / 60 + 89, 0);
    const words = holding(36_868, 8, at);
    const text = words.flatMap((word) => [word & 0xff, word >> 8]).filter((byte) => byte > 0);
    expect(String.fromCharCode(...text)).toBe("ABCD-123-123");
  });

  it("can return a torn 32-bit value when the low word overflows into the high word", () => {
    const wrapping = createBooth({ scenario: scenario("counter-wrap"), seed: 3, start: START });
    const torn = registerImage(profile, wrapping);
    const gas = { table: "holding", address: 16_388, count: 2 } as const;
    const valueAt = (at: number, isTorn: boolean): number => {
      const [low = 0, high = 0] = torn.read(gas, at, isTorn) ?? [];
      return low + high * 65_536;
    };
    let at = wrapping.origin;
    while (valueAt(at, false) < 65_536) at += 1000;
    expect(valueAt(at - 1000, true)).toBe(65_535);
    expect(valueAt(at, false)).toBe(65_536);
    expect(valueAt(at, true)).toBe(0);
    expect(valueAt(at + 10_000, true)).toBe(valueAt(at + 10_000, false));
  });

  it("has unreadable addresses only where the profile has no tags", () => {
    expect(holding(190, 10, START)).toHaveLength(10);
    expect(image.read({ table: "holding", address: 199, count: 2 }, START)).toBeNull();
    expect(image.read({ table: "holding", address: 16_383, count: 1 }, START)).toBeNull();
    expect(image.read({ table: "coil", address: 0, count: 8 }, START)).toBeNull();
    expect(image.read({ table: "coil", address: 16_384, count: 7 }, START)).toHaveLength(7);
    expect(image.read({ table: "input", address: 0, count: 1 }, START)).toBeNull();
  });

  it("returns the same values for a block as for its single words", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 1, max: 40 }), (offset, count) => {
        const at = START + 47 * MINUTE_MS;
        for (const base of [0, 16_384, 28_672, 36_864]) {
          const size = Math.min(count, 64 - offset);
          const pieces = Array.from({ length: size }, (_, i) => holding(base + offset + i, 1, at)[0]);
          expect(holding(base + offset, size, at)).toEqual(pieces);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("the virtual driver (which reads the simulated booth without a network)", () => {
  const signal = new AbortController().signal;

  it("returns a group's samples in the profile's order, with the values of the registers", async () => {
    const clock = handClock(START + 30 * MINUTE_MS);
    const driver = virtualDriver({ booth, profile, clock });
    await driver.open(signal);
    const fast = await readGroup(driver, "fast");
    expect(fast.map((sample) => sample.tag)).toEqual(profile.tags.filter((t) => t.group === "fast").map((t) => t.name));
    expect(fast.every((sample) => sample.quality === "good")).toBe(true);
    expect(fast.find((sample) => sample.tag === "mode")?.value).toBe(holding(0, 1, clock.wall())[0]);
    const slow = await readGroup(driver, "slow");
    expect(slow.find((sample) => sample.tag === "plc_program_revision")?.value).toBe("14C");
  });

  it("fails with the simulated fault, and must be opened again after a failure", async () => {
    const link = virtualLink();
    const clock = handClock(START);
    const driver = virtualDriver({ booth, profile, clock, link });
    await expect(readGroup(driver, "fast")).rejects.toMatchObject({ kind: "closed" });
    link.fault = "refused";
    await expect(driver.open(signal)).rejects.toMatchObject({ kind: "refused" });
    link.fault = "timeout";
    const failing = expect(driver.open(signal)).rejects.toMatchObject({ kind: "timeout" });
    expect(clock.sleepers()).toBe(1);
    clock.set(START + link.timeout_ms);
    await failing;
    link.fault = null;
    link.bad_tags = ["mode"];
    await driver.open(signal);
    const [mode] = await readGroup(driver, "fast");
    expect(mode).toMatchObject({ tag: "mode", value: null, quality: "bad" });
  });

  it("can't be opened while the booth has no power, and returns bad quality for a faulty sensor", async () => {
    const dark = createBooth({ scenario: scenario("power-cycle"), seed: 3, start: START });
    const [outage] = dark.truth(START, START + 300 * MINUTE_MS).outages;
    const clock = handClock((outage?.start ?? 0) + 1000);
    await expect(virtualDriver({ booth: dark, profile, clock }).open(signal)).rejects.toMatchObject({
      kind: "refused",
    });
    const faulty = createBooth({ scenario: scenario("sensor-faults"), seed: 3, start: START });
    const driver = virtualDriver({
      booth: faulty,
      profile,
      clock: handClock(faulty.origin + (9 * 60 + 55) * MINUTE_MS),
    });
    await driver.open(signal);
    const air = (await readGroup(driver, "fast")).find((sample) => sample.tag === "air_temperature");
    expect(air).toMatchObject({ quality: "bad", reason: "nan" });
  });

  it("returns a constant value for a stuck sensor", () => {
    const faulty = createBooth({ scenario: scenario("sensor-faults"), seed: 3, start: START });
    const shown = (at: number): readonly number[] | null =>
      registerImage(profile, faulty).read(
        { table: "holding", address: 28_678, count: 2 },
        faulty.origin + at * MINUTE_MS,
      );
    expect(shown(8 * 60 + 30)).toEqual(shown(9 * 60 + 15));
    expect(shown(9 * 60 + 40)).not.toEqual(shown(9 * 60 + 50));
  });
});
