import { expect, it } from "vitest";
import { fuzz } from "./run.ts";
import type { Target } from "./target.ts";

const CORPUS = [{ file: "one", bytes: Buffer.from("some words") }];

it("the fuzzer reports a target that changes Object.prototype", async () => {
  const target: Target = {
    name: "planted",
    format: "text",
    ci_runs: 0,
    open: () => () => {
      Object.defineProperty(Object.prototype, "planted", { value: 1, configurable: true });
      return "taken";
    },
  };
  try {
    const { findings } = await fuzz({ target, corpus: CORPUS, runs: 0, seed: 1 });
    expect(findings.map(({ why }) => why)).toEqual(["it changed Object.prototype"]);
  } finally {
    Reflect.deleteProperty(Object.prototype, "planted");
  }
});
