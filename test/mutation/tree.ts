import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { instrumented, type Planted } from "./instrument.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = "src/derivation";
const RUNTIME = "test/mutation/runtime.ts";

/** Makes a copy of the tree with all mutants of the derivation, none of them active. Changes nothing in this tree. */
export function plantedTree(): { readonly copy: string; readonly planted: readonly Planted[] } {
  const copy = mkdtempSync(join(tmpdir(), "mutation-"));
  for (const part of [
    "src",
    "simulators",
    "config",
    "test/support",
    "test/derivation",
    "test/golden",
    "test/mutation",
    "package.json",
  ]) {
    cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  mkdirSync(join(copy, "test/results"));
  const planted: Planted[] = [];
  const names = readdirSync(join(ROOT, FOLDER), { recursive: true, encoding: "utf8" });
  for (const name of names.filter((one) => one.endsWith(".ts")).sort()) {
    const file = join(FOLDER, name);
    const from = (planted.at(-1)?.id ?? -1) + 1;
    const made = instrumented(file, readFileSync(join(ROOT, file), "utf8"), { from, runtime: join(copy, RUNTIME) });
    planted.push(...made.planted.sort((a, b) => a.id - b.id));
    writeFileSync(join(copy, file), made.text);
  }
  return { copy, planted };
}
