import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { addressTable } from "../../src/cli/check.ts";
import { type AddressFault, parseAddress } from "../../src/config/profile-address.ts";
import { parseProfile } from "../../src/config/profile.ts";
import type { ModbusTable } from "../../src/domain/profile.ts";
import { point, profileOf } from "../support/profiles.ts";
import { errorMessage } from "../../src/domain/error-message.ts";
import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";

function faultOf(text: string): AddressFault {
  const parsed = parseAddress(text);
  if ("message" in parsed) return parsed;
  throw new Error(`${text} was accepted`);
}

/** A profile of one bit at an address as it is typed into the file. */
function withAddress(written: string): string {
  return `name: p
version: "1"
protocol: modbus
groups: { fast: { poll_interval_ms: 1000 } }
kind: device
modes: {}
tags:
  - { name: bit_a, address: ${written}, group: fast }
`;
}

function read(written: string): string {
  try {
    const profile = parseProfile(withAddress(written), "p.yaml");
    const [tag] = profile.protocol === "modbus" ? profile.tags : [];
    return `${tag?.point.table ?? ""}:${tag?.point.address ?? ""}`;
  } catch (error) {
    return errorMessage(error);
  }
}

describe("the parser of Modbus addresses", () => {
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
    ["016385", "coil", 16384],
    ["030001", "coil", 30000],
    ["040001", "coil", 40000],
    ["010028", "coil", 10027],
    ["00028", "coil", 27],
    [28, "coil", 27],
    [20001, "coil", 20000],
    [50001, "coil", 50000],
    [65536, "coil", 65535],
    ["4x0001", "holding", 0],
    ["4X16385", "holding", 16384],
    ["3x1", "input", 0],
    ["1x1", "discrete", 0],
    ["4x9999", "holding", 9998],
    ["holding:0x4000", "holding", 16384],
    ["holding:16384", "holding", 16384],
    ["COIL:0", "coil", 0],
    [" input:0xffff ", "input", 65535],
  ])("reads %s as table %s, address %i", (notation, table, address) => {
    expect(parseAddress(String(notation))).toEqual({ table, address });
  });

  const numbers = [0, -1, 1.5, 30000, 40000, 65537, 99999, 100000, 200001, 400000, 465537, 500001, 1e9];
  const texts = ["", "x", "4x0", "4x65537", "2x1", "holdings:1", "holding:65536", "holding:0x10000", "holding:-1"];
  test.each([...numbers, ...texts, "40001a"])('rejects "%s" as an address', (text) => {
    expect(parseAddress(String(text))).toHaveProperty("message");
  });

  test("returns an address in range or an error message for any text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer().map(String), fc.double().map(String), fc.string()), (notation) => {
        const parsed = parseAddress(notation);
        return "message" in parsed
          ? render(parsed.message).length > 0
          : parsed.address >= 0 && parsed.address <= 65_535;
      }),
    );
  });

  test.each([
    ["10028", "discrete input 28, counted from 1 (27 from 0), or coil 10028, counted from 1 (10027 from 0)"],
    ["19999", "discrete input 9999, counted from 1 (9998 from 0), or coil 19999, counted from 1 (19998 from 0)"],
    ["16385", "discrete input 6385, counted from 1 (6384 from 0), or coil 16385, counted from 1 (16384 from 0)"],
    [
      "4x40001",
      "holding register 1, counted from 1 (0 from 0), or holding register 40001, counted from 1 (40000 from 0)",
    ],
    ["1x10001", "discrete input 1, counted from 1 (0 from 0), or discrete input 10001, counted from 1 (10000 from 0)"],
    ["0x4000", "coil 4000, counted from 1, or 16384 in hexadecimal"],
    ["0x0010", "coil 10, counted from 1, or 16 in hexadecimal"],
  ])("rejects the ambiguous address %s and names both readings: %s", (text, readings) => {
    const fault = faultOf(text);
    expect(render(fault.message)).toBe(`${text} is ambiguous: ${readings}`);
    expect(render(fault.hint ?? "")).toMatch(/^write \S+ for the former[,;]/);
  });

  test("rejects a hexadecimal number without a table, and suggests spellings with a table name", () => {
    const { hint = "" } = faultOf("0x1F");
    expect(hint).toEqual(message("address.write_table", { text: "0x1F" }));
    expect(render(hint)).toBe("write coil:0x1F, discrete:0x1F, input:0x1F or holding:0x1F");
  });

  test.each([
    [
      "10028, type: bool",
      /^p\.yaml:8:\d+: tags\[0\]\.address: 10028 is ambiguous: discrete input 28, .* \(write discrete:27 for the former, coil:10027 for the latter\)/,
    ],
    ['"10028", type: bool', /10028 is ambiguous/],
    ["0x0010, type: bool", /0x0010 is ambiguous/],
    ["1e4, type: bool", /"1e4" is not a Modbus address/],
    ["030001, type: bool", /^coil:30000$/],
    ['"030001", type: bool', /^coil:30000$/],
    ["30001, type: uint16", /^input:0$/],
    ["discrete:27, type: bool", /^discrete:27$/],
  ])(
    "reads an address in a profile as written, without YAML's conversion to a number: %s gives %s",
    (written, outcome) => {
      expect(read(written)).toMatch(outcome);
    },
  );

  test("reads each notation that check --addresses prints as the same address, or rejects it as ambiguous", () => {
    const tables: readonly ModbusTable[] = ["coil", "discrete", "input", "holding"];
    fc.assert(
      fc.property(fc.constantFrom(...tables), fc.integer({ min: 0, max: 65_535 }), (table, address) => {
        const profile = profileOf([point({ table, address, type: "bool", bit: 0 })]);
        const [, row = ""] = addressTable(profile.tags).split("\n");
        const [, , zero = "", hex = "", one = "", short = ""] = row.trim().split(/ +/);
        for (const text of [`${table}:${zero}`, `${table}:${hex}`, one, ...(short === "-" ? [] : [short])]) {
          const parsed = parseAddress(text);
          if (!("message" in parsed)) expect(parsed).toEqual({ table, address });
          else expect(render(parsed.message)).toContain(`${NAMES[table]} ${address + 1}, counted from 1`);
        }
      }),
    );
  });
});

const NAMES: Readonly<Record<ModbusTable, string>> = {
  coil: "coil",
  discrete: "discrete input",
  input: "input register",
  holding: "holding register",
};

test.each([
  [point({ table: "holding", address: 0 }), "holding 0 0x0000 400001 40001 function 3 1 register, uint16"],
  [
    point({ table: "holding", address: 9999, type: "float32" }),
    "holding 9999 0x270f 410000 - function 3 2 registers, float32",
  ],
  [
    point({ table: "input", address: 9998, type: "bool", bit: 3 }),
    "input 9998 0x270e 309999 39999 function 4 bit 3 of a register",
  ],
  [point({ table: "coil", address: 16_384, type: "bool" }), "coil 16384 0x4000 016385 - function 1 1 bit"],
  [point({ table: "discrete", address: 65_535, type: "bool" }), "discrete 65535 0xffff 165536 - function 2 1 bit"],
])("check --addresses prints the point %j in every notation: %s", (one, expected) => {
  const [, row = ""] = addressTable(profileOf([one]).tags).split("\n");
  expect(row.trim().replaceAll(/ +/g, " ").split(" ").slice(1).join(" ")).toBe(expected);
});
