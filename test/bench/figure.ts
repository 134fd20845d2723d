/** A measured figure and the value it is compared with. */
export interface Figure {
  readonly name: string;
  /** NaN if it was not measured; `target` says why. */
  readonly value: number;
  readonly unit: string;
  /** The same quantity of the thing compared with, measured in the same run. */
  readonly anchor: number | null;
  /** value / anchor */
  readonly ratio: number | null;
  /** The limit of the value, or of its ratio to the anchor ("<= 2 x libmodbus"). */
  readonly target: string;
  /** Explains the anchor and the load of the measurement, if the target does not. */
  readonly note?: string;
  readonly reached: boolean | null;
}

export interface BenchOptions {
  /** Measures less, so that all families together take about a minute. */
  readonly quick: boolean;
}

/** A group of figures that are measured together, in a process of their own. */
export interface Family {
  readonly name: string;
  readonly run: (options: BenchOptions) => Promise<readonly Figure[]>;
}

type Given = Pick<Figure, "name" | "value" | "unit"> & Partial<Figure>;

/** Returns a figure with its ratio. Without `reached` there is nothing to reach. */
export function figureOf({ anchor = null, target = "", reached = null, ...given }: Given): Figure {
  const ratio = anchor === null || anchor === 0 ? null : given.value / anchor;
  return { ratio, anchor, target, reached, ...given };
}

/** Returns a figure whose value should be at most `atMost` times its anchor. */
export function comparedFigure({
  atMost,
  of,
  ...given
}: Given & { readonly anchor: number; readonly atMost: number; readonly of: string }): Figure {
  return figureOf({ ...given, target: `<= ${atMost} x ${of}`, reached: given.value / given.anchor <= atMost });
}

/** Returns a figure whose value should be at most `most` of its unit. */
export function limitedFigure(given: Given, most: number): Figure {
  return figureOf({ ...given, target: `<= ${most} ${given.unit}`, reached: given.value <= most });
}

/** Returns a line for a figure that cannot be measured on this machine. */
export function notMeasured(name: string, unit: string, why: string): Figure {
  return figureOf({ name, value: NaN, unit, target: `not measured: ${why}` });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Returns the value that this percentage of the values does not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? NaN;
}

/** Returns the CPU time, user and system, that this process spends in `act`, in ms. */
export async function cpuMs(act: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Measures all contenders in turn, round after round, so that other load on the machine hits all alike. Returns medians by name. */
export async function interleaved(
  rounds: number,
  contenders: Readonly<Record<string, () => number | Promise<number>>>,
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

/** Runs `act` with a list of clean-ups, which run at the end, the last one first. */
export async function withCleanUp<T>(act: (atEnd: (undo: () => unknown) => void) => Promise<T>): Promise<T> {
  const undos: (() => unknown)[] = [];
  try {
    return await act((undo) => void undos.push(undo));
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}
