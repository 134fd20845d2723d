// Needs Debian package: postgresql-15.
import { it } from "vitest";
import { startCluster } from "../../simulators/postgres-cluster.ts";
import { ofTest } from "../support/temporary.ts";
import { expectConformance } from "./our-service.ts";

it("the reference service on PostgreSQL passes every check of the conformance kit, twice on the same booth", async () => {
  const cluster = await startCluster();
  ofTest(() => cluster.stop("kill"));
  await expectConformance(cluster.url);
});
