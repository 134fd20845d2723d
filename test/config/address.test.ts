import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { parseAddress } from "../../src/config/profile-address.ts";

describe("addresses in every notation", () => {
  test.each<readonly [number | string, string, number]>([
    [40001, "holding", 0],
    [49999, "holding", 9998],
    [400001, "holding", 0],
    ["400001", "holding", 0],
    [465536, "holding", 65535],
    [416385, "holding", 16384],
    [30001, "input", 0],
    [300001, "input", 0],
    [365536, "input", 65535],
    [100001, "discrete", 0],
    [165536, "discrete", 65535],
    [1, "coil", 0],
    ["000001", "coil", 0],
    [16385, "coil", 16384],
    [65536, "coil", 65535],
    ["4x0001", "holding", 0],
    ["4X16385", "holding", 16384],
    ["3x1", "input", 0],
    ["1x1", "discrete", 0],
    ["0x1", "coil", 0],
    ["holding:0x4000", "holding", 16384],
    ["holding:16384", "holding", 16384],
    ["COIL:0", "coil", 0],
    [" input:0xffff ", "input", 65535],
  ])("%s is %s %i", (notation, table, address) => {
    expect(parseAddress(notation)).toEqual({ table, address });
  });

  test.each([0, -1, 1.5, 30000, 40000, 65537, 99999, 100000, 200001, 400000, 465537, 500001, 1e9])(
    "%s is none",
    (n) => {
      expect(parseAddress(n)).toHaveProperty("message");
    },
  );

  test.each([
    "",
    "x",
    "4x0",
    "4x65537",
    "2x1",
    "holdings:1",
    "holding:65536",
    "holding:0x10000",
    "holding:-1",
    "40001a",
  ])('"%s" is none', (text) => {
    expect(parseAddress(text)).toHaveProperty("message");
  });

  test("whatever is typed, the outcome is an address in range or a sentence", () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.double(), fc.string()), (notation) => {
        const parsed = parseAddress(notation);
        return "message" in parsed ? parsed.message.length > 0 : parsed.address >= 0 && parsed.address <= 65_535;
      }),
      { numRuns: 1000 },
    );
  });
});
