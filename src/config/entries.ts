import type { Problem } from "./config-error.ts";
import { type DataPath, pathText, valueAt, type YamlSource } from "./yaml-source.ts";

/** The lists of the configuration in which a fault disables only its own entry. */
const LISTS = ["booths", "outputs", "notices"] as const;
export type List = (typeof LISTS)[number];

/** Problems by the entry that they concern, such as "booths[2]". Problems that concern no single entry are under "". */
export type ByEntry = ReadonlyMap<string, readonly Problem[]>;

export function byEntry(problems: readonly Problem[]): ByEntry {
  return Map.groupBy(problems, entryOf);
}

export function entryOf({ path }: Problem): string {
  return /^(booths|outputs|notices)\[\d+\]/.exec(path)?.[0] ?? "";
}

/** Returns the entries of a list; [] if the file doesn't have the list. */
export function entriesIn({ data }: YamlSource, list: List): readonly unknown[] {
  const entries = valueAt(data, [list]);
  return Array.isArray(entries) ? entries : [];
}

/**
 * Returns the file without its faulty entries, and the remaining entries' indices in the file. Each problem of the result still points at
 * its place in the whole file.
 */
export function withoutEntries(source: YamlSource, faulty: ByEntry) {
  const keptIn = (list: List): number[] =>
    [...entriesIn(source, list).keys()].filter((index) => !faulty.has(pathText([list, index])));
  const kept = { booths: keptIn("booths"), outputs: keptIn("outputs"), notices: keptIn("notices") };
  const lists = LISTS.map((list) => {
    const entries = entriesIn(source, list);
    return [list, kept[list].map((index) => entries[index])] as const;
  });
  const inFile = ([first, second, ...rest]: DataPath): DataPath => {
    const list = LISTS.find((name) => name === first);
    const index = list !== undefined && typeof second === "number" ? (kept[list][second] ?? second) : second;
    return [first, index, ...rest].filter((step) => step !== undefined);
  };
  const part: YamlSource = {
    file: source.file,
    data: { ...(source.data as object), ...Object.fromEntries(lists) },
    problemAt: (path, text, options) => source.problemAt(inFile(path), text, options),
    writtenAt: (path) => source.writtenAt(inFile(path)),
  };
  return { kept, source: part };
}
