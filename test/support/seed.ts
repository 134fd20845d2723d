/**
 * Returns the seed of a file's random tests: SEED if it is set, otherwise a new one in each run. Each run prints its
 * seed, so that any run can be repeated.
 */
export function seedOf(file: string): number {
  const given = process.env["SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  if (!Number.isInteger(seed)) throw new Error(`SEED is no whole number: ${String(given)}`);
  process.stdout.write(`${file}: seed ${seed}\n`);
  return seed;
}

/** Returns the number of cases of a random test: `usual`, or LAW_RUNS if it is set. */
export function casesOf(usual: number): number {
  return Number(process.env["LAW_RUNS"] ?? usual);
}
