#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { countsOf } from "./counts.ts";
import { filesOfTheWalk, weightOf } from "./weight.ts";
import { oldWordsIn } from "./words.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RESULTS = new URL("../results/", import.meta.url);
const HELP = `npm run house

Counts how much there is to read:
- lines, tokens and squeezed places (\`...{ a, b }\`, \`const [a, b] = [x, y]\`) of src, simulators and test;
- files of src: number, median length, the longest, files with a single importer, names with a retired word;
- the walk: files that docs/explain/architecture.md lists for a reading, from the PLC's register to the acknowledgement.
Writes test/results/house.json.
`;

function line(name: string, text: string | number): void {
  process.stdout.write(`${name.padEnd(16)} ${text}\n`);
}

function main(): void {
  if (parseArgs({ options: { help: { type: "boolean" } } }).values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  const counts = countsOf(ROOT);
  const { longest, splinters, ...figures } = counts;
  for (const [name, value] of Object.entries(figures)) line(name, value);
  line("longest", longest.map(([path, lines]) => `${path} ${lines}`).join(", "));
  line("splinters", [splinters.length, ...splinters].join("\n  "));
  const weights = Object.fromEntries(["src", "simulators", "test"].map((folder) => [folder, weightOf(ROOT, folder)]));
  for (const [folder, { lines, tokens, squeezed }] of Object.entries(weights))
    line(folder, `${lines} lines, ${tokens} tokens, ${squeezed} squeezed`);
  const walk = filesOfTheWalk(ROOT);
  line("walk", `${walk} files`);
  const words = oldWordsIn(ROOT);
  line("old words", [words.length, ...words.map(({ name, path, now }) => `${name} in ${path}: ${now}`)].join("\n  "));
  mkdirSync(RESULTS, { recursive: true });
  const results = { commit, ...counts, weights, walk, old_words: words };
  writeFileSync(new URL("house.json", RESULTS), `${JSON.stringify(results, null, 2)}\n`);
}

main();
