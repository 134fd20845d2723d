import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the packages that this run made. */
    packages: string;
  }
}

/** Shares one folder for packages between test files, because making a package takes seconds of CPU. */
export function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "bg-packages-"));
  provide("packages", folder);
  return () => rmSync(folder, { recursive: true });
}
