import { expect, it } from "vitest";
import { addressTable } from "../../src/cli/check.ts";
import { point, profileOf } from "../support/profiles.ts";

it.each([
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
])("an address in every notation: %j", (one, expected) => {
  const [, row = ""] = addressTable(profileOf([one]).tags).split("\n");
  expect(row.trim().replaceAll(/ +/g, " ").split(" ").slice(1).join(" ")).toBe(expected);
});
