import { dirname, relative } from "node:path";

interface Change {
  /** What changed, from the root. */
  readonly files: readonly string[];
  readonly root: string;
}

/**
 * Test files by how near they stand to what changed: those that changed themselves, then, as `test` mirrors `src`, those of the same
 * folder, and of the same station.
 */
export function nearestFirst<T extends { readonly moduleId: string }>(
  tests: readonly T[],
  { files, root }: Change,
): T[] {
  const changed = files.map(foldersOf);
  const nearness = ({ moduleId }: T): number => {
    const path = relative(root, moduleId);
    if (files.includes(path)) return Infinity;
    const own = foldersOf(path);
    return Math.max(0, ...changed.map((folders) => shared(own, folders)));
  };
  return tests
    .map((test) => ({ test, near: nearness(test) }))
    .sort((one, other) => (one.near === other.near ? 0 : other.near - one.near))
    .map(({ test }) => test);
}

/** Without src or test, of which one mirrors the other. */
function foldersOf(path: string): readonly string[] {
  return dirname(path)
    .replace(/^(src|test)(\/|$)/, "")
    .split("/");
}

function shared(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((folder, index) => folder !== other[index]);
  return differs === -1 ? one.length : differs;
}
