import type { Problem } from "./config-error.ts";
import type { YamlSource } from "./yaml-source.ts";

/** Problems of a configuration file, told apart by the booth (its index in `booths`) that each lies in. */
export interface SortedProblems {
  readonly booths: ReadonlyMap<number, readonly Problem[]>;
  /** Those that lie in no booth. */
  readonly others: readonly Problem[];
}

export function byBooth(problems: readonly Problem[]): SortedProblems {
  const booths = Map.groupBy(
    problems.filter((problem) => indexOf(problem) !== null),
    (problem) => indexOf(problem) ?? 0,
  );
  return { booths, others: problems.filter((problem) => indexOf(problem) === null) };
}

function indexOf({ path }: Problem): number | null {
  const index = /^booths\[(\d+)\]/.exec(path)?.[1];
  return index === undefined ? null : Number(index);
}

/** A file without some of its booths; `indices` are those that the kept ones have in the file. */
export interface SoundPart {
  readonly source: YamlSource;
  readonly indices: readonly number[];
}

/** Problems of what is kept still point at their places in the whole file. */
export function withoutBooths(source: YamlSource, left: ReadonlySet<number>): SoundPart {
  const all = boothsIn(source).map((booth, index) => ({ booth, index }));
  const kept = all.filter(({ index }) => !left.has(index));
  const indices = kept.map(({ index }) => index);
  return {
    indices,
    source: {
      file: source.file,
      data: { ...(source.data as object), booths: kept.map(({ booth }) => booth) },
      problemAt: ([first, second, ...rest], message, options) => {
        const index = first === "booths" && typeof second === "number" ? (indices[second] ?? second) : second;
        const path = [first, index, ...rest].filter((step) => step !== undefined);
        return source.problemAt(path, message, options);
      },
    },
  };
}

/** What a booth calls itself, as far as it can be read; its place where it has no usable id. */
export function nameOfBooth(
  source: YamlSource,
  index: number,
): { readonly id: string; readonly serial: string | null } {
  const booth = boothsIn(source)[index];
  const given = (key: "id" | "serial"): string | null => {
    const value: unknown = typeof booth === "object" && booth !== null ? Reflect.get(booth, key) : undefined;
    // It goes to logs and terminals, and nothing has looked at it yet.
    return typeof value === "string" && /^[A-Za-z0-9-]{1,64}$/.test(value.trim()) ? value.trim() : null;
  };
  return { id: given("id") ?? `booths[${index}]`, serial: given("serial")?.toUpperCase() ?? null };
}

function boothsIn({ data }: YamlSource): readonly unknown[] {
  const booths = typeof data === "object" && data !== null && "booths" in data ? data.booths : undefined;
  return Array.isArray(booths) ? booths : [];
}
