#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { countsOf } from "./counts.ts";
import { readingPath } from "./path.ts";
import { filesOfTheWalk, weightOf } from "./weight.ts";
import { oldWordsIn } from "./words.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const RESULTS = new URL("../results/", import.meta.url);
const HELP = `npm run house [-- --no-path] [--list]

Counts how much there is to read:
- lines, tokens and squeezed places (\`...{ a, b }\`, \`const [a, b] = [x, y]\`) of src, simulators and test;
- files of src: number, median length, the longest, files with a single importer, names with a retired word;
- the walk: files that docs/explain/architecture.md lists for a reading, from the PLC's register to the acknowledgement;
- the path: files of src in which a function runs while a site polls, commits, sends and receives the acknowledgement.
Writes test/results/house.json.

  --no-path    the counts alone, without a site
  --list       and the files of the path, by thread
`;

async function main(): Promise<void> {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { "no-path": flag, list: flag, help: flag } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  const counts = countsOf(ROOT);
  const { longest, splinters, ...figures } = counts;
  for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(16)} ${value}\n`);
  process.stdout.write(`longest          ${longest.map(([path, lines]) => `${path} ${lines}`).join(", ")}\n`);
  process.stdout.write(`splinters        ${splinters.length}${splinters.map((one) => `\n  ${one}`).join("")}\n`);
  const weights = Object.fromEntries(["src", "simulators", "test"].map((folder) => [folder, weightOf(ROOT, folder)]));
  for (const [folder, { lines, tokens, squeezed }] of Object.entries(weights)) {
    process.stdout.write(`${folder.padEnd(16)} ${lines} lines, ${tokens} tokens, ${squeezed} squeezed\n`);
  }
  const walk = filesOfTheWalk(ROOT);
  process.stdout.write(`walk             ${walk} files\n`);
  const words = oldWordsIn(ROOT);
  process.stdout.write(
    `old words        ${words.length}${words.map(({ name, path, now }) => `\n  ${name} in ${path}: ${now}`).join("")}\n`,
  );
  const path = values["no-path"] ? null : await pathOf(values.list);
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(
    new URL("house.json", RESULTS),
    `${JSON.stringify({ commit, ...counts, weights, walk, old_words: words, path }, null, 2)}\n`,
  );
}

async function pathOf(list: boolean): Promise<{ readonly files: number; readonly threads: object }> {
  const undos: (() => unknown)[] = [];
  try {
    const { threads, files } = await readingPath((undo) => void undos.push(undo));
    process.stdout.write(`path             ${files.length} files\n`);
    for (const [thread, ran] of threads) {
      process.stdout.write(`  ${thread === 0 ? "main thread" : `thread ${thread}`}: ${ran.length}\n`);
      if (list) process.stdout.write(ran.map((file) => `    ${file}\n`).join(""));
    }
    return { files: files.length, threads: Object.fromEntries(threads) };
  } finally {
    for (const undo of undos.reverse()) await undo();
  }
}

await main();
