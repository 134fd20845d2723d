import { readFileSync } from "node:fs";

/** Every example of YAML on a page of docs, in order. */
export function examplesIn(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, example = ""]) => example);
}
