import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type Decoded,
  decodePoint,
  type Orders,
  scaleInteger,
  shortestFloat32,
} from "../../../src/acquisition/rules/decode.ts";
import type { ModbusPoint } from "../../../src/domain/profile.ts";
import { point } from "../../support/profiles.ts";

const HIGH: Orders = { word_order: "high_first", string_order: "high_first" };
const LOW: Orders = { word_order: "low_first", string_order: "low_first" };

function decode(partial: Partial<ModbusPoint>, words: readonly number[], orders = HIGH): Decoded {
  return decodePoint(point(partial), orders, { words, index: 0 });
}
const value = (partial: Partial<ModbusPoint>, words: readonly number[], orders = HIGH): unknown =>
  decode(partial, words, orders).value;

describe("worked examples", () => {
  const examples: readonly (readonly [string, Partial<ModbusPoint>, readonly number[], Orders, unknown])[] = [
    ["uint16", { type: "uint16" }, [0xffff], HIGH, 65_535],
    ["int16", { type: "int16" }, [0xffff], HIGH, -1],
    ["int16 at its lowest", { type: "int16" }, [0x8000], HIGH, -32_768],
    ["uint32, high word first", { type: "uint32" }, [0x0001, 0x0002], HIGH, 65_538],
    ["uint32, low word first", { type: "uint32" }, [0x0002, 0x0001], LOW, 65_538],
    ["uint32 at its highest", { type: "uint32" }, [0xffff, 0xffff], HIGH, 4_294_967_295],
    ["int32", { type: "int32" }, [0xffff, 0xfffe], HIGH, -2],
    ["the point's own word order wins", { type: "uint32", word_order: "low_first" }, [2, 1], HIGH, 65_538],
    ["float32", { type: "float32" }, [0x428e, 0x3333], HIGH, 71.1],
    ["float32, low word first", { type: "float32" }, [0x3333, 0x428e], LOW, 71.1],
    ["float32 -0 is 0", { type: "float32" }, [0x8000, 0], HIGH, 0],
    ["a tenth", { type: "uint16", scale: 0.1 }, [123], HIGH, 12.3],
    ["a hundredth of a large counter", { type: "uint32", scale: 0.01 }, [0xffff, 0xffff], HIGH, 42_949_672.95],
    ["scale and offset", { type: "int16", scale: 0.1, offset: -40.05 }, [3], HIGH, -39.75],
    ["a scale that no decimal holds", { type: "uint16", scale: 1 / 3 }, [3], HIGH, 1],
    ["the same of 64 bits", { type: "uint64", scale: 1 / 3 }, [0, 0, 0, 3], HIGH, 1],
    ["a negative scale of 0", { type: "uint16", scale: -1 }, [0], HIGH, 0],
    ["a bit that is set", { type: "bool", bit: 15 }, [0x8000], HIGH, true],
    ["a bit that isn't", { type: "bool", bit: 14 }, [0x8000], HIGH, false],
    ["text", { type: "string", length: 2 }, [0x4142, 0x4320], HIGH, "ABC"],
    ["text, low byte first, ended by NUL", { type: "string", length: 2 }, [0x4241, 0x0043], LOW, "ABC"],
    ["text after the NUL doesn't count", { type: "string", length: 2 }, [0x4100, 0x4243], HIGH, "A"],
    ["nothing but NUL", { type: "string", length: 2 }, [0, 0], HIGH, ""],
  ];
  test.each(examples)("%s", (...[, partial, words, orders, expected]) => {
    expect(decode(partial, words, orders)).toEqual({ value: expected, quality: "good" });
    expect(Object.is(value(partial, words, orders), -0)).toBe(false);
  });

  const refused: readonly (readonly [string, Partial<ModbusPoint>, readonly number[]])[] = [
    ["sentinel", { type: "int16", sentinels: [-32_768] }, [0x8000]],
    ["sentinel", { type: "uint32", sentinels: [7, 0xffffffff], scale: 0.1 }, [0xffff, 0xffff]],
    ["sentinel", { type: "float32", sentinels: [-999.9] }, [0xc479, 0xf99a]],
    ["nan", { type: "float32" }, [0x7fc0, 0]],
    ["nan", { type: "float32" }, [0x7f80, 1]],
    ["inf", { type: "float32" }, [0x7f80, 0]],
    ["inf", { type: "float32" }, [0xff80, 0]],
    ["below_min", { type: "float32", min: -50 }, [0xc2ca, 0]],
    ["above_max", { type: "uint16", scale: 0.1, max: 12.2 }, [123]],
    ["not_text", { type: "string", length: 1 }, [0x0741]],
    ["not_text", { type: "string", length: 1 }, [0x4180]],
    ["missing", { type: "uint32" }, [1]],
    ["missing", { type: "string", length: 3 }, [0x4141, 0x4141]],
  ];
  test.each(refused)("%s is no value", (reason, partial, words) => {
    expect(decode(partial, words)).toEqual({ value: null, quality: "bad", reason });
  });

  test("a bit table has one word per bit, and an index after the end has no value", () => {
    const coil = point({ table: "coil", type: "bool" });
    const at = { words: [0, 1], index: 1 };
    expect(decodePoint(coil, HIGH, at)).toEqual({ value: true, quality: "good" });
    expect(decodePoint(coil, HIGH, { ...at, index: 2 }).value).toBe(null);
  });
});

describe("properties", () => {
  const word = fc.nat(0xffff);

  test("a decimal scale gives the decimal that a person would write", () => {
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.integer({ min: 0, max: 6 }), (raw, decimals) => {
        const digits = String(raw).padStart(decimals + 1, "0");
        const written = `${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}0`;
        return scaleInteger(raw, Number(`1e-${decimals}`), 0) === Number(written);
      }),
    );
  });

  test("the shortest float is the same float, and no longer than nine digits", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (float) => {
        const short = shortestFloat32(float);
        return (
          Math.fround(short) === float + 0 &&
          String(short)
            .replace(/e.*|[-.]/g, "")
            .replace(/^0+|0+$/g, "").length <= 9
        );
      }),
    );
  });

  test("whatever the registers hold, the outcome is a finite value or null with a reason", () => {
    const type = fc.constantFrom<ModbusPoint["type"]>(
      "bool",
      "uint16",
      "int16",
      "uint32",
      "int32",
      "float32",
      "string",
    );
    const scale = fc.double({ noNaN: true, noDefaultInfinity: true });
    const made = fc.record({ type, scale, offset: scale });
    fc.assert(
      fc.property(made, fc.array(word, { maxLength: 4 }), (partial, words) => {
        const decoded = decode({ ...partial, length: 2 }, words);
        if (decoded.value === null) return decoded.reason.length > 0;
        return typeof decoded.value !== "number" || Number.isFinite(decoded.value);
      }),
    );
  });

  test("word order is nothing but the order of words", () => {
    fc.assert(
      fc.property(fc.constantFrom<ModbusPoint["type"]>("uint32", "int32", "float32"), word, word, (type, a, b) => {
        expect(decode({ type }, [a, b], HIGH)).toEqual(decode({ type }, [b, a], LOW));
      }),
    );
  });
});
