import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the packages that were made in this run. */
    packages: string;
  }
}

/** To make one takes seconds of CPU, and several files install the same. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "bg-packages-"));
  provide("packages", folder);
  return () => rmSync(folder, { recursive: true });
}
