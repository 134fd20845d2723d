// Needs root and Debian packages: binutils, mmdebstrap.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { packageOf } from "./packaged-site.ts";
import { makeRootfs, ROOTFS } from "./rootfs.ts";

it("the package can be installed in an image build without /proc, and enables its service", () => {
  makeRootfs();
  const folder = mkdtempSync(join(tmpdir(), "bg-image-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const root = join(folder, "root");
  execFileSync("cp", ["-a", ROOTFS, root]);
  expect(readdirSync(join(root, "proc"))).toEqual([]);
  cpSync(packageOf("0.0.1"), join(root, "tmp/package.deb"));
  const installed = spawnSync("chroot", [root, "dpkg", "-i", "/tmp/package.deb"], { encoding: "utf8" });
  expect({ status: installed.status, errors: installed.stderr.match(/^dpkg: error.*$/gm) }).toEqual({
    status: 0,
    errors: null,
  });
  expect(existsSync(join(root, "etc/booth-gateway/gateway.yaml"))).toBe(true);
  const wanted = readdirSync(join(root, "etc/systemd/system/multi-user.target.wants"));
  expect(wanted).toContain("booth-gateway.service");
});
