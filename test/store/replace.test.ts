import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { damagedFiles, finishReplacing, freshPath, readyFresh } from "../../src/store/replace.ts";
import { storeOn } from "./disk-bed.ts";
import { clockRecord, reading } from "../support/records.ts";
import { memoryFolder } from "../support/temporary.ts";

/** Makes a closed store with this many readings. */
function filled(folder: string, readings: number): void {
  const { store } = storeOn(folder, 0);
  store.openStream("booth-1");
  store.ingest("s-1", [clockRecord(0), ...Array.from({ length: readings }, (_, i) => reading(i, "n", i))], 1);
  store.close();
}

function newestIn(folder: string): number {
  const { store } = storeOn(folder, 0);
  const { newest_seq } = store.openStream("booth-1");
  store.close();
  return newest_seq;
}

describe("replacing the store's file", () => {
  it("leaves the old store unchanged if the process ends before the new file is complete", () => {
    const folder = memoryFolder();
    filled(folder, 5);
    const newest = newestIn(folder);
    writeFileSync(freshPath(folder), "half a file");
    expect(newestIn(folder)).toBe(newest);
  });

  it.each(["before the old file is set aside", "after the old file is set aside"])(
    "is completed at the next start if the process ends %s",
    (when) => {
      const folder = memoryFolder();
      const other = memoryFolder();
      filled(folder, 5);
      filled(other, 9);
      copyFileSync(storePath(other), freshPath(folder));
      readyFresh(folder);
      if (when === "after the old file is set aside") renameSync(storePath(folder), `${storePath(folder)}.damaged-1`);
      expect(newestIn(folder)).toBe(newestIn(other));
      expect(damagedFiles(folder)).toHaveLength(1);
      expect(existsSync(`${storePath(folder)}.renewed`)).toBe(false);
    },
  );

  it("keeps the last two replaced files", () => {
    const folder = memoryFolder();
    for (const content of ["one", "two", "three", "four"]) {
      writeFileSync(storePath(folder), content);
      writeFileSync(freshPath(folder), "next");
      readyFresh(folder);
      finishReplacing(folder, true);
    }
    expect(damagedFiles(folder).map((file) => readFileSync(file, "utf8"))).toEqual(["three", "four"]);
  });
});
