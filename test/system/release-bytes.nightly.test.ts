// Needs Debian packages: binutils, binutils-aarch64-linux-gnu, faketime, openssh-client.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

const VERSION = "9.8.7";
const PERSON = { name: "Maintainer", email: "maintainer@example.com" };
const identity = {
  GIT_AUTHOR_NAME: PERSON.name,
  GIT_AUTHOR_EMAIL: PERSON.email,
  GIT_COMMITTER_NAME: PERSON.name,
  GIT_COMMITTER_EMAIL: PERSON.email,
};
const git = (cwd: string, ...args: string[]): string =>
  execFileSync("git", args, { cwd, encoding: "utf8", env: { ...process.env, ...identity } }).trim();

/** Clones a repository to a folder, and gives it the packages of this checkout by hard links. */
function clone(from: string, to: string): string {
  mkdirSync(join(to, ".."), { recursive: true });
  git(".", "clone", "--quiet", from, to);
  for (const name of ["node_modules", "site/node_modules"]) execFileSync("cp", ["-al", name, join(to, name)]);
  return to;
}

it("a release of both architectures commits, tags and signs, and a rebuild of the tag elsewhere and later gives the same bytes", () => {
  const folder = temporaryFolder();
  const key = join(folder, "key");
  execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
  const release = ["systemd/release/main.ts", VERSION, "--maintainer", `${PERSON.name} <${PERSON.email}>`];

  const ours = clone(".", join(folder, "first"));
  execFileSync(process.execPath, [...release, "--sign-key", key], {
    cwd: ours,
    env: { ...process.env, ...identity, GITHUB_WORKFLOW_REF: undefined },
    stdio: ["ignore", "ignore", "inherit"],
  });
  expect(git(ours, "status", "--porcelain")).toBe("");
  expect(git(ours, "describe", "--exact-match")).toBe(`v${VERSION}`);
  expect(git(ours, "show", "HEAD:package.json")).toContain(`"version": "${VERSION}"`);
  expect(git(ours, "show", "HEAD:CHANGELOG.md")).toContain(`\n## ${VERSION} - `);
  expect(git(ours, "show", "--stat", "--format=", "HEAD").split("\n").length).toBe(5);

  const theirs = clone(ours, join(folder, "another place, of others/second"));
  // A builder of another time zone, language and umask, nine months later.
  const elsewhere = { TZ: "Pacific/Kiritimati", LC_ALL: "C.UTF-8", HOME: folder };
  execFileSync(
    "sh",
    ["-c", 'umask 077 && exec faketime "+270 days" "$0" "$@"', process.execPath, ...release, "--dry-run"],
    {
      cwd: theirs,
      env: { ...process.env, ...elsewhere, GITHUB_WORKFLOW_REF: undefined },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const [sums, again] = [ours, theirs].map((root) => readFileSync(join(root, "dist", VERSION, "SHA256SUMS"), "utf8"));
  process.stdout.write(sums ?? "");
  expect(again).toBe(sums);
  expect(sums?.match(/_(?:amd64|arm64)\.deb$/gm)?.length).toBe(2);
});
