import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { encodePoint } from "../../../simulators/plc/encode.ts";
import { type Decoded, decodePoint } from "../../../src/acquisition/rules/decode.ts";
import {
  type FirstOf,
  type ModbusPoint,
  type ModbusQuirks,
  type ModbusTag,
  type ModbusType,
  pointWidth,
} from "../../../src/domain/profile.ts";
import { point, profileOf, QUIRKS } from "../../support/profiles.ts";

type Orders = Pick<ModbusQuirks, "word_order" | "byte_order" | "string_order">;

/** By the letters of manuals, for a value whose bytes are A (most significant) to D. */
const ABCD: Orders = { word_order: "high_first", byte_order: "high_first", string_order: "high_first" };
const CDAB: Orders = { ...ABCD, word_order: "low_first" };
const BADC: Orders = { ...ABCD, byte_order: "low_first" };
const DCBA: Orders = { ...CDAB, byte_order: "low_first" };

function decode(partial: Partial<ModbusPoint>, words: readonly number[], orders: Orders = ABCD): Decoded {
  return decodePoint(point(partial), orders, { words, index: 0 });
}

const EXAMPLES: readonly (readonly [string, Partial<ModbusPoint>, readonly number[], Orders, unknown])[] = [
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
  ["float64 -0 is 0", { type: "float64" }, [0x8000, 0, 0, 0], ABCD, 0],
  ["float64 with a scale", { type: "float64", scale: 0.1 }, [0x4008, 0, 0, 0], ABCD, 0.3],
  ["uint16 with its bytes swapped", { type: "uint16" }, [0x3412], BADC, 0x1234],
  ["int16 with its bytes swapped", { type: "int16" }, [0xfeff], BADC, -2],
  ["a bit of a register with its bytes swapped", { type: "bool", bit: 8 }, [0x0001], BADC, true],
  ["the point's own byte order wins", { type: "uint16", byte_order: "high_first" }, [0x1234], BADC, 0x1234],
  ["text has an order of its own", { type: "string", length: 1 }, [0x4142], DCBA, "AB"],
  ["the point's own text order wins", { type: "string", length: 1, string_order: "low_first" }, [0x4142], ABCD, "BA"],
  ["text of fixed length, padded with blanks", { type: "string", length: 3 }, [0x4142, 0x2020, 0x2020], ABCD, "AB"],
  ["uint64 within 2^53", { type: "uint64" }, [0x001f, 0xffff, 0xffff, 0xffff], ABCD, 9_007_199_254_740_991],
  ["uint64 beyond 2^53", { type: "uint64" }, [0x0020, 0, 0, 1], ABCD, "9007199254740993"],
  ["uint64 at its highest", { type: "uint64" }, [65_535, 65_535, 65_535, 65_535], ABCD, "18446744073709551615"],
  ["int64 -1", { type: "int64" }, [65_535, 65_535, 65_535, 65_535], ABCD, -1],
  ["int64 at its lowest", { type: "int64" }, [0x8000, 0, 0, 0], ABCD, "-9223372036854775808"],
  ["uint64, low word first", { type: "uint64" }, [0x0004, 0x0003, 0x0002, 0x0001], CDAB, 281_483_566_841_860],
  ["uint64 with a scale, exact", { type: "uint64", scale: 0.001 }, [0, 0, 0, 1234], ABCD, 1.234],
  ["uint64 with a scale, beyond", { type: "uint64", scale: 0.1 }, [0x0020, 0, 0, 1], ABCD, "900719925474099.3"],
  ["int64 with a scale, far below 0", { type: "int64", scale: 0.01 }, [0x8000, 0, 0, 0], ABCD, "-92233720368547758.08"],
  ["bcd16", { type: "bcd16" }, [0x9998], ABCD, 9998],
  ["bcd16 after it wrapped", { type: "bcd16" }, [0x0001], ABCD, 1],
  ["bcd16 with a scale", { type: "bcd16", scale: 0.1 }, [0x0123], ABCD, 12.3],
  ["bcd32", { type: "bcd32" }, [0x1234, 0x5678], ABCD, 12_345_678],
  ["bcd32 at its highest, low word first", { type: "bcd32" }, [0x9999, 0x9990], CDAB, 99_909_999],
  ["bcd32 with its bytes swapped", { type: "bcd32" }, [0x3412, 0x7856], BADC, 12_345_678],
  ["a label", { labels: { "0": "closed", "1": "open" } }, [1], ABCD, "open"],
  ["a raw value without a label", { labels: { "0": "closed", "1": "open" } }, [7], ABCD, "7"],
  ["a label of a negative value", { type: "int16", labels: { "-1": "unknown" } }, [0xffff], ABCD, "unknown"],
  ["a raw value is never taken for what every object has", { type: "uint16", labels: {} }, [0], ABCD, "0"],
];

const REFUSED: readonly (readonly [string, string, Partial<ModbusPoint>, readonly number[]])[] = [
  ["bcd16 with a digit A", "not_bcd", { type: "bcd16" }, [0x12a4]],
  ["bcd32 with a digit F", "not_bcd", { type: "bcd32" }, [0x1234, 0x567f]],
  [
    "uint64 sentinel",
    "sentinel",
    { type: "uint64", sentinels: ["0xFFFFFFFFFFFFFFFF"] },
    [65_535, 65_535, 65_535, 65_535],
  ],
  ["int64 sentinel", "sentinel", { type: "int64", sentinels: ["-9223372036854775808"] }, [0x8000, 0, 0, 0]],
  ["float64 sentinel", "sentinel", { type: "float64", sentinels: [-999.9] }, [0xc08f, 0x3f33, 0x3333, 0x3333]],
  ["bcd16 sentinel", "sentinel", { type: "bcd16", sentinels: [9999] }, [0x9999]],
  ["a sentinel before its label", "sentinel", { sentinels: [255], labels: { "255": "?" } }, [255]],
  ["float64 NaN", "nan", { type: "float64" }, [0x7ff8, 0, 0, 0]],
  ["float64 infinity", "inf", { type: "float64" }, [0xfff0, 0, 0, 0]],
  ["float64 that its scale drives beyond", "inf", { type: "float64", scale: 10 }, [0x7fef, 65_535, 65_535, 65_535]],
  ["uint64 above max", "above_max", { type: "uint64", max: 100 }, [0x7fff, 0, 0, 0]],
  ["int64 below min", "below_min", { type: "int64", min: 0 }, [0x8000, 0, 0, 0]],
  ["three registers for a value of four", "missing", { type: "uint64" }, [1, 2, 3]],
];

test.each(EXAMPLES)("%s", (...[, partial, words, orders, expected]) => {
  expect(decode(partial, words, orders)).toEqual({ value: expected, quality: "good" });
});

test.each(REFUSED)("%s is no value", (...[, reason, partial, words]) => {
  expect(decode(partial, words)).toEqual({ value: null, quality: "bad", reason });
});

describe("the simulator's encoder and the decoder, written apart, agree", () => {
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
  test.each(RANGES)("%s in every order", (type, min, max) => {
    const tag = made(type);
    if (tag === undefined) throw new Error("no tag");
    fc.assert(
      fc.property(orders, fc.bigInt(BigInt(min), BigInt(max)).map(Number), (at, value) => {
        expect(back({ at, tag, value })).toBe(value + 0);
      }),
      { numRuns: 200 },
    );
  });

  test.each(["float32", "float64"] as const)("%s in every order", (type) => {
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
  });

  test("bits and text in every order", () => {
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

  test("a BCD counter wraps where its digits end", () => {
    const counter = { step: 1, modulus: 10_000, retained: true };
    const tag = made("bcd16");
    if (tag === undefined) throw new Error("no tag");
    expect([9998, 9999, 10_000, 10_001].map((value) => back({ at: ABCD, tag: { ...tag, counter }, value }))).toEqual([
      9998, 9999, 0, 1,
    ]);
  });
});
