import { afterAll, beforeAll } from "vitest";
import { type Cluster, startCluster } from "../../../simulators/postgres-cluster.ts";
import { memoryFolder } from "../../support/temporary.ts";
import { prepareStores } from "./store-under-test.ts";

/** Starts a PostgreSQL server before the tests of a file, and puts their stores there. Returns the server's URL once it runs. */
export function storesOnPostgres(): () => string {
  const atEnd: (() => unknown)[] = [];
  let cluster: Cluster | undefined;
  beforeAll(async () => {
    const settings = { fsync: "off", full_page_writes: "off", max_connections: "1000", autovacuum: "off" };
    cluster = await startCluster({ folder: memoryFolder((undo) => atEnd.push(undo)), settings });
    prepareStores(cluster.url);
    process.env["SERVICE_STORE"] = cluster.url;
  });
  afterAll(async () => {
    delete process.env["SERVICE_STORE"];
    await cluster?.stop();
    for (const undo of atEnd) undo();
  });
  return () => cluster?.url ?? "";
}
