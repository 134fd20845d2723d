import type { FileCoverage } from "./folders.ts";

/** A way of a branch that no test took. */
export interface Unreached {
  /** Below `src`. */
  readonly path: string;
  readonly line: number;
  /** That line of the source. */
  readonly text: string;
}

/** Why a branch needs no test: it holds for each line of that file which contains the text. */
export interface Excuse {
  readonly path: string;
  readonly text: string;
  readonly reason: string;
}

/** Reads the list: "# REASON" stands above those that it holds for, each "PATH: TEXT". Throws where a line is neither. */
export function excusesOf(list: string): readonly Excuse[] {
  let reason = "";
  const excuses: Excuse[] = [];
  for (const line of list.split("\n").filter((one) => one !== "")) {
    const [, path = "", text = ""] = /^(\S+\.ts): (.+)$/.exec(line) ?? [];
    if (line.startsWith("# ")) reason = line.slice(2);
    else if (reason !== "" && path !== "") excuses.push({ path, text, reason });
    else throw new Error(`neither a reason nor a place: ${line}`);
  }
  return excuses;
}

/** @param lines of the file's source */
export function unreachedIn(
  { b, branchMap }: FileCoverage,
  path: string,
  lines: readonly string[],
): readonly Unreached[] {
  return Object.entries(b).flatMap(([id, ways]) => {
    const branch = branchMap[id];
    return ways.flatMap((count, way) => {
      if (count > 0) return [];
      // A way without a place of its own, as an absent else, stands at its branch.
      const line = branch?.locations[way]?.start.line ?? branch?.loc.start.line ?? 0;
      return [{ path, line, text: (lines[line - 1] ?? "").trim() }];
    });
  });
}

/** Those that the list says nothing of. */
export function unexplained(unreached: readonly Unreached[], excuses: readonly Excuse[]): readonly Unreached[] {
  return unreached.filter(
    ({ path, text }) => !excuses.some((excuse) => excuse.path === path && text.includes(excuse.text)),
  );
}
