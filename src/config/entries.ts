import type { Problem } from "./config-error.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

/** Lists of the configuration of which one entry may be wrong and cost itself alone. */
const LISTS = ["booths", "outputs", "notices"] as const;
export type List = (typeof LISTS)[number];

/** Problems by the index of the entry that each lies in. */
type ByIndex = ReadonlyMap<number, readonly Problem[]>;

/** Whether a problem lies in an entry that has problems already. */
export function isIn(found: Readonly<Record<List, ByIndex>>, { path }: Problem): boolean {
  const entry = entryOf(path);
  return entry !== null && found[entry.list].has(entry.index);
}

function entryOf(path: string): { readonly list: List; readonly index: number } | null {
  const [, name, index] = /^(booths|outputs|notices)\[(\d+)\]/.exec(path) ?? [];
  const list = LISTS.find((one) => one === name);
  return list === undefined ? null : { list, index: Number(index) };
}

/** Problems of a configuration file, told apart by the booth, output or notice that each lies in; `others` lie in none. */
export function byEntry(
  problems: readonly Problem[],
): Readonly<Record<List, ByIndex>> & { readonly others: readonly Problem[] } {
  const of = (list: List): ByIndex =>
    Map.groupBy(
      problems.filter(({ path }) => entryOf(path)?.list === list),
      ({ path }) => entryOf(path)?.index ?? 0,
    );
  return {
    booths: of("booths"),
    outputs: of("outputs"),
    notices: of("notices"),
    others: problems.filter(({ path }) => entryOf(path) === null),
  };
}

/**
 * A file without some of its entries; `indices` are those that the kept ones have in the file. Problems of what is kept still point at
 * their places in the whole file.
 */
export function without(source: YamlSource, left: Readonly<Record<List, ByIndex>>) {
  const kept = (list: List) => [...entriesIn(source, list).entries()].filter(([index]) => !left[list].has(index));
  const all = { booths: kept("booths"), outputs: kept("outputs"), notices: kept("notices") };
  const indices = mapped(all, ([index]) => index);
  const lists = mapped(all, ([, entry]) => entry);
  const part: YamlSource = {
    file: source.file,
    data: { ...(source.data as object), ...lists },
    problemAt: (path, message, options) => source.problemAt(inFile(path, indices), message, options),
    writtenAt: (path) => source.writtenAt(inFile(path, indices)),
  };
  return { indices, source: part };
}

function mapped<T, U>(
  all: Readonly<Record<List, readonly T[]>>,
  each: (one: T) => U,
): Readonly<Record<List, readonly U[]>> {
  return { booths: all.booths.map(each), outputs: all.outputs.map(each), notices: all.notices.map(each) };
}

function inFile([first, second, ...rest]: DataPath, indices: Readonly<Record<List, readonly number[]>>): DataPath {
  const list = LISTS.find((name) => name === first);
  const index = list !== undefined && typeof second === "number" ? (indices[list][second] ?? second) : second;
  return [first, index, ...rest].filter((step) => step !== undefined);
}

/** What the file has of that list; [] where it is none. */
export function entriesIn({ data }: YamlSource, list: List): readonly unknown[] {
  const entries: unknown = typeof data === "object" && data !== null ? Reflect.get(data, list) : undefined;
  return Array.isArray(entries) ? entries : [];
}
