import { expect, it } from "vitest";
import { addressTable } from "../../src/cli/check.ts";
import { MANY_PROCESSES_MS } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";
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

it(
  "check --addresses shows what every tag's address was taken for",
  async () => {
    const site = await plcSite();
    const { code, out, err } = await site.gateway("check", "--addresses", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^tag +table +0-based +hex +from 1 +short +read by +takes$/m);
    for (const { name, point: at } of site.profile.tags)
      expect(out).toMatch(new RegExp(`^${name} +${at.table} +${at.address} `, "m"));
    expect(site.plc.counts.connections).toBe(0);
  },
  MANY_PROCESSES_MS,
);
