// Needs root and Debian packages: binutils, openssh-client.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";
import { CANDIDATE, releaseHere, stepOf } from "./released.ts";

const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" });
let release = "";
let before = "";

beforeAll(() => {
  before = git("rev-parse", "HEAD") + git("tag", "--list");
  release = releaseHere();
});

const textOf = (name: string): string => readFileSync(join(release, name), "utf8");

it("a dry run of a release commits and tags nothing", () => {
  expect(git("rev-parse", "HEAD") + git("tag", "--list")).toBe(before);
});

it("a release has packages, bills of materials, VEX, provenance and notes, and the checksums name each of them", () => {
  const names = [
    "RELEASE-NOTES.md",
    `booth-gateway_${CANDIDATE}.intoto.json`,
    `booth-gateway_${CANDIDATE}.vex.cdx.json`,
    `booth-gateway_${CANDIDATE}_amd64.cdx.json`,
    `booth-gateway_${CANDIDATE}_amd64.deb`,
  ];
  const summed = textOf("SHA256SUMS").match(/(?<= {2}).*$/gm) ?? [];
  expect(summed).toEqual(expect.arrayContaining(names));
  const signatures = ["SHA256SUMS", "SHA256SUMS.sig", "allowed_signers"];
  expect([...summed, ...signatures].sort()).toEqual(readdirSync(release).sort());
});

it("a candidate's package is older for dpkg than the release of that version", () => {
  const file = join(release, `booth-gateway_${CANDIDATE}_amd64.deb`);
  expect(execFileSync("dpkg-deb", ["-f", file, "Version"], { encoding: "utf8" }).trim()).toBe("1.0.0~rc.1");
});

it("the provenance names each file with its digest, the commit, and the lock files", () => {
  // Its shape is what this test checks.
  const statement = JSON.parse(textOf(`booth-gateway_${CANDIDATE}.intoto.json`)) as {
    subject: { name: string; digest: { sha256: string } }[];
    predicate: { buildDefinition: { resolvedDependencies: { name?: string; digest?: object }[] } };
  };
  expect(statement).toMatchObject({
    _type: "https://in-toto.io/Statement/v1",
    predicateType: "https://slsa.dev/provenance/v1",
  });
  const digests = statement.subject.map(({ name, digest }) => `${digest.sha256}  ${name}`);
  const others = (line: string): boolean => line !== "" && !line.endsWith(".intoto.json");
  expect(digests).toEqual(textOf("SHA256SUMS").split("\n").filter(others));
  const { resolvedDependencies } = statement.predicate.buildDefinition;
  expect(resolvedDependencies[0]?.digest).toEqual({ gitCommit: git("rev-parse", "HEAD").trim() });
  const lock = createHash("sha256").update(readFileSync("package-lock.json")).digest("hex");
  expect(resolvedDependencies).toContainEqual({ name: "package-lock.json", digest: { sha256: lock } });
});

it("the documented check accepts a release, and rejects a changed package, list, signature or signer", () => {
  const documented = stepOf(readFileSync("docs/operate/install.md", "utf8"), 1);
  const checkWith = (change: (folder: string) => void): number | null => {
    const folder = temporaryFolder();
    cpSync(release, folder, { recursive: true });
    change(folder);
    return spawnSync("sh", ["-e", "-c", documented], { cwd: folder, stdio: "ignore" }).status;
  };
  expect(checkWith(() => undefined)).toBe(0);
  const damages: readonly ((folder: string) => void)[] = [
    (folder) => appendFileSync(join(folder, `booth-gateway_${CANDIDATE}_amd64.deb`), "x"),
    (folder) => appendFileSync(join(folder, "SHA256SUMS"), "\n"),
    (folder) => cpSync(join(folder, "RELEASE-NOTES.md"), join(folder, "SHA256SUMS.sig")),
    (folder) => {
      const key = join(folder, "another");
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
      writeFileSync(
        join(folder, "allowed_signers"),
        `booth-gateway-release namespaces="file" ${readFileSync(`${key}.pub`, "utf8")}`,
      );
    },
  ];
  for (const damage of damages) expect(checkWith(damage)).not.toBe(0);
});

it("a release that is not a dry run is refused without a key, a maintainer, or a clean version", () => {
  const refused = (...args: string[]): string =>
    spawnSync(process.execPath, ["systemd/release/main.ts", ...args], { encoding: "utf8" }).stderr;
  expect(refused(CANDIDATE)).toContain("--sign-key FILE");
  expect(refused(CANDIDATE, "--sign-key", "k")).toContain("--maintainer");
  expect(refused("1.0", "--dry-run")).toContain("is not a version such as 1.2.3");
});
