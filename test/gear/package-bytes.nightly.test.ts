import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

const ARCHITECTURES = ["amd64", "arm64"];
const MADE_AT = "1767225600";
/** Debian's cross libraries, from libc6-arm64-cross and libstdc++6-arm64-cross. */
const ARM64_LIBRARIES = "/usr/aarch64-linux-gnu";

/** All packages; for what doesn't depend on how they are packed, the quick way. */
function makeAll(folder: string, options: readonly string[], home?: string): string[] {
  mkdirSync(folder, { recursive: true });
  return execFileSync(process.execPath, ["systemd/package/main.ts", "--out", folder, ...options], {
    encoding: "utf8",
    env: { ...process.env, SOURCE_DATE_EPOCH: MADE_AT, ...(home === undefined ? {} : { GNUPGHOME: home }) },
  })
    .trim()
    .split("\n");
}

it("the same input gives the same bytes, for both architectures", () => {
  const folder = temporaryFolder();
  const first = makeAll(join(folder, "a"), []);
  const second = makeAll(join(folder, "b"), []);
  expect(first.length).toBe(ARCHITECTURES.length);
  const sums = [join(folder, "a"), join(folder, "b")].map((one) => readFileSync(join(one, "SHA256SUMS"), "utf8"));
  process.stdout.write(sums[0] ?? "");
  expect(sums[0]).toBe(sums[1]);
  expect(second.map((file) => file.replace("/b/", "/a/"))).toEqual(first);
});

it("with a key given the checksums are signed, and a changed package no longer fits them", () => {
  const folder = temporaryFolder();
  const home = join(folder, "gnupg");
  mkdirSync(home, { mode: 0o700 });
  const gpg = (...args: string[]): void =>
    void execFileSync("gpg", ["--homedir", home, "--batch", ...args], { stdio: "ignore" });
  gpg("--passphrase", "", "--quick-gen-key", "packager@example.com", "ed25519", "sign", "never");
  gpg("--output", join(folder, "key.gpg"), "--export", "packager@example.com");
  makeAll(folder, ["--quick", "--arch", "amd64", "--sign-key", "packager@example.com"], home);
  const check = (file: string): number | null =>
    spawnSync("gpgv", ["--keyring", join(folder, "key.gpg"), join(folder, "SHA256SUMS.asc"), file], { stdio: "ignore" })
      .status;
  expect(check(join(folder, "SHA256SUMS"))).toBe(0);
  expect(check(join(folder, "key.gpg"))).not.toBe(0);
  expect(spawnSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: folder }).status).toBe(0);
});

it("the arm64 agent starts under emulation: its Node, its addons, its check of a configuration", () => {
  const folder = temporaryFolder();
  const [file = ""] = makeAll(folder, ["--quick", "--arch", "arm64"]);
  const root = join(folder, "root");
  execFileSync("dpkg-deb", ["-x", file, root]);
  const launcher = readFileSync(join(root, "usr/lib/booth-gateway/booth-gateway"), "utf8");
  const node = join(root, /^#!(\S+)/.exec(launcher)?.[1] ?? "");
  const home = join(node, "../..");
  const run = (...args: string[]): string =>
    execFileSync("qemu-aarch64-static", ["-L", ARM64_LIBRARIES, node, ...args], { encoding: "utf8", cwd: home });
  const own = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(run("-p", "process.arch").trim()).toBe("arm64");
  expect(
    run("-p", 'const D = require("better-sqlite3"); new D(":memory:").prepare("SELECT 6 * 7 AS x").get().x').trim(),
  ).toBe("42");
  expect(run("-p", 'typeof require("@serialport/bindings-cpp").autoDetect().open').trim()).toBe("function");
  const agent = join(root, "usr/lib/booth-gateway/booth-gateway");
  expect(run(agent, "--version")).toContain(own.version);
  expect(run(agent, "check", "--config", join(root, "usr/share/booth-gateway/gateway.yaml"))).toContain("booth-1");
});
