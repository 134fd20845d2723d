import { expect, it } from "vitest";
import { ofTest } from "../support/temporary.ts";
import { seedOf } from "../support/seed.ts";
import { reportOf } from "./report.ts";
import { soak } from "./soak.ts";

const SECONDS = 30;

it("half a minute of failing lines: nothing leaks, nothing is lost or doubled", async () => {
  const result = await soak({ seconds: SECONDS, speed: 30, seed: seedOf("soak"), atEnd: ofTest });
  process.stdout.write(reportOf(result));
  expect(result.troubles).toEqual([]);
  expect(result.struck.size).toBeGreaterThan(3);
});
