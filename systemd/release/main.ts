#!/usr/bin/env node
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { sumUp } from "../package/deb.ts";
import { archive } from "./archive.ts";
import { makeImages } from "./images.ts";
import { provenanceText } from "./provenance.ts";
import { readStatements, vexText } from "./vex.ts";
import { isCandidate, unreleasedNotes, versionFault, withRelease } from "./version.ts";

const HELP = `npm run release -- VERSION [options]

Makes everything that a release consists of, in DIR: Debian packages, images, bills of materials, statement about
vulnerabilities, contract, documents, provenance, notes, and signed checksums. VERSION is like 1.2.3 or 1.2.3-rc.1.
Before that, it commits the version and the changelog; at the end it tags the commit. It publishes nothing.

  --dry-run         changes nothing in the repository: makes the files from the checkout as it is
  --out DIR         where the files go (default: dist/VERSION)
  --sign-key FILE   OpenSSH's private key for the checksums; a dry run makes a throwaway key
  --maintainer WHO  whom to tell of a vulnerability: "NAME <ADDRESS>"; is in the packages
  --arch NAME       amd64 or arm64; may be given twice (default: both)
  --skip PART       leaves out a part: packages, images, contract or docs; may be given again
  --base DIR        keeps Debian's files for the images there, for tests
  --quick           packs fast and large, for tests
`;

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const PARTS = ["packages", "images", "contract", "docs"] as const;
type Part = (typeof PARTS)[number];
/** The name of the releases' key in a file of allowed signers. */
const SIGNER = "booth-gateway-release";
/** The programs that a release needs, and the Debian packages that have them. */
const PROGRAMS = [
  ["x86_64-linux-gnu-strip", "binutils"],
  ["aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"],
  ["dpkg-deb", "dpkg"],
  ["git", "git"],
  ["mmdebstrap", "mmdebstrap"],
  ["ssh-keygen", "openssh-client"],
  ["tar", "tar"],
] as const;

interface Call {
  readonly version: string;
  readonly is_dry_run: boolean;
  readonly out: string;
  readonly sign_key: string | null;
  readonly maintainer: string | null;
  readonly architectures: readonly string[];
  readonly skipped: ReadonlySet<Part>;
  readonly is_quick: boolean;
  readonly base: string | null;
}

/** Parses the arguments. Returns null if help is asked for. Throws with all that is wrong. */
function callOf(args: readonly string[]): Call | null {
  const many = { type: "string", multiple: true } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      "dry-run": { type: "boolean", default: false },
      out: { type: "string" },
      "sign-key": { type: "string" },
      maintainer: { type: "string" },
      arch: { ...many, default: ["amd64", "arm64"] },
      skip: { ...many, default: [] },
      quick: { type: "boolean", default: false },
      base: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const [version = "", ...more] = positionals;
  const fault = versionFault(version);
  if (fault !== null || more.length > 0) throw new Error(fault ?? `one version, and not also ${more.join(" ")}`);
  const is_dry_run = values["dry-run"];
  const sign_key = values["sign-key"] === undefined ? null : resolve(values["sign-key"]);
  if (!is_dry_run && sign_key === null) throw new Error("a release needs --sign-key FILE; --dry-run makes a key");
  if (!is_dry_run && values.maintainer === undefined) throw new Error('a release needs --maintainer "NAME <ADDRESS>"');
  if (!is_dry_run && (values.skip.length > 0 || values.quick || values.base !== undefined))
    throw new Error("--skip, --quick and --base are for dry runs");
  return {
    version,
    is_dry_run,
    out: resolve(values.out ?? join(root, "dist", version)),
    sign_key,
    maintainer: values.maintainer ?? null,
    architectures: values.arch,
    skipped: new Set(values.skip.map(partOf)),
    is_quick: values.quick,
    base: values.base === undefined ? null : resolve(values.base),
  };
}

function partOf(name: string): Part {
  const found = PARTS.find((part) => part === name);
  if (found === undefined) throw new Error(`--skip ${name}: the parts are ${PARTS.join(", ")}`);
  return found;
}

const began = performance.now();
function report(text: string): void {
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

/** Throws with each reason why no release can be made here. */
function checkMachine({ version, is_dry_run }: Call): void {
  const lacking = PROGRAMS.filter(([program]) => spawnSync("which", [program]).status !== 0);
  const faults = lacking.length === 0 ? [] : [`apt-get install ${lacking.map(([, name]) => name).join(" ")}`];
  if (!is_dry_run && git("status", "--porcelain") !== "") faults.push("commit or remove the changes of git status");
  if (!is_dry_run && git("tag", "--list", `v${version}`) !== "")
    faults.push(`the tag v${version} exists: check it out and rebuild it with --dry-run`);
  if (faults.length > 0) throw new Error(`before a release:\n  ${faults.join("\n  ")}`);
}

/** Makes the folder, or empties one that has an earlier release. */
function emptyFolder(out: string): void {
  const isOurs = !existsSync(out) || readdirSync(out).length === 0 || existsSync(join(out, "SHA256SUMS"));
  if (!isOurs) throw new Error(`${out} has files that are not of a release: name another folder with --out`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
}

/** Paths in package-lock.json of the packages with the version of this repository. */
const OWN_PACKAGES = ["", "simulators/service"];

/** Commits the version and the changelog. After a build that failed, the commit exists already. */
function commitVersion(version: string): void {
  const subject = `chore(release): ${version}`;
  if (git("log", "-1", "--format=%s") === subject) return;
  for (const folder of OWN_PACKAGES)
    edit(join(folder, "package.json"), (text) => text.replace(/("version": )"[^"]+"/, `$1"${version}"`));
  edit("package-lock.json", (text) => withLockedVersion(text, version));
  const day = new Date().toISOString().slice(0, 10);
  if (!isCandidate(version)) edit("CHANGELOG.md", (text) => withRelease(text, version, day));
  git("commit", "--quiet", "--all", "-m", subject);
}

/** Returns the lock file with another version of this repository's own packages, as npm would write it. */
function withLockedVersion(text: string, version: string): string {
  // npm's own file, written by npm.
  const lock = JSON.parse(text) as { version: string; packages: Record<string, { version: string } | undefined> };
  lock.version = version;
  for (const folder of OWN_PACKAGES) {
    const own = lock.packages[folder];
    if (own === undefined) throw new Error(`the lock file has no ${folder}`);
    own.version = version;
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

/** Makes the Debian packages, and takes the bill of materials out of each. */
function makePackages({ version, out, maintainer, architectures, is_quick }: Call): string[] {
  const options = [
    ...["--version", version, "--out", out],
    ...architectures.flatMap((name) => ["--arch", name]),
    ...(maintainer === null ? [] : ["--maintainer", maintainer]),
    ...(is_quick ? ["--quick"] : []),
  ];
  const made = execFileSync(process.execPath, [join(root, "systemd/package/main.ts"), ...options], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return made
    .trim()
    .split("\n")
    .flatMap((file) => [file, billOf(file)]);
}

function billOf(debFile: string): string {
  const file = debFile.replace(/\.deb$/, ".cdx.json");
  const command = 'dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/share/doc/"$1"/sbom.cdx.json';
  const name = debFile.slice(dirname(debFile).length + 1).split("_")[0] ?? "";
  writeFileSync(file, execFileSync("sh", ["-c", command, debFile, name]));
  return file;
}

/** Makes the images from the packages that were just made. */
function imagesOf({ out, version, is_quick, base }: Call, made_at: Date): string[] {
  const debs = readdirSync(out).filter((name) => name.endsWith(".deb"));
  const files = debs.sort().map((name) => join(out, name));
  return inScratch((scratch) =>
    makeImages({ debs: files, out, version, made_at, quick: is_quick, scratch, base_cache: base }),
  );
}

/** Archives the contract's files as git has them. An older commit may have none. */
function archiveContract({ version, out }: Call, made_at: Date): string[] {
  if (!existsSync(join(root, "contract"))) return [];
  return inScratch((folder) => {
    cpSync(join(root, "contract"), join(folder, "contract"), { recursive: true });
    return [archive(join(folder, "contract"), join(out, `booth-gateway-contract_${version}.tar.gz`), made_at)];
  });
}

/** Builds the documentation site, with the packages of its lock file. */
function archiveDocuments({ version, out }: Call, made_at: Date): string[] {
  const npm = (...args: string[]): void =>
    void execFileSync("npm", ["--prefix", "site", ...args], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (!existsSync(join(root, "site/node_modules"))) npm("ci", "--no-audit", "--no-fund");
  npm("run", "--silent", "build");
  const site = join(root, "site/.vitepress/dist");
  return [archive(site, join(out, `booth-gateway-docs_${version}.tar.gz`), made_at)];
}

function inScratch<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "booth-gateway-release-"));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** States which known vulnerabilities of the packages within concern the agent. */
function writeVex({ version, out }: Call, bills: readonly string[], made_at: Date): string {
  const file = join(out, `booth-gateway_${version}.vex.cdx.json`);
  const texts = bills.map((bill) => readFileSync(bill, "utf8"));
  writeFileSync(file, vexText({ version, made_at, statements: readStatements(root), bills: texts }));
  return file;
}

function writeNotes({ version, out }: Call): string {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const mine = changelog.split(new RegExp(`^## ${version.replaceAll(".", "\\.")} - .*\n`, "m"))[1];
  const file = join(out, "RELEASE-NOTES.md");
  writeFileSync(file, `${mine === undefined ? unreleasedNotes(changelog) : (mine.split(/^## /m)[0] ?? "").trim()}\n`);
  return file;
}

function writeProvenance({ version, out }: Call, files: readonly string[]): string {
  const { GITHUB_SERVER_URL: forge, GITHUB_WORKFLOW_REF: workflow } = process.env;
  const remote = spawnSync("git", ["remote", "get-url", "origin"], { cwd: root, encoding: "utf8" }).stdout.trim();
  const file = join(out, `booth-gateway_${version}.intoto.json`);
  const text = provenanceText({
    root,
    version,
    commit: git("rev-parse", "HEAD"),
    // A folder of this machine means nothing elsewhere.
    repository: remote.startsWith("https://") ? remote.replace(/\/\/[^/@]*@/, "//") : "",
    is_dirty: git("status", "--porcelain") !== "",
    builder: workflow === undefined ? "urn:booth-gateway:maintainer" : `${forge}/${workflow}`,
    files,
  });
  writeFileSync(file, text);
  return file;
}

/** Signs the checksums of all files. Without a key, it makes one that is deleted at once. */
function sign({ out, sign_key }: Call, files: readonly string[]): void {
  if (sign_key !== null) {
    sumUp(out, files, sign_key);
    return;
  }
  inScratch((folder) => {
    const key = join(folder, "key");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "throwaway, of a dry run", "-f", key]);
    sumUp(out, files, key);
    writeFileSync(join(out, "allowed_signers"), `${SIGNER} namespaces="file" ${readFileSync(`${key}.pub`, "utf8")}`);
  });
}

function main(): void {
  const call = callOf(process.argv.slice(2));
  if (call === null) {
    process.stdout.write(HELP);
    return;
  }
  checkMachine(call);
  const { version, is_dry_run, out, skipped } = call;
  if (!is_dry_run) commitVersion(version);
  emptyFolder(out);
  process.env["SOURCE_DATE_EPOCH"] ??= git("log", "-1", "--format=%ct");
  const made_at = new Date(Number(process.env["SOURCE_DATE_EPOCH"]) * 1000);
  const makers: Readonly<Record<Part, () => string[]>> = {
    packages: () => makePackages(call),
    images: () => imagesOf(call, made_at),
    contract: () => archiveContract(call, made_at),
    docs: () => archiveDocuments(call, made_at),
  };
  const files = PARTS.filter((part) => !skipped.has(part)).flatMap((part) => {
    report(part);
    return makers[part]();
  });
  const bills = files.filter((file) => file.endsWith(".cdx.json"));
  files.push(writeVex(call, bills, made_at), writeNotes(call));
  files.push(writeProvenance(call, files));
  sign(call, files);
  report(`${files.length} files, their checksums and the signature are in ${out}`);
  if (is_dry_run) {
    report("a dry run: nothing was committed or tagged");
    return;
  }
  git("tag", "-a", `v${version}`, "-m", `booth-gateway ${version}`);
  report(`tagged v${version}; publish with: git push --follow-tags`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
