import { describe, expect, it } from "vitest";
import type { PlcTools, RegisterAnswer } from "../../src/acquisition/port.ts";
import type { ModbusTable } from "../../src/domain/profile.ts";
import { servedRanges } from "../../src/tools/profile/served-ranges.ts";
import { QUIRKS } from "../support/profiles.ts";

type Spans = Readonly<Partial<Record<ModbusTable, readonly (readonly [first: number, last: number])[]>>>;

/** Searches a device in memory. A table without spans doesn't exist there. */
async function searched(spans: Spans, tables?: readonly ModbusTable[]) {
  const asked: string[] = [];
  const shares: number[] = [];
  const registers = (_unit: number, { table, address }: { table: ModbusTable; address: number }): RegisterAnswer => {
    asked.push(`${table}:${address}`);
    const own = spans[table];
    if (own === undefined) return { kind: "exception", code: 1 };
    const isServed = own.some(([first, last]) => address >= first && address <= last);
    return isServed ? { kind: "words", words: [0] } : { kind: "exception", code: 2 };
  };
  const tools = {
    connect: () => ({
      open: () => Promise.resolve(),
      close: () => undefined,
      registers: (...given: Parameters<typeof registers>) => Promise.resolve(registers(...given)),
    }),
  } as unknown as PlcTools;
  const io = {
    signal: new AbortController().signal,
    progress: (_: unknown, share?: number) => void (share !== undefined && shares.push(share)),
  };
  const device = { host: "192.0.2.1", port: 502 };
  const quirks = tables === undefined ? QUIRKS : { ...QUIRKS, tables };
  return { ranges: await servedRanges({ tools, device, unit: 1, io }, quirks), asked, shares };
}

describe("the search for the address ranges that a PLC serves", () => {
  it.each<[string, Spans]>([
    ["40 registers from the first address on", { holding: [[0, 39]] }],
    ["40 registers that begin at an odd place", { holding: [[471, 510]] }],
    ["a map that counts from 1 at a round number", { input: [[4001, 4040]] }],
    ["one register at address 1", { holding: [[1, 1]] }],
    [
      "several maps in two tables",
      {
        holding: [
          [100, 199],
          [16_384, 16_447],
        ],
        coil: [[0, 31]],
      },
    ],
  ])("finds %s exactly", async (_, spans) => {
    const { ranges } = await searched(spans);
    const expected = Object.entries(spans).flatMap(([table, own]) =>
      own.map(([first, last]) => ({ table, first, last })),
    );
    expect(ranges.toSorted((a, b) => a.first - b.first)).toEqual(expected.toSorted((a, b) => a.first - b.first));
  });

  it("asks a table that the PLC does not support only once, and reports its progress up to the last table", async () => {
    const { asked, shares } = await searched({ holding: [[0, 39]] });
    expect(asked.filter((one) => !one.startsWith("holding:"))).toHaveLength(3);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.every((share) => share >= 0 && share < 1)).toBe(true);
  });

  it("reads at most 500 addresses of a table, and no table that the profile excludes", async () => {
    const { ranges, asked } = await searched({ holding: [[0, 65_535]], coil: [[0, 65_535]] }, ["holding"]);
    expect(ranges).toEqual([{ table: "holding", first: 0, last: 499 }]);
    expect(asked.some((one) => one.startsWith("coil"))).toBe(false);
  });

  it("fails with advice if no address can be read", async () => {
    await expect(searched({ holding: [], input: [] })).rejects.toThrow("no register or bit can be read");
  });
});
