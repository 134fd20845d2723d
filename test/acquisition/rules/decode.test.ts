import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type Decoded,
  decodePoint,
  type Orders,
  scaleInteger,
  shortestFloat32,
} from "../../../src/acquisition/rules/decode.ts";
import {
  type FirstOf,
  type ModbusPoint,
  type ModbusTag,
  type ModbusType,
  pointWidth,
} from "../../../src/domain/profile.ts";
import { encodePoint } from "../../../simulators/plc/encode.ts";
import { point, profileOf, QUIRKS } from "../../support/profiles.ts";

/** Order of a value whose bytes are A (most significant) to D, named as in manuals. */
const ABCD = { word_order: "high_first", byte_order: "high_first", string_order: "high_first" } as const;
const CDAB = { ...ABCD, word_order: "low_first" } as const;
const BADC = { ...ABCD, byte_order: "low_first" } as const;
const DCBA = { ...CDAB, byte_order: "low_first" } as const;
const LOW: Orders = { word_order: "low_first", string_order: "low_first" };

function decode(partial: Partial<ModbusPoint>, words: readonly number[], orders: Orders = ABCD): Decoded {
  return decodePoint(point(partial), orders, { words, index: 0 });
}
const value = (partial: Partial<ModbusPoint>, words: readonly number[], orders: Orders = ABCD): unknown =>
  decode(partial, words, orders).value;

describe("decodePoint", () => {
  const examples: readonly (readonly [string, Partial<ModbusPoint>, readonly number[], Orders, unknown])[] = [
    ["uint16", { type: "uint16" }, [0xffff], ABCD, 65_535],
    ["int16", { type: "int16" }, [0xffff], ABCD, -1],
    ["int16 at its lowest", { type: "int16" }, [0x8000], ABCD, -32_768],
    ["uint32 at its highest", { type: "uint32" }, [0xffff, 0xffff], ABCD, 4_294_967_295],
    ["int32", { type: "int32" }, [0xffff, 0xfffe], ABCD, -2],
    ["a value in the point's own word order", { type: "uint32", word_order: "low_first" }, [2, 1], ABCD, 65_538],
    ["float32 -0, which becomes 0", { type: "float32" }, [0x8000, 0], ABCD, 0],
    ["a value with scale 0.1", { type: "uint16", scale: 0.1 }, [123], ABCD, 12.3],
    ["a large counter with scale 0.01", { type: "uint32", scale: 0.01 }, [0xffff, 0xffff], ABCD, 42_949_672.95],
    ["a value with scale and offset", { type: "int16", scale: 0.1, offset: -40.05 }, [3], ABCD, -39.75],
    ["a value with a scale that no decimal holds", { type: "uint16", scale: 1 / 3 }, [3], ABCD, 1],
    ["a 64-bit value with a scale that no decimal holds", { type: "uint64", scale: 1 / 3 }, [0, 0, 0, 3], ABCD, 1],
    ["0 with a negative scale", { type: "uint16", scale: -1 }, [0], ABCD, 0],
    ["a bit that is set", { type: "bool", bit: 15 }, [0x8000], ABCD, true],
    ["a bit that isn't set", { type: "bool", bit: 14 }, [0x8000], ABCD, false],
    ["text", { type: "string", length: 2 }, [0x4142, 0x4320], ABCD, "ABC"],
    ["text, low byte first, ended by NUL", { type: "string", length: 2 }, [0x4241, 0x0043], LOW, "ABC"],
    ["text with further characters after NUL", { type: "string", length: 2 }, [0x4100, 0x4243], ABCD, "A"],
    ["text of NULs only, which becomes empty", { type: "string", length: 2 }, [0, 0], ABCD, ""],
    ["uint32 ABCD", { type: "uint32" }, [0x1234, 0x5678], ABCD, 0x12345678],
    ["uint32 CDAB", { type: "uint32" }, [0x5678, 0x1234], CDAB, 0x12345678],
    ["uint32 BADC", { type: "uint32" }, [0x3412, 0x7856], BADC, 0x12345678],
    ["uint32 DCBA", { type: "uint32" }, [0x7856, 0x3412], DCBA, 0x12345678],
    ["float32 ABCD", { type: "float32" }, [0x42f6, 0xe979], ABCD, 123.456],
    ["float32 CDAB", { type: "float32" }, [0xe979, 0x42f6], CDAB, 123.456],
    ["float32 BADC", { type: "float32" }, [0xf642, 0x79e9], BADC, 123.456],
    ["float32 DCBA", { type: "float32" }, [0x79e9, 0xf642], DCBA, 123.456],
    ["float64 ABCD", { type: "float64" }, [0x405e, 0xdd2f, 0x1a9f, 0xbe77], ABCD, 123.456],
    ["float64 CDAB", { type: "float64" }, [0xbe77, 0x1a9f, 0xdd2f, 0x405e], CDAB, 123.456],
    ["float64 BADC", { type: "float64" }, [0x5e40, 0x2fdd, 0x9f1a, 0x77be], BADC, 123.456],
    ["float64 DCBA", { type: "float64" }, [0x77be, 0x9f1a, 0x2fdd, 0x5e40], DCBA, 123.456],
    ["float64 -0, which becomes 0", { type: "float64" }, [0x8000, 0, 0, 0], ABCD, 0],
    ["float64 with a scale", { type: "float64", scale: 0.1 }, [0x4008, 0, 0, 0], ABCD, 0.3],
    ["uint16 with its bytes swapped", { type: "uint16" }, [0x3412], BADC, 0x1234],
    ["int16 with its bytes swapped", { type: "int16" }, [0xfeff], BADC, -2],
    ["a bit of a register with its bytes swapped", { type: "bool", bit: 8 }, [0x0001], BADC, true],
    ["a value in the point's own byte order", { type: "uint16", byte_order: "high_first" }, [0x1234], BADC, 0x1234],
    ["text in its own byte order", { type: "string", length: 1 }, [0x4142], DCBA, "AB"],
    [
      "text in the point's own byte order",
      { type: "string", length: 1, string_order: "low_first" },
      [0x4142],
      ABCD,
      "BA",
    ],
    ["text of fixed length, padded with blanks", { type: "string", length: 3 }, [0x4142, 0x2020, 0x2020], ABCD, "AB"],
    ["uint64 within 2^53", { type: "uint64" }, [0x001f, 0xffff, 0xffff, 0xffff], ABCD, 9_007_199_254_740_991],
    ["uint64 beyond 2^53", { type: "uint64" }, [0x0020, 0, 0, 1], ABCD, "9007199254740993"],
    ["uint64 at its highest", { type: "uint64" }, [65_535, 65_535, 65_535, 65_535], ABCD, "18446744073709551615"],
    ["int64 -1", { type: "int64" }, [65_535, 65_535, 65_535, 65_535], ABCD, -1],
    ["int64 at its lowest", { type: "int64" }, [0x8000, 0, 0, 0], ABCD, "-9223372036854775808"],
    ["uint64, low word first", { type: "uint64" }, [0x0004, 0x0003, 0x0002, 0x0001], CDAB, 281_483_566_841_860],
    ["uint64 with a scale", { type: "uint64", scale: 0.001 }, [0, 0, 0, 1234], ABCD, 1.234],
    ["uint64 beyond 2^53 with a scale", { type: "uint64", scale: 0.1 }, [0x0020, 0, 0, 1], ABCD, "900719925474099.3"],
    [
      "int64 with a scale, far below 0",
      { type: "int64", scale: 0.01 },
      [0x8000, 0, 0, 0],
      ABCD,
      "-92233720368547758.08",
    ],
    ["bcd16", { type: "bcd16" }, [0x9998], ABCD, 9998],
    ["bcd16 after a wrap", { type: "bcd16" }, [0x0001], ABCD, 1],
    ["bcd16 with a scale", { type: "bcd16", scale: 0.1 }, [0x0123], ABCD, 12.3],
    ["bcd32", { type: "bcd32" }, [0x1234, 0x5678], ABCD, 12_345_678],
    ["bcd32 at its highest, low word first", { type: "bcd32" }, [0x9999, 0x9990], CDAB, 99_909_999],
    ["bcd32 with its bytes swapped", { type: "bcd32" }, [0x3412, 0x7856], BADC, 12_345_678],
    ["a label", { labels: { "0": "closed", "1": "open" } }, [1], ABCD, "open"],
    ["a raw value without a label", { labels: { "0": "closed", "1": "open" } }, [7], ABCD, "7"],
    ["a label of a negative value", { type: "int16", labels: { "-1": "unknown" } }, [0xffff], ABCD, "unknown"],
    ["a raw value if the labels are empty", { type: "uint16", labels: {} }, [0], ABCD, "0"],
  ];
  test.each(examples)("returns the expected value for %s", (...[, partial, words, orders, expected]) => {
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
    ["not_bcd", { type: "bcd16" }, [0x12a4]],
    ["not_bcd", { type: "bcd32" }, [0x1234, 0x567f]],
    ["sentinel", { type: "uint64", sentinels: ["0xFFFFFFFFFFFFFFFF"] }, [65_535, 65_535, 65_535, 65_535]],
    ["sentinel", { type: "int64", sentinels: ["-9223372036854775808"] }, [0x8000, 0, 0, 0]],
    ["sentinel", { type: "float64", sentinels: [-999.9] }, [0xc08f, 0x3f33, 0x3333, 0x3333]],
    ["sentinel", { type: "bcd16", sentinels: [9999] }, [0x9999]],
    ["sentinel", { sentinels: [255], labels: { "255": "?" } }, [255]],
    ["nan", { type: "float64" }, [0x7ff8, 0, 0, 0]],
    ["inf", { type: "float64" }, [0xfff0, 0, 0, 0]],
    ["inf", { type: "float64", scale: 10 }, [0x7fef, 65_535, 65_535, 65_535]],
    ["above_max", { type: "uint64", max: 100 }, [0x7fff, 0, 0, 0]],
    ["below_min", { type: "int64", min: 0 }, [0x8000, 0, 0, 0]],
    ["missing", { type: "uint64" }, [1, 2, 3]],
  ];
  test.each(refused)("returns no value and the reason %s for a point %j", (reason, partial, words) => {
    expect(decode(partial, words)).toEqual({ value: null, quality: "bad", reason });
  });

  test("reads one word per bit from a bit table, and no value after its end", () => {
    const coil = point({ table: "coil", type: "bool" });
    const at = { words: [0, 1], index: 1 };
    expect(decodePoint(coil, ABCD, at)).toEqual({ value: true, quality: "good" });
    expect(decodePoint(coil, ABCD, { ...at, index: 2 }).value).toBe(null);
  });
});

describe("decoding any registers", () => {
  const word = fc.nat(0xffff);

  test("with a decimal scale gives the exact decimal number", () => {
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.integer({ min: 0, max: 6 }), (raw, decimals) => {
        const digits = String(raw).padStart(decimals + 1, "0");
        const written = `${digits.slice(0, digits.length - decimals)}.${digits.slice(digits.length - decimals)}0`;
        return scaleInteger(raw, Number(`1e-${decimals}`), 0) === Number(written);
      }),
    );
  });

  test("as float32 returns a decimal number of at most nine digits that converts back to the same float", () => {
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

  test("gives a finite value, or null with a reason", () => {
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
});

describe("decodePoint with the simulator's independent encoder", () => {
  const order = fc.constantFrom<FirstOf>("high_first", "low_first");
  const orders = fc.record({ word_order: order, byte_order: order, string_order: order });
  const made = (type: ModbusType, more: Partial<ModbusPoint> = {}): ModbusTag | undefined =>
    profileOf([point({ type, ...more })]).tags[0];
  const back = (given: { at: Orders; tag: ModbusTag; value: number | string | boolean }): unknown => {
    const { at, tag, value } = given;
    const profile = { ...profileOf([tag.point]), quirks: { ...QUIRKS, ...at } };
    const words = encodePoint(profile, tag, value);
    expect(words.length).toBe(pointWidth(tag.point));
    return decodePoint(tag.point, at, { words, index: 0 }).value;
  };

  const RANGES: readonly (readonly [ModbusType, number, number])[] = [
    ["uint16", 0, 65_535],
    ["int16", -32_768, 32_767],
    ["bcd16", 0, 9999],
    ["uint32", 0, 4_294_967_295],
    ["int32", -2_147_483_648, 2_147_483_647],
    ["bcd32", 0, 99_999_999],
    ["uint64", 0, Number.MAX_SAFE_INTEGER],
    ["int64", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ];
  test.each(RANGES)("returns the encoded integer (%s) in every word and byte order", (type, min, max) => {
    const tag = made(type);
    if (tag === undefined) throw new Error("no tag");
    fc.assert(
      fc.property(orders, fc.bigInt(BigInt(min), BigInt(max)).map(Number), (at, value) => {
        expect(back({ at, tag, value })).toBe(value + 0);
      }),
      { numRuns: 200 },
    );
  });

  test.each(["float32", "float64"] as const)(
    "returns the encoded floating-point number (%s) in every word and byte order",
    (type) => {
      const tag = made(type);
      if (tag === undefined) throw new Error("no tag");
      const values =
        type === "float32"
          ? fc.float({ noNaN: true, noDefaultInfinity: true })
          : fc.double({ noNaN: true, noDefaultInfinity: true });
      fc.assert(
        fc.property(orders, values, (at, value) => {
          const number = Number(back({ at, tag, value }));
          expect(type === "float32" ? Math.fround(number) : number).toBe(value + 0);
        }),
      );
    },
  );

  test("returns the encoded bit or text in every word and byte order", () => {
    fc.assert(
      fc.property(orders, fc.nat(15), fc.stringMatching(/^[A-Z0-9-]{0,8}$/), (at, bit, text) => {
        const flag = made("bool", { bit });
        const name = made("string", { length: 4 });
        if (flag === undefined || name === undefined) throw new Error("no tag");
        expect(back({ at, tag: flag, value: true })).toBe(true);
        expect(back({ at, tag: flag, value: false })).toBe(false);
        expect(back({ at, tag: name, value: text })).toBe(text);
      }),
    );
  });

  test("returns 0 for a BCD counter that wraps after its last digit", () => {
    const counter = { step: 1, modulus: 10_000, retained: true };
    const tag = made("bcd16");
    if (tag === undefined) throw new Error("no tag");
    expect([9998, 9999, 10_000, 10_001].map((value) => back({ at: ABCD, tag: { ...tag, counter }, value }))).toEqual([
      9998, 9999, 0, 1,
    ]);
  });
});
