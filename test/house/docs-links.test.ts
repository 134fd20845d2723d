import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STATIONS = namesIn("src");
/** The folders that a path in a text may start from: the root, src, or test. */
const BASES = ["", "src", "test"];
const KINDS = ["isolated", "long", "system", "nightly"];
/** Texts name a test without its file ending. */
const ENDINGS = ["", ".ts", ".test.ts", ...KINDS.map((kind) => `.${kind}.test.ts`)];
/** Folders that a run makes and git ignores. */
const MADE = ["test/results", "config/fleet/secrets", "node_modules", "dist", "data"];

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SUPPORT.md",
  "CODE_OF_CONDUCT.md",
  ...filesBelow("docs"),
]
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

function filesBelow(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names.map((name) => `${folder}/${name}`);
}

function namesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder));
}

/** The text without its blocks of code. */
function proseOf(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

function linksIn(text: string): string[] {
  return [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
}

/** GitHub's anchor of a heading. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function anchorsOf(text: string): string[] {
  return [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

function isBroken(document: string, target: string): boolean {
  if (/^https?:/.test(target)) return false;
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? join(ROOT, document) : resolve(ROOT, dirname(document), path);
  if (relative(ROOT, file).startsWith("..") || !existsSync(file)) return true;
  return anchor !== undefined && !anchorsOf(readFileSync(file, "utf8")).includes(anchor);
}

/** Paths in code spans that begin with a folder of the project, of src or of test. */
function pathsIn(text: string): string[] {
  const spans = [...proseOf(text).matchAll(/`([\w.@-]+(?:\/[\w.@*-]+)+\/?)`/g)].map(([, path = ""]) => path);
  const own = [...namesIn(""), ...STATIONS, ...namesIn("test")];
  return spans.filter((path) => own.includes(path.split("/")[0] ?? ""));
}

function isThere(path: string): boolean {
  if (MADE.some((made) => `${path}/`.startsWith(`${made}/`))) return true;
  const [named = ""] = path.split("*");
  const known = named === path ? path : dirname(`${named}x`);
  return BASES.some((base) => ENDINGS.some((ending) => existsSync(join(ROOT, base, `${known}${ending}`))));
}

describe.each(documents.map(({ name, text }) => [name, text] as const))("the document %s", (name, text) => {
  it("links only to existing files and headings", () => {
    expect(linksIn(text).filter((target) => isBroken(name, target))).toEqual([]);
  });

  it("mentions only existing paths", () => {
    expect(pathsIn(text).filter((path) => !isThere(path))).toEqual([]);
  });
});

interface Step {
  readonly file: string;
  /** The functions that run there. */
  readonly names: readonly string[];
  readonly what: string;
}

/** The tables of architecture.md under "The walk", row by row; files are below src. */
function walks(): readonly (readonly Step[])[] {
  const text = readFileSync(join(ROOT, "docs/explain/architecture.md"), "utf8")
    .split("\n## The walk\n")[1]
    ?.split("\n## ")[0];
  return (text ?? "")
    .split("\n### ")
    .slice(1)
    .map((walk) =>
      [...walk.matchAll(/^\| `([^`]+)` +\| ([^|]+) \| ([^|]+) \|$/gm)].map(([, file = "", names = "", what = ""]) => ({
        file,
        names: [...names.matchAll(/`(\w+)`/g)].map(([, one = ""]) => one),
        what,
      })),
    );
}

function codeOf(file: string): string {
  const path = join(ROOT, "src", file);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function importsOf(file: string): string[] {
  const named = [...codeOf(file).matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)];
  return named.map(([, target = ""]) => join(dirname(file), target));
}

it("each name in a row of architecture.md's code walk occurs in the file of that row", () => {
  expect(walks().map((steps) => steps.length > 10)).toEqual([true]);
  const missing = walks()
    .flat()
    .flatMap(({ file, names }) => {
      if (names.length === 0) return [`${file}: nothing named`];
      return names.filter((one) => !new RegExp(`\\b${one}\\b`).test(codeOf(file))).map((one) => `${file}: ${one}`);
    });
  expect(missing).toEqual([]);
});

it("each file in architecture.md's code walk is imported by an earlier file, or its row says how the file is called", () => {
  const strays = walks().flatMap((steps) =>
    steps.filter(({ file, what }, index) => {
      const above = steps.slice(0, index);
      const isCalled = above.some((one) => one.file === file || importsOf(one.file).includes(file));
      return index > 0 && !isCalled && !/\b(?:port|callback|signal|message|socket|store thread)\b/.test(what);
    }),
  );
  expect(strays.map(({ file }) => file)).toEqual([]);
});

it("each row of standards.md and of the threats names an existing test, or the reason why none exists", () => {
  const textOf = (name: string): string => readFileSync(join(ROOT, "docs/explain", name), "utf8");
  const threats = textOf("threat-model.md").split("\n## Threats\n")[1] ?? "";
  const rows = `${threats}\n${textOf("standards.md")}`.match(/^\| (?!-).*\|$/gm) ?? [];
  const proofs = rows.map((row) => row.split("|").at(-2)?.trim() ?? "").filter((proof) => !/^proof/.test(proof));
  expect(proofs.length).toBeGreaterThan(50);
  expect(proofs.filter((proof) => !/^Reason: .{10}/.test(proof) && !namesTest(proof))).toEqual([]);
});

function namesTest(proof: string): boolean {
  const path = /^`(test\/[\w./-]+)`$/.exec(proof)?.[1];
  return path !== undefined && existsSync(join(ROOT, `${path}.test.ts`));
}

it("the README has at most 1,000 words (five minutes of reading)", () => {
  const words = readFileSync(join(ROOT, "README.md"), "utf8").split(/\s+/).filter(Boolean);
  expect(words.length).toBeLessThanOrEqual(1_000);
});
