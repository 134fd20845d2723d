import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { METRICS } from "../../src/contract/metrics.ts";

const DOCS = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8");

it("the documentation's table lists every metric in order, with its type, labels and description", () => {
  const rows = [...DOCS.matchAll(/^\| `booth_gateway_(\w+)` +\| (\w+) +\| ([^|]*?) *\| (.*?) *\|$/gm)];
  const told = rows.map(([, name, type, labels, help]) => ({ name, type, labels, help }));
  const known = Object.entries(METRICS).map(([name, { type, labels, help }]) => ({
    name,
    type,
    help,
    labels: labels.map((label) => `\`${label}\``).join(" "),
  }));
  expect(told).toEqual(known);
});

it("metric names use Prometheus base units, and the suffix _total for counters only", () => {
  for (const [name, { type }] of Object.entries(METRICS)) {
    expect(name.endsWith("_total"), name).toBe(type === "counter");
    expect(name).not.toMatch(/milliseconds|hours|minutes|percent|kilobytes/);
  }
});
