/** One measured figure beside what it is to be compared with. */
export interface Figure {
  readonly name: string;
  /** NaN: not measured; `target` says why. */
  readonly value: number;
  readonly unit: string;
  /** The same of the thing compared with, measured in the same run, interleaved. */
  readonly anchor: number | null;
  /** value / anchor */
  readonly ratio: number | null;
  /** What `ratio` (or `value`, without an anchor) should reach, in words. */
  readonly target: string;
  readonly reached: boolean | null;
}

export interface BenchOptions {
  /** Under a minute for everything together. */
  readonly quick: boolean;
}

/** A family of figures: one file in this folder. */
export interface Family {
  readonly name: string;
  readonly run: (options: BenchOptions) => Promise<readonly Figure[]>;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** CPU of this process, user and system, that one call costs: microseconds. */
export async function cpuMicros(calls: number, act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** Rounds of every contender in turn, so that what the machine does meanwhile hits all alike; medians by name. */
export async function interleaved(
  rounds: number,
  contenders: Readonly<Record<string, () => Promise<number>>>,
): Promise<Readonly<Record<string, number>>> {
  const values = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of Object.entries(contenders)) {
      const seen = values.get(name) ?? [];
      values.set(name, [...seen, await measure()]);
    }
  }
  return Object.fromEntries([...values].map(([name, seen]) => [name, median(seen)]));
}

/** A figure whose value should be at most `atMost` times its anchor. */
export function comparedFigure(
  figure: Pick<Figure, "name" | "value" | "unit"> & {
    readonly anchor: number;
    readonly atMost: number;
    readonly of: string;
  },
): Figure {
  const { name, value, unit, anchor, atMost, of } = figure;
  const ratio = value / anchor;
  return { name, value, unit, anchor, ratio, target: `at most ${atMost} x ${of}`, reached: ratio <= atMost };
}

/** A line for what couldn't be measured here. */
export function notMeasured(name: string, unit: string, why: string): Figure {
  return { name, value: NaN, unit, anchor: null, ratio: null, target: `not measured: ${why}`, reached: null };
}

/** The value that so many of a hundred don't exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? NaN;
}
