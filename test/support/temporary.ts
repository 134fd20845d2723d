import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Linux's file system in memory: an fsync costs nothing there. */
const MEMORY = "/dev/shm";

/** A folder for one test, removed when it ends. */
export function temporaryFolder(within: string = tmpdir()): string {
  const folder = mkdtempSync(join(within, "bg-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A temporary folder in memory where the machine has one: for tests that are not about what reaches the disk. */
export function memoryFolder(): string {
  return temporaryFolder(existsSync(MEMORY) ? MEMORY : tmpdir());
}
