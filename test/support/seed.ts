/**
 * Seed of a file's random tests: SEED where it is set, else another one with each run. It is printed with every run,
 * so that one that passed can be had again too. LAW_RUNS is another number of cases: fewer where many runs are made, more by night.
 */
export function seedOf(file: string): number {
  const given = process.env["SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  if (!Number.isInteger(seed)) throw new Error(`SEED is no whole number: ${String(given)}`);
  process.stdout.write(`${file}: seed ${seed}\n`);
  return seed;
}

/** Cases of a random test: `usual`, or LAW_RUNS where that is set. */
export function casesOf(usual: number): number {
  return Number(process.env["LAW_RUNS"] ?? usual);
}
