import { readFileSync } from "node:fs";

/** Returns the YAML examples of a page, in order. `page` is a path below docs. */
export function examplesIn(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, example = ""]) => example);
}
