import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** A file below it that one other file alone imports, and that no test names, belongs in that other. */
const SMALL_LINES = 40;
const IMPORT = /(?:from|import\()\s*"(\.[^"]+)"/g;

export interface Counts {
  readonly files: number;
  readonly lines: number;
  readonly median_lines: number;
  readonly imported_once: number;
  /** Under 40 lines, imported by one other alone, and without a test of its own: file and who imports it. */
  readonly splinters: readonly string[];
  /** The longest, with their lines. */
  readonly longest: readonly (readonly [string, number])[];
}

interface Source {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly string[];
}

/** TypeScript files of a folder, their paths seen from the root. */
function sourcesIn(root: string, folder: string): readonly Source[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(root, path), "utf8");
      const imports = [...text.matchAll(IMPORT)].map(([, spec = ""]) => normalize(join(dirname(path), spec)));
      return { path, lines: text.split("\n").length - 1, imports: [...new Set(imports)] };
    });
}

/** Counts in src, without the page's scripts, which are not TypeScript. */
export function countsOf(root: string): Counts {
  const sources = sourcesIn(root, "src").filter(({ path }) => path !== "src/main.ts");
  const importers = Map.groupBy(
    sources.flatMap(({ path, imports }) => imports.map((to) => ({ path, to }))),
    ({ to }) => to,
  );
  const tested = new Set(
    sourcesIn(root, "test")
      .filter(({ path }) => path.endsWith(".test.ts"))
      .flatMap(({ imports }) => imports),
  );
  const once = sources.flatMap((source) => {
    const by = importers.get(source.path) ?? [];
    return by.length === 1 ? [{ ...source, by: by[0]?.path ?? "" }] : [];
  });
  const lengths = sources.map(({ lines }) => lines).sort((a, b) => a - b);
  return {
    files: sources.length,
    lines: lengths.reduce((sum, lines) => sum + lines, 0),
    median_lines: lengths[Math.floor(lengths.length / 2)] ?? 0,
    imported_once: once.length,
    splinters: once
      .filter(({ path, lines }) => lines < SMALL_LINES && !tested.has(path))
      .map(({ path, by }) => `${path} in ${by}`)
      .sort(),
    longest: sources
      .toSorted((a, b) => b.lines - a.lines)
      .slice(0, 10)
      .map(({ path, lines }) => [path, lines]),
  };
}
