import { expect, it } from "vitest";
import { related, withAnchors, type Figure } from "./figure.ts";

function figure(name: string, value: number, anchor: number | null = null): Figure {
  return { name, value, unit: "%", anchor, ratio: null, target: "at most 9 %; as its family says", reached: null };
}

it("a figure with its anchor in another family is judged by it, and by nothing where that wasn't measured", () => {
  const reading = figure("modbus.fleet64_cpu_percent", 2);
  const agent = figure("agent.fleet64_cpu_percent", 6);
  expect(related([reading, agent])[1]).toMatchObject({ anchor: 2, ratio: 3, reached: true });
  expect(related([reading, { ...agent, value: 6.1 }])[1]).toMatchObject({
    anchor: 2,
    reached: false,
    target: "at most 3 x modbus.fleet64_cpu_percent; as its family says",
  });
  expect(related([agent])).toEqual([agent]);
});

it("each figure with an anchor has its ratio", () => {
  expect(related([figure("page.lateness_p99_ms", 6, 4), figure("plan.requests_ratio", 1)])).toMatchObject([
    { ratio: 1.5, target: "at most 9 %; as its family says" },
    { ratio: null },
  ]);
});

it("what an anchor needs is measured with it", () => {
  expect(withAnchors(["agent"])).toContain("fleet");
  expect(withAnchors(["store"])).toEqual(["store"]);
});
