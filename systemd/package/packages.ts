import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/**
 * Files of a package that are needed at runtime: no types, maps, sources of addons, tests, or texts other than
 * licences.
 */
const RUNS = /\.(?:js|cjs|mjs|json)$|^package\.json$/;
const NEVER = new Set(["deps", "test", "tests", "node_modules", "prebuilds", "docs", "bench"]);
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

/** Folders of the named packages and of all that they depend on, nested ones where Node would find them. */
export function closureOf(root: string, names: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const folder = resolvePackage(name, from);
    if (folder === null) throw new Error(`${name} isn't installed: npm ci`);
    if (found.has(folder)) return;
    found.add(folder);
    // A package's own file.
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    for (const dependency of Object.keys(dependencies)) if (!BUILD_TIME.has(dependency)) visit(dependency, folder);
  };
  for (const name of names) visit(name, root);
  return [...found].sort();
}

/** Named as dependencies, and needed by compilers alone. */
const BUILD_TIME = new Set(["node-addon-api"]);

/** Returns the folder in which Node would find a package from a folder; null if it isn't installed. */
export function resolvePackage(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === dirname(folder)) return null;
  }
}

/** Copies what runs of the packages to `to`, with the addons built for that architecture and glibc. */
export function copyPackages(
  folders: readonly string[],
  place: { readonly from: string; readonly to: string; readonly prebuild: string },
): void {
  for (const folder of folders) {
    const target = join(place.to, relative(place.from, folder));
    copyRunning(folder, target);
    const addons = addonsOf(join(folder, "prebuilds"), place.prebuild);
    if (existsSync(join(folder, "prebuilds")) && addons.length === 0) {
      throw new Error(`${folder} has no addon for ${place.prebuild}`);
    }
    for (const addon of addons) {
      const path = join(target, "prebuilds", addon);
      mkdirSync(dirname(path), { recursive: true });
      cpSync(join(folder, "prebuilds", addon), path);
    }
  }
}

function copyRunning(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isDirectory() && !NEVER.has(entry.name)) copyRunning(join(from, entry.name), join(to, entry.name));
    if (!entry.isFile() || !(RUNS.test(entry.name) || LICENCE.test(entry.name))) continue;
    mkdirSync(to, { recursive: true });
    cpSync(join(from, entry.name), join(to, entry.name));
  }
}

/** Returns a file per platform, or a folder per platform with a file per C library. */
function addonsOf(prebuilds: string, prebuild: string): string[] {
  if (!existsSync(prebuilds)) return [];
  const file = `${prebuild}.node`;
  if (existsSync(join(prebuilds, file))) return [file];
  const folder = join(prebuilds, prebuild);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".node") && !name.includes("musl"))
    .map((name) => join(prebuild, name));
}

/** Each package's name, version and the text of its licence, in the order of names. */
export function licencesOf(folders: readonly string[]): string {
  const texts = folders.map((folder) => {
    // A package's own file.
    const own = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
    };
    const file = readdirSync(folder)
      .sort()
      .find((name) => LICENCE.test(name) && statSync(join(folder, name)).isFile());
    const text =
      file === undefined ? "(the package holds no text of its licence)\n" : readFileSync(join(folder, file), "utf8");
    return { title: `${own.name} ${own.version} (${own.license ?? "see below"})`, text };
  });
  const sorted = [...new Map(texts.map((one) => [one.title, one])).values()].sort((a, b) =>
    a.title < b.title ? -1 : 1,
  );
  return sorted.map(({ title, text }) => `${title}\n${"-".repeat(title.length)}\n\n${text.trim()}\n`).join("\n\n");
}
