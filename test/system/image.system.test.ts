// Needs root and Debian packages: binutils, binutils-aarch64-linux-gnu, iproute2, mmdebstrap, runc, umoci.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AgentStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import { SIMULATORS } from "../support/processes.ts";
import { ofTest } from "../support/temporary.ts";
import { LARGEST, runImage } from "./image.ts";

const CONFIG = `booths:
  - id: booth-1
    profile: click-booth
    modbus: { host: 127.0.0.1, port: 8482 }
    tz: America/Denver
`;

it("the gateway's image is small, and its agent reads a PLC as an ordinary user on a read-only file system", async () => {
  const gateway = runImage("booth-gateway", CONFIG, ofTest);
  gateway.beside(process.execPath, [SIMULATORS, "plc", "--scenario", "busy-day", "--modbus-port", "8482"]);
  await eventually("the health check succeeds", () => (gateway.health().code === 0 ? true : undefined), 60_000);
  const kindOf = (): string => {
    const { code, out } = gateway.exec("booth-gateway", "status", "--json");
    // The agent's own answer.
    return code === 0 ? ((JSON.parse(out) as AgentStatus).booths[0]?.plc.kind ?? "") : "";
  };
  await eventually("the PLC is read", () => (kindOf() === "up" ? true : undefined), 60_000);
  expect(gateway.compressed_bytes).toBeLessThan(LARGEST["booth-gateway"]);
  expect(gateway.exec("node", "-p", "process.getuid()").out.trim()).toBe("10001");
  expect(gateway.exec("node", "-e", "require('fs').writeFileSync('/usr/x', '')").out).toContain("EROFS");
  expect(
    ["bin/sh", "usr/bin/dash", "usr/bin/dpkg", "usr/bin/apt"].filter((path) => existsSync(join(gateway.rootfs, path))),
  ).toEqual([]);
});
