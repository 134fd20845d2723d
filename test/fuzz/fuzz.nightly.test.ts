import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { seedOf } from "../support/seed.ts";
import { corpusOf } from "./corpus.ts";
import { fuzz } from "./run.ts";
import type { Target } from "./target.ts";
import { TARGETS } from "./targets.ts";

const seed = seedOf("fuzz");

it("each folder of the fuzz corpus belongs to a fuzz target, and each target has a folder", () => {
  const folders = readdirSync(new URL("corpus", import.meta.url)).sort();
  expect(folders).toEqual(TARGETS.map(({ name }) => name).sort());
});

it.each(TARGETS)("the fuzz target $name accepts or rejects every input without a finding", async (target) => {
  const { findings, taken, refused } = await fuzz({ target, corpus: corpusOf(target), runs: target.ci_runs, seed });
  expect(
    findings.map(
      ({ what, why, input }) => `${what}: ${why}\n${input.toString(target.format === "hex" ? "hex" : "utf8")}`,
    ),
  ).toEqual([]);
  // Both results must occur: inputs that are all rejected at once would prove little.
  expect(taken).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
});

const CORPUS = [{ file: "one", bytes: Buffer.from("some words: 12, and more\nof them") }];
const BASE = { name: "planted", format: "text", ci_runs: 0 } as const;

it.each<[string, Target]>([
  [
    "an exception",
    {
      ...BASE,
      open: () => (input) => (JSON.parse(`"${input.toString("utf8").replaceAll("\n", "")}`) as string, "taken"),
    },
  ],
  ["a wrong value", { ...BASE, open: () => (input) => (input.includes("13") ? { wrong: "13" } : "taken") }],
])("the fuzzer detects %s as a planted bug, and detects it again with the same seed", async (_, target) => {
  const run = () => fuzz({ target, corpus: CORPUS, runs: 2_000, seed: 1 });
  const first = await run();
  const again = await run();
  expect(first.findings.length).toBeGreaterThan(0);
  expect(again.findings.map(({ what }) => what)).toEqual(first.findings.map(({ what }) => what));
});
