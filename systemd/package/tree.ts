import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { EXTERNAL, launcherText, LIBRARY_FILES, type Bundle } from "./bundle.ts";
import type { Control } from "./control.ts";
import { ARCHITECTURES, copyStripped, nodePackage, type Architecture } from "./node-binary.ts";
import { closureOf, copyPackages, licencesOf } from "./packages.ts";
import { sbomText } from "./sbom.ts";

const HOME = "usr/lib/booth-gateway";
export const UNITS = "usr/lib/systemd/system";
const DOC = "usr/share/doc/booth-gateway";

export const AGENT_CONTROL: Control = {
  name: "booth-gateway",
  depends: "systemd (>= 247)",
  description: [
    "edge gateway agent for paint and spray booths",
    "Polls the booth's PLC over Modbus or OPC UA, keeps every reading, derives the",
    "booth's figures, and delivers them exactly once to the monitoring service.",
  ],
  scripts: "scripts",
};

export interface TreeParts {
  /** Root of the repository. */
  readonly root: string;
  /** Empty; becomes the root of the file system that the package brings. */
  readonly stage: string;
  readonly architecture: Architecture;
  readonly version: string;
  readonly made_at: Date;
  /** Folder of npm's cache. */
  readonly cache: string;
  readonly bundle: Bundle;
}

/**
 * Lays out what the package installs. Everything that runs stands in one folder, named by version and content; only the
 * launcher, and the bench beside it, name that folder. The launcher is the last file that dpkg puts in place, so a power cut leaves the old agent or the new.
 */
export function layOut(parts: TreeParts): void {
  const { root, stage } = parts;
  layOutProgram(parts);
  const starter = readFileSync(join(root, "systemd/package/with-notify-socket"));
  put(join(stage, HOME, "with-notify-socket"), starter, 0o755);
  mkdirSync(join(stage, "usr/bin"), { recursive: true });
  symlinkSync("../lib/booth-gateway/booth-gateway", join(stage, "usr/bin/booth-gateway"));
  layOutSystem(parts);
  layOutTexts(parts);
}

/** Paths of the installed program. */
export interface Program {
  readonly node: string;
  readonly launcher: string;
}

/** Lays out the program alone; it runs from the stage too. Paths are those in the stage. */
export function layOutProgram(parts: TreeParts): Program {
  const { root, stage, version } = parts;
  const unnamed = join(stage, HOME, "unnamed");
  layOutAgent(parts, unnamed);
  const folder = join(HOME, `${version}-${contentHash(unnamed)}`);
  renameSync(unnamed, join(stage, folder));
  const launcher = join(stage, HOME, "booth-gateway");
  const bench = `#!/${folder}/bin/node\nrequire("./${basename(folder)}/agent/box-bench.js");\n`;
  put(join(stage, HOME, "bench"), bench, 0o755);
  put(launcher, launcherText(root, `/${folder}`), 0o755);
  return { node: join(stage, folder, "bin/node"), launcher };
}

function layOutAgent({ root, architecture, cache, version, bundle }: TreeParts, folder: string): void {
  for (const { name, text } of bundle.files) put(join(folder, "agent", name), text);
  put(join(folder, "package.json"), `${JSON.stringify({ name: "booth-gateway", version })}\n`);
  cpSync(join(root, "config/profiles"), join(folder, "profiles"), { recursive: true });
  const isServed = (path: string): boolean => basename(path) !== "tsconfig.json";
  cpSync(join(root, "src/api/page"), join(folder, "page"), { recursive: true, filter: isServed });
  const isCatalogue = (path: string): boolean => !path.endsWith(".ts");
  cpSync(join(root, "src/domain/messages"), join(folder, "messages"), { recursive: true, filter: isCatalogue });
  for (const name of LIBRARY_FILES)
    put(join(folder, "libraries", name), readFileSync(join(root, "node_modules", name)));
  layOutRuntime({ root, architecture, cache }, folder, EXTERNAL);
}

/** Lays out Node and the packages with addons. */
export function layOutRuntime(
  { root, architecture, cache }: Pick<TreeParts, "root" | "architecture" | "cache">,
  folder: string,
  packages: readonly string[],
): void {
  copyPackages(closureOf(root, packages), { from: root, to: folder, prebuild: ARCHITECTURES[architecture].prebuild });
  const node = join(nodePackage(root, architecture, cache), "bin/node");
  if (!copyStripped(architecture, node, join(folder, "bin/node"))) {
    process.stderr.write(
      `${ARCHITECTURES[architecture].strip} isn't installed: Node goes in as it came, 18 MB larger\n`,
    );
  }
}

function layOutSystem({ root, stage }: TreeParts): void {
  const from = join(root, "systemd");
  for (const name of readdirSync(from)) {
    if (/\.(?:service|timer)$/.test(name)) put(join(stage, UNITS, name), readFileSync(join(from, name)));
  }
  put(join(stage, "usr/lib/sysusers.d/booth-gateway.conf"), readFileSync(join(from, "booth-gateway.sysusers")));
  put(join(stage, "usr/lib/tmpfiles.d/booth-gateway.conf"), readFileSync(join(from, "booth-gateway.tmpfiles")));
  for (const name of readdirSync(join(from, "drop-ins"))) {
    put(join(stage, "usr/share/booth-gateway/drop-ins", name), readFileSync(join(from, "drop-ins", name)));
  }
}

/** Folders in which Debian's shells look for the completions of packages. */
const COMPLETIONS = {
  bash: "bash-completion/completions/booth-gateway",
  zsh: "zsh/vendor-completions/_booth-gateway",
  fish: "fish/vendor_completions.d/booth-gateway.fish",
} as const;

function layOutTexts({ root, stage, made_at, bundle, architecture, cache, version }: TreeParts): void {
  const shared = join(stage, "usr/share/booth-gateway");
  const example = readFileSync(join(root, "config/gateway.example.yaml"), "utf8");
  put(join(shared, "gateway.yaml"), example.replace("$schema=schemas/", "$schema=/usr/share/booth-gateway/schemas/"));
  for (const name of ["gateway.first.yaml", "booth-gateway.avahi"]) {
    put(join(shared, name), readFileSync(join(root, "systemd", name)));
  }
  for (const [folder, name] of ["schemas", "monitoring"].flatMap((one) =>
    readdirSync(join(root, "config", one)).map((file) => [one, file] as const),
  )) {
    put(join(shared, folder, name), readFileSync(join(root, "config", folder, name)));
  }
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  for (const name of pages.filter((page) => page.endsWith(".md"))) {
    put(join(stage, DOC, name), readFileSync(join(root, "docs", name)));
  }
  const manual = readFileSync(join(root, "docs/booth-gateway.8"));
  put(join(stage, "usr/share/man/man8/booth-gateway.8.gz"), gzipSync(manual, { level: 9 }));
  for (const [shell, path] of Object.entries(COMPLETIONS)) {
    put(
      join(stage, "usr/share", path),
      execFileSync(process.execPath, [join(root, "src/main.ts"), "completion", shell]),
    );
  }
  const libraries = new Set(LIBRARY_FILES.map((name) => join(root, "node_modules", name.slice(0, name.indexOf("/")))));
  const packages = [
    ...bundle.packages,
    ...closureOf(root, EXTERNAL),
    ...libraries,
    nodePackage(root, architecture, cache),
  ];
  layOutPapers({ root, stage, version, made_at }, "booth-gateway", packages);
}

/** Lays out licences, software bill of materials and changelog. `packages`: folders of the packages within. */
export function layOutPapers(
  { root, stage, version, made_at }: Pick<TreeParts, "root" | "stage" | "version" | "made_at">,
  name: string,
  packages: readonly string[],
): void {
  const folder = join(stage, "usr/share/doc", name);
  put(
    join(folder, "copyright"),
    `${readFileSync(join(root, "LICENSE"), "utf8").trim()}\n\n\nSoftware of others within\n\n${licencesOf(packages)}`,
  );
  put(join(folder, "sbom.cdx.json"), sbomText({ root, name, version, made_at, packages }));
  put(
    join(folder, "changelog.gz"),
    gzipSync(`${name} (${version})\n\n  * See the repository's history.\n\n`, { level: 9 }),
  );
}

export function put(path: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Files below a folder, as paths from there, in the order of their names. */
export function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

export function contentHash(folder: string): string {
  const hash = createHash("sha256");
  for (const name of filesBelow(folder)) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest("hex").slice(0, 8);
}
