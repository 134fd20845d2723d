import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The fields of a package's manifest that the SBOM needs. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type: string };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>;
}

export interface BillParts {
  readonly root: string;
  /** The package's name. */
  readonly name: string;
  readonly version: string;
  readonly made_at: Date;
  /** Folders of all packages whose code is within. */
  readonly packages: readonly string[];
}

/**
 * Everything that is in the package, as CycloneDX 1.5 JSON. Made from the folders that went in: npm's own list leaves out
 * whatever a developer's tool needs as well: three quarters. Same folders and lock file, same text.
 */
export function sbomText({ root, name: package_name, version, made_at, packages }: BillParts): string {
  // npm's own file, written by npm.
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const components = [...new Set(packages)].map((folder) => componentOf(folder, lock));
  const unique = new Map(components.map((component) => [component.purl, component]));
  const bom = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: made_at.toISOString(),
      component: { type: "application", name: package_name, version },
    },
    components: [...unique.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
  return `${JSON.stringify(bom, null, 1)}\n`;
}

function componentOf(folder: string, lock: Lock) {
  // A package's own file.
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const named = typeof license === "object" ? license.type : license;
  const integrity = lock.packages[folder.slice(folder.indexOf("node_modules/"))]?.integrity;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    ...(named === undefined ? {} : { licenses: [{ license: { name: named } }] }),
    purl,
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
  };
}

/** sha512-BASE64, as npm writes it, of the package's archive. */
function hashOf(integrity: string): { readonly alg: "SHA-512"; readonly content: string } {
  return { alg: "SHA-512", content: Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex") };
}
