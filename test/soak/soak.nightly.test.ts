import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ofTest } from "../support/temporary.ts";
import { seedOf } from "../support/seed.ts";
import { reportOf } from "./report.ts";
import { soak } from "./soak.ts";

const HOUR_S = 3_600;

it(
  "a soak test of an hour with failing connections shows no memory leak and no lost or duplicated record",
  { timeout: 2 * HOUR_S * 1_000 },
  async () => {
    const result = await soak({ seconds: HOUR_S, speed: 10, seed: seedOf("soak"), atEnd: ofTest });
    const report = reportOf(result);
    writeFileSync(new URL("../results/soak.txt", import.meta.url), report);
    process.stdout.write(report);
    expect(result.troubles).toEqual([]);
  },
);
