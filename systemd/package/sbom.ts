import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { resolvePackage } from "./packages.ts";

/** The fields of a package's manifest that the SBOM needs. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type: string };
  readonly dependencies?: Readonly<Record<string, string>>;
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
 * Returns the bill of materials of a package as CycloneDX 1.6 JSON. It is made from the folders that went in, because
 * npm's own list leaves out each package that a developer's tool needs too. Same folders and lock file, same text.
 */
export function sbomText({ root, name: package_name, version, made_at, packages }: BillParts): string {
  // npm's own file, written by npm.
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const folders = [...new Set(packages)];
  const found = folders.map((folder) => componentOf(folder, lock));
  const unique = [...new Map(found.map((component) => [component.purl, component])).values()];
  const components = unique.sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const whole = `pkg:generic/${package_name}@${version}`;
  const bom = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf(JSON.stringify([whole, components])),
    version: 1,
    metadata: {
      timestamp: made_at.toISOString(),
      lifecycles: [{ phase: "build" }],
      component: {
        type: "application",
        "bom-ref": whole,
        name: package_name,
        version,
        licenses: [{ license: { id: "Apache-2.0" } }],
        purl: whole,
      },
    },
    components,
    dependencies: [
      { ref: whole, dependsOn: components.map(({ purl }) => purl) },
      ...dependenciesOf(folders, new Set(components.map(({ purl }) => purl))),
    ],
  };
  return `${JSON.stringify(bom, null, 1)}\n`;
}

function manifestOf(folder: string): Manifest {
  // A package's own file.
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function purlOf({ name, version }: Manifest): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function componentOf(folder: string, lock: Lock) {
  const manifest = manifestOf(folder);
  const { name, version, license } = manifest;
  const purl = purlOf(manifest);
  const named = typeof license === "object" ? license.type : license;
  const integrity = lock.packages[folder.slice(folder.indexOf("node_modules/"))]?.integrity;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    ...(named === undefined ? {} : { licenses: [{ license: { name: named } }] }),
    purl,
    // Advisories about Node name it by this, and not by the package that contains it.
    ...(name.startsWith("node-linux-") ? { cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` } : {}),
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
    ...(name === "better-sqlite3" ? { components: [sqliteWithin()] } : {}),
  };
}

/** SQLite, which is compiled into its addon and so not a package. */
function sqliteWithin() {
  const db = new Database(":memory:");
  const version = db.prepare("SELECT sqlite_version()").pluck().get() as string;
  db.close();
  return {
    type: "library",
    "bom-ref": `pkg:generic/sqlite@${version}`,
    name: "sqlite",
    version,
    purl: `pkg:generic/sqlite@${version}`,
    cpe: `cpe:2.3:a:sqlite:sqlite:${version}:*:*:*:*:*:*:*`,
  };
}

/** Returns what each package needs of the others within. */
function dependenciesOf(folders: readonly string[], within: ReadonlySet<string>) {
  const needs = new Map<string, Set<string>>();
  for (const folder of folders) {
    const manifest = manifestOf(folder);
    const of = needs.get(purlOf(manifest)) ?? new Set();
    needs.set(purlOf(manifest), of);
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      const needed = resolvePackage(name, folder);
      if (needed !== null && within.has(purlOf(manifestOf(needed)))) of.add(purlOf(manifestOf(needed)));
    }
  }
  const sorted = [...needs].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].sort() }));
}

/** Returns a UUID that depends on the content only: the same content has the same serial number. */
export function serialOf(content: string): string {
  const hex = createHash("sha256").update(content).digest("hex");
  // The version (8: of the maker's own) and the variant of RFC 9562.
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return `urn:uuid:${parts.join("-")}`;
}

/** sha512-BASE64, as npm writes it, of the package's archive. */
function hashOf(integrity: string): { readonly alg: "SHA-512"; readonly content: string } {
  return { alg: "SHA-512", content: Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex") };
}
