import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Told what is to be undone in the end, last first; a test does by itself. */
export type AtEnd = (undo: () => unknown) => void;

/** Linux's file system in memory: an fsync costs nothing there. */
const MEMORY = "/dev/shm";

/** A folder for one test, removed when it ends. */
export function temporaryFolder(within: string = tmpdir(), atEnd: AtEnd = ofTest): string {
  const folder = mkdtempSync(join(within, "bg-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Takes the right to write in a folder away, until the test ends: its owner couldn't remove it else. */
export function lock(folder: string): void {
  chmodSync(folder, 0o500);
  ofTest(() => chmodSync(folder, 0o700));
}

/** At the end of the test that runs. */
export const ofTest: AtEnd = (undo) =>
  onTestFinished(async () => {
    await undo();
  });

/** A temporary folder in memory where the machine has one: for tests that are not about what reaches the disk. */
export function memoryFolder(atEnd: AtEnd = ofTest): string {
  return temporaryFolder(existsSync(MEMORY) ? MEMORY : tmpdir(), atEnd);
}
