import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Cluster, startCluster } from "../../../simulators/postgres-cluster.ts";
import { memoryFolder } from "../../support/temporary.ts";
import { failuresIn, runServiceTests } from "./service-tests.ts";
import { prepareStores } from "./store-under-test.ts";

let cluster: Cluster;
const atEnd: (() => unknown)[] = [];

beforeAll(async () => {
  const settings = { fsync: "off", full_page_writes: "off", max_connections: "1000", autovacuum: "off" };
  cluster = await startCluster({ folder: memoryFolder((undo) => atEnd.push(undo)), settings });
  prepareStores(cluster.url);
  process.env["SERVICE_STORE"] = cluster.url;
});
afterAll(async () => {
  delete process.env["SERVICE_STORE"];
  await cluster.stop();
  for (const undo of atEnd) undo();
});

it("passes every test of the service on PostgreSQL", async () => {
  const names = readdirSync(import.meta.dirname).flatMap((name) => /^([a-z-]+)\.test\.ts$/.exec(name)?.[1] ?? []);
  const counted = await runServiceTests(names);
  const { numPassedTests, numTotalTests, testResults } = counted;
  expect(failuresIn(counted)).toEqual([]);
  expect(testResults.length).toBe(names.length);
  expect(numPassedTests).toBe(numTotalTests);
});
