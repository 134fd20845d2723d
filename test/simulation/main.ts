import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { playSeeds, type SeedResult } from "./batch.ts";
import type { Sent } from "./run.ts";
import { recordSimulation } from "./report.ts";
import { verdictOf } from "./seed.ts";
import { storyOf } from "./stories.ts";
import { FIELD_KINDS } from "./story.ts";

const HELP = `npm run simulate -- [--seeds N] [--from N] [--workers N]
npm run simulate -- --seed N [--trace]

Plays stories of a whole site under virtual time, each made from its seed: the real agent, its store on files, a PLC, the
network, and the service; kills, power cuts, clock steps, outages. Each is held against the laws that no story may break.

  --seeds N    how many seeds (100)
  --from N     the first of them (1)
  --workers N  processes (as many as the machine has cores)
  --seed N     that seed alone
  --trace      print its story and each event with its virtual time
Result: test/results/simulation.json. A broken seed is printed with the law, and its story as short as it could be made.
`;

/**
 * Number of seeds, as in CI, in which chunks must be sent and some rejected. Otherwise the stories test chunks too
 * rarely.
 */
const TELLING_SEEDS = 20;
/** Minimum interval between two progress lines without a terminal. */
const TELL_EVERY_MS = 10_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    workers: { type: "string", default: availableParallelism().toString() },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function count(name: "seeds" | "from" | "workers" | "seed"): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value > 0) return value;
  process.stderr.write(`--${name}: a whole number above 0, not ${String(values[name])}\n`);
  return process.exit(2);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function tell({ seed, broken, story }: SeedResult): void {
  print(`seed ${seed} broke ${broken.length === 1 ? "a law" : `${broken.length} laws`}:`);
  for (const { law, places } of broken) print([`  ${law}`, ...places.map((place) => `    ${place}`)].join("\n"));
  if (story !== null) print(`  its story in short: ${JSON.stringify(story)}`);
}

function sentText({ chunks, batches, refused_chunks, outputs, told, field }: Sent): string {
  const faults = FIELD_KINDS.map((kind) => `${field[kind]} ${kind}`).join(", ");
  return `${faults}; ${String(outputs)} outputs told ${String(told)} messages; ${String(chunks)} chunks and ${String(batches)} batches came, ${String(refused_chunks)} chunks weren't taken`;
}

async function one(seed: number): Promise<void> {
  const story = storyOf(seed);
  print(JSON.stringify(story, null, 2));
  const trace = (at: number, text: string): void => print(`${new Date(at).toISOString()} ${text}`);
  const { broken, hash, sent } = await verdictOf(story, values.trace ? { trace } : {});
  if (broken.length > 0) tell({ seed, hours: story.hours, faults: story.faults.length, sent, broken, story: null });
  print(sentText(sent));
  print(`${broken.length === 0 ? "every law held" : "broken"}; trace ${hash}`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

async function many(): Promise<void> {
  const results: SeedResult[] = [];
  const seeds = count("seeds");
  const from = count("from");
  const began = performance.now();
  let told = began;
  const progress = (): string => {
    const left_s = Math.ceil(((performance.now() - began) / 1000) * (seeds / results.length - 1)).toString();
    return `${results.length} of ${seeds}, ${broken().length} broken, about ${left_s} s left`;
  };
  const broken = (): readonly SeedResult[] => results.filter((result) => result.broken.length > 0);
  await playSeeds({
    from,
    seeds,
    workers: count("workers"),
    done: (result) => {
      results.push(result);
      if (result.broken.length > 0) tell(result);
      if (process.stdout.isTTY) process.stdout.write(`\r${progress()}\u001b[K`);
      else if (performance.now() - told > TELL_EVERY_MS) {
        told = performance.now();
        print(progress());
      }
    },
  });
  const { booth_days, faults, sent } = recordSimulation(results);
  const [s, d, f, b] = [seeds, booth_days, faults, broken().length].map(String);
  print(
    `${process.stdout.isTTY ? "\n" : ""}${s ?? ""} seeds, ${d ?? ""} days of booth life, ${f ?? ""} faults, ${b ?? ""} broken`,
  );
  print(sentText(sent));
  const { field, ...counts } = sent;
  const isTelling = [...Object.values(counts), ...Object.values(field)].every((count) => count > 0);
  if (seeds >= TELLING_SEEDS && !isTelling)
    print("the stories try too little of chunks or of the field's faults: see test/simulation/stories.ts");
  process.exitCode = broken().length === 0 && (seeds < TELLING_SEEDS || isTelling) ? 0 : 1;
}

if (values.help) process.stdout.write(HELP);
else if (values.seed !== undefined) await one(count("seed"));
else await many();
