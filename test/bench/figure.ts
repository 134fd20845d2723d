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

/** A figure whose anchor is another family's figure of the same run. */
interface Across {
  readonly name: string;
  readonly of: string;
  /** Whose figure that is. */
  readonly family: string;
  readonly atMost: number;
}

/** From reading to commit, in terms of reading alone. */
const ACROSS: readonly Across[] = [
  { name: "agent.fleet8_cpu_percent", of: "modbus.fleet8_cpu_percent", family: "fleet", atMost: 3.5 },
  { name: "agent.fleet64_cpu_percent", of: "modbus.fleet64_cpu_percent", family: "fleet", atMost: 3 },
];

/** Families that are measured for the sake of others' anchors, too. */
export function withAnchors(families: readonly string[]): readonly string[] {
  const needed = ACROSS.filter(({ name }) => families.includes(name.replace(/\..*/, ""))).map(({ family }) => family);
  return [...families, ...needed];
}

/** The figures of a run, those with an anchor in another family judged by it; where that wasn't measured they stand as they are. */
export function related(figures: readonly Figure[]): readonly Figure[] {
  return figures.map((figure) => {
    const { name, value, unit } = figure;
    const across = ACROSS.find((one) => one.name === name);
    const anchor = figures.find((one) => one.name === across?.of)?.value;
    if (across !== undefined && anchor !== undefined) {
      const compared = comparedFigure({ ...across, value, unit, anchor });
      // What its family says of it beside its own limit still holds.
      return { ...compared, target: [compared.target, ...figure.target.split("; ").slice(1)].join("; ") };
    }
    return figure.anchor === null || figure.anchor === 0 ? figure : { ...figure, ratio: value / figure.anchor };
  });
}
