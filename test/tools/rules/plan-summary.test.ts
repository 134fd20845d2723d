import { describe, expect, it } from "vitest";
import { byteTime, summarizeGroup } from "../../../src/tools/rules/plan-summary.ts";
import { point, profileOf } from "../../support/profiles.ts";

const TCP = { round_trip_registers: 500, round_trip_ms: 5, rest_ms: 0, byte_ms: 0 };

describe("summarizeGroup", () => {
  it("counts an address shared by several tags once, and unused addresses between tags as read", () => {
    const points = [
      point({ address: 10, type: "bool", bit: 0 }),
      point({ address: 10, type: "bool", bit: 1 }),
      point({ address: 14, type: "uint32" }),
    ];
    expect(summarizeGroup(profileOf(points), "g", TCP)).toMatchObject({
      tags: 3,
      read: 6,
      used: 3,
      expected_ms: 5,
      requests: [{ table: "holding", address: 10, count: 6, used: 3, expected_ms: 5 }],
    });
  });

  it("adds the silent interval and the transmission time for a serial line", () => {
    const link = { round_trip_registers: 10, round_trip_ms: 5, rest_ms: 4, byte_ms: 1 };
    const { expected_ms } = summarizeGroup(profileOf([point({ address: 0 })]), "g", link);
    expect(expected_ms).toBe(5 + 4 + (8 + 5 + 2));
  });
});

it("summarizeGroup counts each started group of eight bits as one byte", () => {
  const link = { round_trip_registers: 10, round_trip_ms: 5, rest_ms: 4, byte_ms: 1 };
  const expected = (count: number): number => {
    const points = Array.from({ length: count }, (_, address) => point({ table: "coil", address, type: "bool" }));
    return summarizeGroup(profileOf(points), "g", link).expected_ms - (5 + 4 + 8 + 5);
  };
  expect([1, 8, 9].map(expected)).toEqual([1, 1, 2]);
});

const SERIAL = { path: "/dev/x", baud_rate: 19_200, data_bits: 8, parity: "even", stop_bits: 1 } as const;

describe("byteTime", () => {
  it.each([
    [{ host: "plc", port: 502 }, 0],
    [{ host: "plc", port: 502, framing: "rtu" as const }, 11_000 / 9600],
    [{ serial: SERIAL }, 11_000 / 19_200],
  ])("returns, for the link %j, a transmission time per byte of %d ms", (address, ms) => {
    expect(byteTime(address)).toBe(ms);
  });
});
