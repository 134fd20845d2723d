import { readdirSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { failuresIn, runServiceTests } from "./service-tests.ts";
import { storesOnPostgres } from "./stores-on-postgres.ts";

const serverUrl = storesOnPostgres();

it("the reference service passes all of its tests on PostgreSQL", async () => {
  const short = readdirSync(import.meta.dirname).flatMap((name) => /^([a-z-]+)\.test\.ts$/.exec(name)?.[1] ?? []);
  const names = [...short, "cli.long", "demo.nightly"];
  const counted = await runServiceTests(names);
  const { numPassedTests, numTotalTests, testResults } = counted;
  expect(failuresIn(counted)).toEqual([]);
  expect(testResults.length).toBe(names.length);
  expect(numPassedTests).toBe(numTotalTests);
});

const ASKING_THREADS = 4;
/** Enough questions to see an answer that belongs to the question before, which happened once in ten thousand. */
const QUESTIONS = 30_000;

it("parallel threads each get the PostgreSQL answers to their own queries", async () => {
  const file = new URL("asking-thread.ts", import.meta.url);
  const asked = Array.from({ length: ASKING_THREADS }, () => {
    const thread = new Worker(file, { workerData: { url: serverUrl(), questions: QUESTIONS } });
    return new Promise((resolve, reject) => {
      thread.on("message", resolve);
      thread.on("error", reject);
    });
  });
  expect(await Promise.all(asked)).toEqual(asked.map(() => QUESTIONS));
});
