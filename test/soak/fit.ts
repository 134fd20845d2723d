/** Pure rules that judge a long run. */

/** A measurement of the agent, `at_s` seconds after the start of the run. */
export interface Look {
  readonly at_s: number;
  /** Memory of the main thread in use after a full collection. */
  readonly live_mb: number;
  readonly private_mb: number;
  readonly resident_mb: number;
  readonly files: number;
  readonly wal_mb: number;
  /** Number of records that the service hasn't acked. */
  readonly backlog: number;
}

/** The first third of the run is warm-up: code is compiled, and the heap and the WAL reach their size. */
const WARM_UP = 1 / 3;
/** Maximum number of measurements. More don't make a slope more accurate. */
const MOST_POINTS = 300;

/**
 * Returns the slope in MB an hour: the median of the slopes between all pairs of points (Theil-Sen), which tolerates
 * almost a third of outliers.
 */
export function slopePerHour(points: readonly (readonly [at_s: number, value: number])[]): number {
  const step = Math.max(1, Math.ceil(points.length / MOST_POINTS));
  const some = points.filter((_, index) => index % step === 0);
  const slopes = some.flatMap(([at, value], index) =>
    some.slice(index + 1).map(([later, then]) => (then - value) / (later - at)),
  );
  return slopes.length === 0 ? 0 : middle(slopes) * 3_600;
}

export function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

/** Growth of memory over the measured time, by its slope. */
interface Growth {
  readonly slope_mb_per_h: number;
  readonly growth_mb: number;
  /** Allowed growth. */
  readonly allowed_mb: number;
}

export interface Trend {
  readonly looks: number;
  readonly live: Growth;
  /** Memory of the process with its garbage and all threads. */
  readonly taken: Growth;
  readonly files_before: number;
  readonly files_after: number;
  readonly most_wal_mb: number;
  readonly most_backlog: number;
  readonly most_resident_mb: number;
}

/** Memory in use rises and falls with connections and batches, and grows slightly while code is still compiled. */
const LIVE_NOISE_MB = 3;
/** A heap takes memory before it collects, also in the store thread. */
const TAKEN_NOISE_MB = 25;
const LEAK_MB_PER_H = 0.5;

function growthOf(warm: readonly Look[], noise_mb: number, of: (look: Look) => number): Growth {
  const hours = ((warm.at(-1)?.at_s ?? 0) - (warm[0]?.at_s ?? 0)) / 3_600;
  const slope = slopePerHour(warm.map((look) => [look.at_s, of(look)]));
  return {
    slope_mb_per_h: slope,
    growth_mb: slope * hours,
    allowed_mb: Math.max(noise_mb, LEAK_MB_PER_H * hours),
  };
}

/** Returns the trend after the warm-up. */
export function trendOf(looks: readonly Look[]): Trend {
  const end = looks.at(-1)?.at_s ?? 0;
  const warm = looks.filter(({ at_s }) => at_s >= end * WARM_UP);
  const half = warm.length >> 1;
  const most = (of: (look: Look) => number): number => Math.max(0, ...looks.map(of));
  return {
    looks: looks.length,
    live: growthOf(warm, LIVE_NOISE_MB, ({ live_mb }) => live_mb),
    taken: growthOf(warm, TAKEN_NOISE_MB, ({ private_mb }) => private_mb),
    files_before: middle(warm.slice(0, half).map(({ files }) => files)),
    files_after: middle(warm.slice(half).map(({ files }) => files)),
    most_wal_mb: most(({ wal_mb }) => wal_mb),
    most_backlog: most(({ backlog }) => backlog),
    most_resident_mb: most(({ resident_mb }) => resident_mb),
  };
}

/** Additional connections that may be open at the moment of a measurement. */
const SPARE_FILES = 3;
/** The log is checkpointed at half a megabyte. A reader may delay that for a while. */
const MOST_WAL_MB = 8;
/** Minimum number of measurements for a trend. */
const LEAST_LOOKS = 12;

/** Returns what is wrong with a run, as sentences. */
export function troubles(trend: Trend): readonly string[] {
  const { live, taken, files_before, files_after, most_wal_mb, looks } = trend;
  const grown = (what: string, { growth_mb, allowed_mb }: Growth): string[] =>
    growth_mb > allowed_mb ? [`${what} grew by ${growth_mb.toFixed(1)} MB, ${allowed_mb.toFixed(1)} allowed`] : [];
  return [
    ...(looks < LEAST_LOOKS ? [`only ${looks} looks at the agent`] : []),
    ...grown("live memory", live),
    ...grown("private memory", taken),
    ...(files_after > files_before + SPARE_FILES ? [`open files went from ${files_before} to ${files_after}`] : []),
    ...(most_wal_mb > MOST_WAL_MB ? [`the write-ahead log grew to ${most_wal_mb.toFixed(1)} MB`] : []),
  ];
}
