import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCursors } from "../../src/outputs/cursors.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

it("an output's cursor keeps its first position in a new log after a power cut that follows immediately", async () => {
  const disk = new Map<string, unknown>();
  const identity = {
    kept: (name: string) => Promise.resolve(disk.get(name)),
    keep: (name: string, value: unknown) => Promise.resolve(void disk.set(name, structuredClone(value))),
  };
  const cursor_file = join(temporaryFolder(), "outputs.json");
  const before = await openCursors({ identity, cursor_file, log: silentLog }, ["plant"]);
  before.began("plant", "stream-1", 100);
  before.moved("plant", "stream-1", 120);
  // The power cut empties the tmpfs.
  rmSync(cursor_file);
  const after = await openCursors({ identity, cursor_file, log: silentLog }, ["plant"]);
  expect(after.after("plant", "stream-1")).toBe(100);
});
