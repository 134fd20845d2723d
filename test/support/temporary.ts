import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Registers a cleanup function. The cleanups run in reverse order, by default at the end of the test. */
export type AtEnd = (undo: () => unknown) => void;

/** The in-memory file system of Linux, where fsync takes no time. */
const MEMORY = "/dev/shm";

/** Makes a folder for one test. The test's end removes it. */
export function temporaryFolder(within: string = tmpdir(), atEnd: AtEnd = ofTest): string {
  const folder = mkdtempSync(join(within, "bg-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a folder read-only until the end of the test. Otherwise its owner couldn't remove it. */
export function lock(folder: string): void {
  chmodSync(folder, 0o500);
  ofTest(() => chmodSync(folder, 0o700));
}

/** Runs the cleanup at the end of the current test. */
export const ofTest: AtEnd = (undo) =>
  onTestFinished(async () => {
    await undo();
  });

/** Makes a temporary folder in memory if the machine supports it, for tests that don't depend on the disk. */
export function memoryFolder(atEnd: AtEnd = ofTest): string {
  return temporaryFolder(existsSync(MEMORY) ? MEMORY : tmpdir(), atEnd);
}
