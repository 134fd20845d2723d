import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Built {
  readonly root: string;
  readonly version: string;
  readonly commit: string;
  /** Address of the repository; empty if the checkout has none. */
  readonly repository: string;
  /** The checkout has changes that are not committed. */
  readonly is_dirty: boolean;
  /** The party that ran the build: a forge's address of its workflow, or a maintainer. */
  readonly builder: string;
  readonly files: readonly string[];
}

/** Names the meaning of the parameters: `npm run release`, as docs/operate/release.md describes it. */
const BUILD_TYPE = "urn:booth-gateway:release:1";
/** Debian packages whose version may change the bytes. */
const TOOLS = ["binutils", "binutils-aarch64-linux-gnu", "dpkg", "mmdebstrap", "tar", "xz-utils"];

/**
 * Returns how the files were made, as an in-toto statement with SLSA's provenance predicate (v1). It has no times, so
 * that a rebuild of the same commit gives the same statement. The signed checksums cover it.
 */
export function provenanceText(built: Built): string {
  const { root, version, commit, repository, builder } = built;
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: built.files.map((file) => ({ name: basename(file), digest: { sha256: sha256(file) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { version },
        internalParameters: { uncommitted_changes: built.is_dirty },
        resolvedDependencies: [
          { uri: repository === "" ? "git+file:." : `git+${repository}`, digest: { gitCommit: commit } },
          ...["package-lock.json", "site/package-lock.json"].map((name) => ({
            name,
            digest: { sha256: sha256(join(root, name)) },
          })),
          { uri: `pkg:npm/node@${process.versions.node}` },
          ...toolsOf().map(([name, installed]) => ({ uri: `pkg:deb/debian/${name}@${installed}` })),
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  };
  return `${JSON.stringify(statement, null, 1)}\n`;
}

function toolsOf(): [string, string][] {
  const format = "${binary:Package} ${Version}\n";
  // It fails if a package isn't installed, and still lists the others.
  const { stdout } = spawnSync("dpkg-query", ["-W", "-f", format, ...TOOLS], { encoding: "utf8" });
  return stdout.split("\n").flatMap((line): [string, string][] => {
    const [name = "", installed = ""] = line.split(" ");
    return installed === "" ? [] : [[name, encodeURIComponent(installed)]];
  });
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
