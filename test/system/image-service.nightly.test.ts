// Needs root and Debian packages: binutils, binutils-aarch64-linux-gnu, curl, iproute2, mmdebstrap, runc, umoci.
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { ofTest } from "../support/temporary.ts";
import { LARGEST, runImage } from "./image.ts";

it("the service's image is small, and serves the owner's page with the demo's booths", async () => {
  const service = runImage("booth-service", null, ofTest);
  await eventually("the health check succeeds", () => (service.health().code === 0 ? true : undefined), 120_000);
  await eventually("the demo is complete", () => (service.output().includes("50 booths") ? true : undefined), 300_000);
  expect(service.fetch("http://127.0.0.1:8080/owner/", "")).toContain("<html");
  expect(service.compressed_bytes).toBeLessThan(LARGEST["booth-service"]);
});
