// Needs a Debian package: systemd.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const UNIT = "systemd/booth-gateway.service";

/** Replaces the unit's programs by this machine's Node, because systemd's checker requires that the programs exist. */
function unitWithProgram(): string {
  const folder = mkdtempSync(join(tmpdir(), "bg-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "booth-gateway.service");
  writeFileSync(
    path,
    readFileSync(UNIT, "utf8").replaceAll(
      /\/usr\/lib\/booth-gateway\/(?:with-notify-socket|booth-gateway)\b/g,
      process.execPath,
    ),
  );
  return path;
}

it("the systemd unit passes systemd-analyze verify without a warning", () => {
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unitWithProgram()], {
    encoding: "utf8",
  });
  expect({ status, warnings: stderr.split("\n").filter((line) => line.includes("booth-gateway")) }).toEqual({
    status: 0,
    warnings: [],
  });
});

/** Returns systemd's exposure level of the unit. A drop-in acts as if appended to the unit. */
function exposure(dropIn: string | null): number {
  const folder = mkdtempSync(join(tmpdir(), "bg-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "booth-gateway.service");
  const parts = [UNIT, ...(dropIn === null ? [] : [`systemd/drop-ins/${dropIn}.conf`])];
  writeFileSync(path, parts.map((part) => readFileSync(part, "utf8")).join("\n"));
  const text = execFileSync("systemd-analyze", ["security", "--offline=yes", "--no-pager", path], { encoding: "utf8" });
  return Number(/Overall exposure level for [^:]+: ([\d.]+)/.exec(text)?.[1]);
}

it.each([
  ["as shipped", null, 1.1],
  ["with the address filter", "address-filter", 1.0],
  ["with serial devices", "serial-devices", 1.3],
])("the systemd unit's exposure level stays within its limit %s", (_, dropIn, atMost) => {
  expect(exposure(dropIn)).toBeLessThanOrEqual(atMost);
});

it("the sysusers file is accepted by systemd-sysusers without an error", () => {
  const { status, stderr } = spawnSync(
    "systemd-sysusers",
    ["--dry-run", join(process.cwd(), "systemd/booth-gateway.sysusers")],
    {
      encoding: "utf8",
    },
  );
  expect({ status, stderr: stderr.split("\n").filter((line) => /error|fail/i.test(line)) }).toEqual({
    status: 0,
    stderr: [],
  });
});
