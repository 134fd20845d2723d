/** What vitest's provider tells of a file, as far as it is read here (Istanbul's form). */
export interface FileCoverage {
  readonly path: string;
  /** By branch: how often each way was taken. */
  readonly b: Readonly<Record<string, readonly number[]>>;
  readonly branchMap: Readonly<
    Record<
      string,
      {
        readonly loc: { readonly start: { readonly line: number } };
        /** Of each way. */
        readonly locations: readonly { readonly start: { readonly line?: number | undefined } }[];
      }
    >
  >;
  /** By statement. */
  readonly s: Readonly<Record<string, number>>;
}

/** Ways and statements of a folder of `src`, and how many the tests reached. */
export interface FolderCoverage {
  readonly folder: string;
  readonly files: number;
  readonly branches: number;
  readonly branches_reached: number;
  readonly statements: number;
  readonly statements_reached: number;
}

/** By the first folder below `src`; what stands in `src` itself is one folder. */
export function byFolder(files: readonly FileCoverage[], source: string): readonly FolderCoverage[] {
  const folders = new Map<string, FileCoverage[]>();
  for (const file of files) {
    const name = folderOf(file.path.slice(source.length));
    folders.set(name, [...(folders.get(name) ?? []), file]);
  }
  return [...folders]
    .map(([folder, own]) => {
      const ways = own.flatMap(({ b }) => Object.values(b).flat());
      const statements = own.flatMap(({ s }) => Object.values(s));
      return {
        folder,
        files: own.length,
        branches: ways.length,
        branches_reached: ways.filter((count) => count > 0).length,
        statements: statements.length,
        statements_reached: statements.filter((count) => count > 0).length,
      };
    })
    .toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

function folderOf(path: string): string {
  const parts = path.split("/");
  return parts.length === 1 ? "src" : `src/${parts.slice(0, -1).slice(0, 2).join("/")}`;
}

/** Per cent; a folder without any has all. */
export function percent(reached: number, all: number): number {
  return all === 0 ? 100 : (100 * reached) / all;
}
