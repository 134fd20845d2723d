import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { OpcuaPoint } from "../../../src/domain/profile.ts";
import { decodeValue, type RawValue, sampleOf } from "../../../src/acquisition/opcua/value.ts";

const point = (partial: Partial<OpcuaPoint> = {}): OpcuaPoint => ({
  node: { namespace: "urn:x", id: "s=x" },
  type: "uint32",
  scale: 1,
  offset: 0,
  sentinels: [],
  ...partial,
});
const raw = (type: number, value: unknown, more: Partial<RawValue> = {}): RawValue => ({
  type,
  value,
  isScalar: true,
  status: "Good",
  code: 0,
  source_at: null,
  ...more,
});
const wide = (value: bigint): readonly [number, number] => [
  Number(BigInt.asUintN(32, value >> 32n)),
  Number(BigInt.asUintN(32, value)),
];

const SECURE = { insecure: false };

describe("the OPC UA decoder", () => {
  const cases: readonly (readonly [string, Partial<OpcuaPoint>, RawValue, unknown])[] = [
    ["a Boolean", { type: "bool" }, raw(1, true), true],
    ["a scaled counter", { scale: 0.1 }, raw(7, 123), 12.3],
    ["an integer smaller than the profile's type", { type: "uint32" }, raw(5, 7), 7],
    ["a Float without noise", { type: "float32" }, raw(10, Math.fround(71.1)), 71.1],
    ["a Double (unchanged)", { type: "float64" }, raw(11, 9.932816023635677), 9.932816023635677],
    ["a Double where the profile says float32", { type: "float32" }, raw(11, 0.1 + 0.2), 0.1 + 0.2],
    ["an Int64", { type: "int64" }, raw(8, wide(-5n)), -5],
    ["a UInt64 beyond 2^53 (as text)", { type: "uint64" }, raw(9, wide(2n ** 63n + 1n)), "9223372036854775809"],
    [
      "a scaled UInt64 with every digit",
      { type: "uint64", scale: 0.1 },
      raw(9, wide(2n ** 63n)),
      "922337203685477580.8",
    ],
    ["a label of an Int64", { type: "int64", labels: { "-1": "off" } }, raw(8, wide(-1n)), "off"],
    ["a raw value without a label", { type: "uint16", labels: { "0": "off" } }, raw(5, 7), "7"],
    ["an Int64 of a point with a fractional sentinel", { type: "float64", sentinels: [0.5] }, raw(8, wide(3n)), 3],
    ["a String without trailing blanks", { type: "string" }, raw(12, "AB1  "), "AB1"],
    ["a LocalizedText", { type: "string" }, raw(21, { text: "Press", locale: "de" }), "Press"],
  ];
  for (const [name, partial, value, expected] of cases) {
    test(`returns a good value for ${name}`, () => {
      expect(decodeValue(point(partial), value)).toEqual({ value: expected, quality: "good" });
    });
  }

  const refused: readonly (readonly [string, Partial<OpcuaPoint>, RawValue, string])[] = [
    ["an empty value", {}, raw(0, null), "missing"],
    ["a null String", { type: "string" }, raw(12, null), "missing"],
    ["an array", {}, raw(7, [1, 2], { isScalar: false }), "wrong_type"],
    ["a String for a number", {}, raw(12, "7"), "wrong_type"],
    ["a Float for an integer", {}, raw(10, 7), "wrong_type"],
    ["a number for a bool", { type: "bool" }, raw(5, 1), "wrong_type"],
    ["NaN", { type: "float32" }, raw(10, NaN), "nan"],
    ["infinity", { type: "float64" }, raw(11, -Infinity), "inf"],
    ["a sentinel", { sentinels: [65_535] }, raw(5, 65_535), "sentinel"],
    [
      "a sentinel as text",
      { type: "uint64", sentinels: ["0xffffffffffffffff"] },
      raw(9, wide(2n ** 64n - 1n)),
      "sentinel",
    ],
    ["a number above the maximum", { max: 10 }, raw(7, 11), "above_max"],
    ["a number below the minimum", { type: "int64", min: 0 }, raw(8, wide(-(2n ** 62n))), "below_min"],
    ["a text with control characters", { type: "string" }, raw(12, "a\u0000b"), "not_text"],
    ["a text of 501 characters", { type: "string" }, raw(12, "x".repeat(501)), "wrong_type"],
    ["half a 64-bit number", { type: "int64" }, raw(8, [1]), "wrong_type"],
  ];
  for (const [name, partial, value, reason] of refused) {
    test(`returns no value and the reason ${reason} for ${name}`, () => {
      expect(decodeValue(point(partial), value)).toEqual({ value: null, quality: "bad", reason });
    });
  }

  test("marks a value over an unsecured connection as uncertain", () => {
    const sample = sampleOf({ name: "t", point: point() }, raw(7, 5), { insecure: true });
    expect(sample).toMatchObject({ quality: "uncertain", reason: "insecure" });
  });

  test.each([NaN, 0.5, Infinity])("omits the device's time if the server sends an invalid one: %f", (source_at) => {
    const told = sampleOf({ name: "t", point: point() }, raw(7, 5, { source_at }), SECURE);
    expect(told).toEqual({ tag: "t", value: 5, quality: "good" });
  });

  const statuses: readonly (readonly [name: string, code: number, quality: "good" | "uncertain" | "bad"])[] = [
    ["Good", 0x0000_0000, "good"],
    ["GoodClamped", 0x0030_0000, "good"],
    ["Good with the bit of an overflow", 0x0000_0480, "good"],
    ["Uncertain", 0x4000_0000, "uncertain"],
    ["UncertainSubNormal", 0x4095_0000, "uncertain"],
    ["Bad", 0x8000_0000, "bad"],
    ["BadWaitingForInitialData", 0x8032_0000, "bad"],
    ["BadSensorFailure", 0x808c_0000, "bad"],
    ["of the reserved severity", 0xffff_ffff, "bad"],
  ];
  test.each(statuses)("maps the status %s (%i) to %s quality, and keeps the device's time", (status, code, quality) => {
    const value = quality === "bad" ? null : 5;
    const reason = quality === "good" ? {} : { reason: status };
    const sample = sampleOf({ name: "t", point: point() }, raw(7, 5, { status, code, source_at: 12 }), SECURE);
    expect(sample).toEqual({ tag: "t", value, quality, source_at: 12, ...reason });
  });

  test("never returns a value with bad quality, or null without bad quality, whatever the type", () => {
    const type = fc.constantFrom<OpcuaPoint["type"]>("bool", "uint8", "int16", "int64", "float32", "float64", "string");
    fc.assert(
      fc.property(type, fc.integer({ min: 0, max: 30 }), fc.anything(), (of, dataType, value) => {
        const decoded = decodeValue(point({ type: of }), raw(dataType, value));
        return (decoded.quality === "bad") === (decoded.value === null);
      }),
    );
  });

  test("keeps every digit of a 64-bit number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (whole) => {
        const decoded = decodeValue(point({ type: "uint64" }), raw(9, wide(whole)));
        return decoded.value !== null && BigInt(String(decoded.value)) === whole;
      }),
    );
  });
});
