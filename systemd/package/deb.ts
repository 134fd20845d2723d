import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { debianVersion } from "../release/version.ts";
import type { Control } from "./control.ts";
import type { Architecture } from "./node-binary.ts";
import { filesBelow } from "./tree.ts";

export interface DebParts {
  readonly root: string;
  readonly control: Control;
  /** The folder that layOut made. */
  readonly stage: string;
  readonly architecture: Architecture;
  readonly version: string;
  /** Contact for reports of vulnerabilities: NAME <ADDRESS>. */
  readonly maintainer: string;
  readonly made_at: Date;
  /** Packed in a second instead of most of a minute, and 10 MB larger: for tests. */
  readonly quick: boolean;
  /** The file to write. */
  readonly file: string;
}

/** Makes the .deb of a laid-out tree. Same tree, same time given: same bytes. */
export function makeDeb(parts: DebParts): void {
  const { root, stage, architecture, version, maintainer, made_at, quick, file } = parts;
  const control = join(stage, "DEBIAN");
  const files = filesBelow(stage);
  mkdirSync(control);
  const bytes = files.reduce((sum, name) => sum + lstatSync(join(stage, name)).size, 0);
  writeFileSync(
    join(control, "control"),
    controlText(parts.control, { architecture, version, maintainer, installed_kb: Math.ceil(bytes / 1024) }),
  );
  const sums = files.map(
    (name) =>
      `${createHash("md5")
        .update(readFileSync(join(stage, name)))
        .digest("hex")}  ${name}\n`,
  );
  writeFileSync(join(control, "md5sums"), sums.join(""));
  const scripts = join(root, "systemd/package", parts.control.scripts);
  for (const name of readdirSync(scripts)) {
    cpSync(join(scripts, name), join(control, name));
    chmodSync(join(control, name), 0o755);
  }
  execFileSync("chmod", ["-R", "u=rwX,go=rX", stage]);
  const packing = quick ? ["-Zzstd", "-z3"] : ["-Zxz", "-z6"];
  execFileSync("dpkg-deb", ["--root-owner-group", ...packing, "--build", stage, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(made_at.getTime() / 1000)) },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function controlText(
  { name, depends, description }: Control,
  of: {
    readonly architecture: Architecture;
    readonly version: string;
    readonly maintainer: string;
    readonly installed_kb: number;
  },
): string {
  return `Package: ${name}
Version: ${debianVersion(of.version)}
Architecture: ${of.architecture}
Maintainer: ${of.maintainer}
Section: net
Priority: optional
Installed-Size: ${of.installed_kb}
Depends: libc6 (>= 2.28), libstdc++6 (>= 9), ${depends}
Description: ${description.join("\n ")}
 .
 Brings its own Node.js; nothing is fetched when it is installed.
`;
}

/** Signatures for files name this purpose, so that a signature made for anything else isn't accepted. */
const NAMESPACE = "file";

/**
 * Writes the checksums of the files to SHA256SUMS, and with an OpenSSH key a signature of it. OpenSSH, because gateways
 * have it already: Debian 13's base has no gpgv, and minisign and signify are further packages on each gateway.
 */
export function sumUp(folder: string, files: readonly string[], key: string | null): void {
  const lines = files.map(
    (file) => `${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${basename(file)}\n`,
  );
  const sums = join(folder, "SHA256SUMS");
  writeFileSync(sums, lines.join(""));
  // ssh-keygen asks before it replaces a signature.
  rmSync(`${sums}.sig`, { force: true });
  if (key !== null) execFileSync("ssh-keygen", ["-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, sums]);
}
