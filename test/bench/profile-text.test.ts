import { expect, it } from "vitest";
import { longestSections, mostExpensive, type CpuProfile } from "./profile-text.ts";

/** root calls a (file f, line 1), which calls itself and b; idle beside it. */
function profileOf(samples: readonly number[]): CpuProfile {
  const node = (id: number, functionName: string, children: readonly number[] = []) => {
    const url = functionName.startsWith("(") ? "" : "file:///f.ts";
    return { id, callFrame: { functionName, url, lineNumber: functionName === "a" ? 0 : 2 }, children };
  };
  const nodes = [node(1, "(root)", [2, 3]), node(2, "(idle)"), node(3, "a", [4, 5]), node(4, "a"), node(5, "")];
  return { nodes, samples, timeDeltas: samples.map(() => 1_000) };
}

const placeOf = (url: string): string => url.slice(-4);

it("shares are of what isn't idle, and a function that calls itself counts once", () => {
  const { cpu_s, length_s, rows } = mostExpensive(profileOf([2, 3, 5, 5, 5, 2]), { last_ms: 1_000, placeOf });
  expect([cpu_s, length_s]).toEqual([0.004, 0.006]);
  expect(rows).toEqual([
    ["75.0 %", "(anonymous) f.ts:3", "100.0 %", "a f.ts:1"],
    ["25.0 %", "a f.ts:1", "75.0 %", "(anonymous) f.ts:3"],
  ]);
  const inItself = mostExpensive(profileOf([4, 4]), { last_ms: 1_000, placeOf });
  expect(inItself.rows).toEqual([["100.0 %", "a f.ts:1", "100.0 %", "a f.ts:1"]]);
});

it("only the end is looked at", () => {
  const { length_s, rows } = mostExpensive(profileOf([3, 3, 3, 5, 2]), { last_ms: 2, placeOf });
  expect(length_s).toBe(0.002);
  expect(rows[0]).toEqual(["100.0 %", "(anonymous) f.ts:3", "100.0 %", "(anonymous) f.ts:3"]);
});

it("the longest sections are those without a rest, each with what took most of it", () => {
  const sections = longestSections(profileOf([3, 2, 3, 5, 5, 2, 4, 3]), { last_ms: 1_000, placeOf });
  expect(sections).toEqual([
    ["3.0 ms", "a f.ts:1", "67 %", "(anonymous) f.ts:3"],
    ["2.0 ms", "a f.ts:1", "100 %", "a f.ts:1"],
    ["1.0 ms", "a f.ts:1", "100 %", "a f.ts:1"],
  ]);
});
