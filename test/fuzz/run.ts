import { seededRandom } from "../support/seeded-random.ts";
import type { Entry } from "./corpus.ts";
import { mutatedBytes, mutatedText } from "./mutate.ts";
import type { Judge, Target, Verdict } from "./target.ts";

export interface Finding {
  readonly what: string;
  readonly input: Buffer;
  readonly why: string;
}

export interface FuzzCounts {
  readonly runs: number;
  readonly taken: number;
  readonly refused: number;
  readonly findings: readonly Finding[];
}

export interface FuzzRun {
  readonly target: Target;
  readonly corpus: readonly Entry[];
  readonly runs: number;
  readonly seed: number;
}

/** Maximum CPU time for a small input: a thousand times the usual time, and far less than an endless loop. */
const MOST_CPU_MS = 5_000;
const MOST_FINDINGS = 5;
const OWN_NAMES = Object.getOwnPropertyNames(Object.prototype).length;

/** Judges the corpus unchanged, and then this many inputs made from it. The same seed makes the same inputs. */
export async function fuzz({ target, corpus, runs, seed }: FuzzRun): Promise<FuzzCounts> {
  const judge = await target.open();
  const counts = { runs: 0, taken: 0, refused: 0 };
  const findings: Finding[] = [];
  const one = (what: string, input: Buffer): void => {
    counts.runs += 1;
    const verdict = verdictOf(judge, input);
    if (verdict === "taken") counts.taken += 1;
    else if (verdict === "refused") counts.refused += 1;
    else findings.push({ what, input, why: verdict.wrong });
  };
  for (const { file, bytes } of corpus) one(file, bytes);
  for (let run = 0; run < runs && findings.length < MOST_FINDINGS; run += 1) {
    one(`seed ${seed + run}`, inputOf(target, corpus, seed + run));
  }
  return { ...counts, findings };
}

function inputOf({ format, mutate }: Target, corpus: readonly Entry[], seed: number): Buffer {
  const random = seededRandom(seed);
  const inputs = corpus.map(({ bytes }) => bytes);
  if (mutate !== undefined) {
    return mutate(inputs[Math.floor(random.next() * inputs.length)] ?? Buffer.alloc(0), () => random.next());
  }
  if (format === "hex") return mutatedBytes(inputs, random);
  const texts = inputs.map((bytes) => bytes.toString("utf8"));
  return Buffer.from(mutatedText(texts, random), "utf8");
}

function verdictOf(judge: Judge, input: Buffer): Verdict {
  const before = process.cpuUsage();
  let verdict: Verdict;
  try {
    verdict = judge(input);
  } catch (error) {
    verdict = { wrong: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  const { user, system } = process.cpuUsage(before);
  const cpu_ms = (user + system) / 1_000;
  if (cpu_ms > MOST_CPU_MS) return { wrong: `took ${cpu_ms.toFixed(0)} ms of CPU` };
  if (Object.getOwnPropertyNames(Object.prototype).length !== OWN_NAMES)
    return { wrong: "it changed Object.prototype" };
  return verdict;
}
