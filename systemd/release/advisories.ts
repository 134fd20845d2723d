#!/usr/bin/env node
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readStatements, type Statement } from "./vex.ts";
import { isInRange, type RangeEvent } from "./ranges.ts";

const HELP = `npm run advisories -- FILE_OR_FOLDER [--root DIR]

Compares the lock files with an export of OSV's advisories: a JSON file, or a folder with the unpacked all.zip of the
ecosystem npm. Each finding needs a statement in systemd/release/vex.json. It needs no network.

  --root DIR  the repository whose lock files and vex.json are read (default: this one)

Exit code: 0 no finding without a statement, 1 there are some, 2 the export can't be used.
`;
const LOCK_FILES = ["package-lock.json", "site/package-lock.json"];
/** States that let a release pass. One that is exploitable or not examined yet must be corrected first. */
const SETTLED: readonly Statement["state"][] = ["not_affected", "resolved", "false_positive"];

/** The fields of the OSV schema that the scan reads. */
interface Advisory {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly summary?: string;
  readonly modified: string;
  readonly withdrawn?: string;
  readonly affected?: readonly {
    readonly package?: { readonly ecosystem: string; readonly name: string };
    readonly ranges?: readonly { readonly type: string; readonly events: readonly RangeEvent[] }[];
    readonly versions?: readonly string[];
  }[];
}

interface Locked {
  readonly name: string;
  readonly version: string;
}

function lockedPackages(root: string): readonly Locked[] {
  const files = LOCK_FILES.map((name) => join(root, name)).filter((file) => existsSync(file));
  return files.flatMap((file) => {
    // npm's own file, written by npm. An alias has the true name in its entry.
    const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Readonly<Record<string, Partial<Locked>>> };
    return Object.entries(lock.packages).flatMap(([path, { name, version }]) => {
      const folder = path.split("node_modules/").slice(1).pop();
      return folder === undefined || version === undefined ? [] : [{ name: name ?? folder, version }];
    });
  });
}

/** Reads the export file by file, because npm's has some hundred thousand. */
function* advisoriesOf(path: string): Generator<Advisory> {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((one) => one.endsWith(".json"))) yield* advisoriesIn(join(path, name));
}

function advisoriesIn(file: string): readonly Advisory[] {
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    // OSV's schema; only fields that exist are used.
    const all = (Array.isArray(content) ? content : [content]) as readonly Advisory[];
    if (all.every(({ id, modified }) => typeof id === "string" && typeof modified === "string")) return all;
  } catch (error) {
    throw new Error(`${file} is not an advisory of OSV: ${String(error)}`, { cause: error });
  }
  throw new Error(`${file} is not an advisory of OSV: id or modified is missing`);
}

interface Finding extends Locked {
  readonly advisory: Advisory;
}

function findingsOf(advisory: Advisory, versions: ReadonlyMap<string, ReadonlySet<string>>): readonly Finding[] {
  if (advisory.withdrawn !== undefined) return [];
  const found = (advisory.affected ?? []).flatMap((affected) => {
    if (affected.package?.ecosystem !== "npm") return [];
    const { name } = affected.package;
    const ranges = (affected.ranges ?? []).filter(({ type }) => type !== "GIT");
    return [...(versions.get(name) ?? [])]
      .filter((one) => affected.versions?.includes(one) === true || ranges.some(({ events }) => isInRange(one, events)))
      .map((version) => ({ advisory, name, version }));
  });
  return [...new Map(found.map((finding) => [`${finding.name}@${finding.version}`, finding])).values()];
}

function statementFor({ advisory, name, version }: Finding, all: readonly Statement[]): Statement | undefined {
  const ids = [advisory.id, ...(advisory.aliases ?? [])];
  return all.find((one) => ids.includes(one.id) && one.name === name && one.version === version);
}

/** Returns the number of findings without a settled statement. */
function scan(path: string, root: string): number {
  const locked = lockedPackages(root);
  if (locked.length === 0) throw new Error(`${root} has no lock file with packages`);
  const versions = new Map<string, Set<string>>();
  for (const { name, version } of locked) versions.set(name, (versions.get(name) ?? new Set()).add(version));
  const statements = readStatements(root);
  let count = 0;
  let newest = "";
  let open = 0;
  for (const advisory of statSync(path).isDirectory() ? advisoriesOf(path) : advisoriesIn(path)) {
    if (advisory.affected?.some((one) => one.package?.ecosystem === "npm") !== true) continue;
    count += 1;
    if (advisory.modified > newest) newest = advisory.modified;
    for (const finding of findingsOf(advisory, versions)) {
      const state = statementFor(finding, statements)?.state;
      if (state === undefined || !SETTLED.includes(state)) open += 1;
      const said = state ?? "no statement in vex.json";
      process.stdout.write(`${advisory.id} ${finding.name}@${finding.version}: ${said}. ${advisory.summary ?? ""}\n`);
    }
  }
  if (count === 0) throw new Error(`${path} has no advisory for npm: use the export of that ecosystem`);
  const compared = `${count} advisories, newest ${newest}, compared with ${locked.length} packages`;
  process.stdout.write(`${compared}: ${open} without a settled statement\n`);
  return open;
}

function main(): void {
  const options = { root: { type: "string" }, help: { type: "boolean" } } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const [path, ...more] = positionals;
  if (values.help === true) process.stdout.write(HELP);
  else if (path === undefined || more.length > 0) throw new Error("name one file or folder; see --help");
  else {
    const root = resolve(values.root ?? fileURLToPath(new URL("../..", import.meta.url)));
    process.exitCode = scan(path, root) === 0 ? 0 : 1;
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
