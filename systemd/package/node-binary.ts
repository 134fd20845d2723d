import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

/** Debian's name of an architecture, and those of the registry. */
export const ARCHITECTURES = {
  amd64: { npm: "x64", prebuild: "linux-x64", strip: "x86_64-linux-gnu-strip" },
  arm64: { npm: "arm64", prebuild: "linux-arm64", strip: "aarch64-linux-gnu-strip" },
} as const;
export type Architecture = keyof typeof ARCHITECTURES;

interface Locked {
  readonly version: string;
  /** sha512-BASE64 of the archive. */
  readonly integrity: string;
}

/**
 * The folder of the Node package of that architecture, exactly as the lock file pins it: the installed one, else npm
 * fetches it into `cache`. Throws where what npm brings isn't what the lock file says.
 */
export function nodePackage(root: string, architecture: Architecture, cache: string): string {
  const name = `node-linux-${ARCHITECTURES[architecture].npm}`;
  const installed = join(root, "node_modules", name);
  if (existsSync(join(installed, "bin/node"))) return installed;
  const { version, integrity } = lockedPackage(root, name);
  const folder = join(cache, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const [archive] = execFileSync("npm", ["pack", "--silent", "--pack-destination", cache, `${name}@${version}`], {
    encoding: "utf8",
  }).split("\n");
  if (archive === undefined || archive === "") throw new Error(`npm brought no ${name}`);
  const path = join(cache, archive);
  const found = `sha512-${createHash("sha512").update(readFileSync(path)).digest("base64")}`;
  if (found !== integrity) throw new Error(`${archive} has ${found}, and the lock file says ${integrity}`);
  const unpacking = `${folder}.new`;
  rmSync(unpacking, { recursive: true, force: true });
  mkdirSync(unpacking);
  execFileSync("tar", ["-xzf", path, "-C", unpacking, "--strip-components=1"]);
  renameSync(unpacking, folder);
  rmSync(path);
  return folder;
}

function lockedPackage(root: string, name: string): Locked {
  // npm's own file, written by npm.
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`the lock file has no ${name}`);
  return locked;
}

/**
 * Copies an ELF program without what only debuggers need, 18 of 126 MB. Returns false, with a whole copy made, where
 * Debian's tool for that architecture isn't installed (binutils, binutils-aarch64-linux-gnu).
 */
export function copyStripped(architecture: Architecture, from: string, to: string): boolean {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
  chmodSync(to, 0o755);
  const { error, status } = spawnSync(ARCHITECTURES[architecture].strip, [to], { stdio: "inherit" });
  if (error !== undefined) return false;
  if (status !== 0) throw new Error(`${to} can't be stripped`);
  return true;
}
