// Needs root, for mounts, and a Debian package: fiu-utils.
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { countNumbers, runFailing, smallDisk, storeOn } from "./disk-bed.ts";
import { recordFault } from "../support/faults.ts";
import { clockRecord, reading } from "../support/records.ts";
import { temporaryFolder } from "../support/temporary.ts";

const MEGABYTE = 1_000_000;

type Store = ReturnType<typeof storeOn>["store"];

/** Commits ten numbered readings. */
function commit(store: Store, group: number, text = ""): void {
  const records = Array.from({ length: 10 }, (_, i) => reading((group * 10 + i) * 1_000, "number", group * 10 + i + 1));
  const filling = text === "" ? [] : [reading((group * 10 + 9) * 1_000, "text", text)];
  const clock = group === 0 ? [clockRecord(0)] : [];
  store.ingest("s-1", [...clock, ...records, ...filling], group + 1);
}

function told(fault: string, row: number, counts: { lost: number; doubled: number; injected: number }): void {
  const { lost, doubled, injected } = counts;
  recordFault({ row, fault, injected, lost, doubled, wrong: 0, passed: lost + doubled === 0 });
  process.stdout.write(`${JSON.stringify({ fault, ...counts })}\n`);
  expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 });
}

it("if a fifth of all fsyncs fail, no lost commit counts as durable, and the store's file is rewritten each time", async () => {
  const folder = temporaryFolder();
  const { durable, failures } = await runFailing({ folder, commits: 60 }, (line, control) => {
    if (line === "c 50") control("enable_random name=posix/io/sync/fsync,probability=0.2,failinfo=5");
  });
  expect(durable).toBe(600);
  expect(failures["SQLITE_IOERR_FSYNC"]).toBeGreaterThan(0);
  const injected = Object.values(failures).reduce((sum, count) => sum + count, 0);
  told("fsync fails", 9, { injected, ...countNumbers(folder, durable) });
});

it.each([
  ["EROFS", { errno: 30, row: 9, name: "read-only in mid-run" }],
  ["ENOSPC", { errno: 28, row: 7, name: "no space in mid-run" }],
] as const)(
  "a store on a disk that fails every write with %s for a while loses nothing, and uses the disk again afterwards",
  async (_, fault) => {
    const { errno, row, name } = fault;
    const folder = temporaryFolder();
    let failed = 0;
    const { durable, failures } = await runFailing({ folder, commits: 60 }, (line, control) => {
      if (line === "c 200") control(`enable name=posix/io/rw/pwrite,failinfo=${errno}`);
      if (line.startsWith("x ") && ++failed === 20) control("disable name=posix/io/rw/pwrite");
    });
    expect(durable).toBe(600);
    expect(failed).toBeGreaterThanOrEqual(20);
    const injected = Object.values(failures).reduce((sum, count) => sum + count, 0);
    told(name, row, { injected, ...countNumbers(folder, durable) });
  },
);

it("if other files fill the disk, the store deletes its ballast file so that commits continue, and restores it later", () => {
  const { folder } = smallDisk(16);
  const disk = storeOn(folder, 2 * MEGABYTE);
  const { store } = disk;
  store.openStream("booth-1");
  let group = 0;
  const low = (): boolean => store.ingest("s-1", [], group).storage.health.low;
  for (; group < 20; group += 1) commit(store, group);
  expect(low()).toBe(false);
  fill(join(folder, "others"));
  // Text that can't be compressed.
  const text = randomBytes(15_000).toString("base64");
  let failures = 0;
  // First fills the space freed by the ballast, and then fails.
  for (let tries = 0; failures < 5 && tries < 1_000; tries += 1) {
    try {
      commit(store, group, text);
      group += 1;
    } catch (error) {
      failures += 1;
      expect(String(error)).toContain("the disk is full");
    }
  }
  expect(group).toBeGreaterThan(50);
  expect(failures).toBe(5);
  expect(low()).toBe(true);
  rmSync(join(folder, "others"));
  disk.pass(60_000);
  for (let more = 0; more < 20; more += 1) commit(store, group++);
  expect(low()).toBe(false);
  store.abandon();
  told("disk filled by others", 7, { injected: failures, ...countNumbers(folder, group * 10) });
});

function replace(path: string): void {
  rmSync(path);
  writeFileSync(path, "not a database");
}

function fill(path: string): void {
  const size = { bytes: MEGABYTE };
  let content = Buffer.alloc(0);
  while (size.bytes >= 4_096) {
    try {
      content = Buffer.alloc(content.length + size.bytes, "o");
      writeFileSync(path, content);
    } catch {
      // The rest of the disk is smaller than the content.
      content = content.subarray(0, content.length - size.bytes);
      size.bytes = Math.floor(size.bytes / 2);
    }
  }
}

it("a store on a read-only file system at startup reports a clear error and stays unchanged", () => {
  const disk = smallDisk(16);
  const { folder } = disk;
  const first = storeOn(folder, 0).store;
  first.openStream("booth-1");
  for (let group = 0; group < 20; group += 1) commit(first, group);
  first.close();
  const bytes = readFileSync(storePath(folder));
  disk.remount("ro");
  expect(() => storeOn(folder, 0)).toThrow(/read-?only|unable to open/i);
  disk.remount("rw");
  expect(readFileSync(storePath(folder)).equals(bytes)).toBe(true);
  told("read-only at the start", 9, { injected: 1, ...countNumbers(folder, 200) });
});

it.each([
  ["removed", (path: string) => rmSync(path)],
  ["moved away", (path: string) => renameSync(path, `${path}.elsewhere`)],
  ["replaced by something else", replace],
  ["robbed of its write-ahead log", (path: string) => rmSync(`${path}-wal`)],
])("a store's file that is %s during operation is rewritten from the open file", (name, harm) => {
  const folder = temporaryFolder();
  const { store } = storeOn(folder, 0);
  store.openStream("booth-1");
  for (let group = 0; group < 20; group += 1) commit(store, group);
  harm(storePath(folder));
  for (let group = 20; group < 40; group += 1) commit(store, group);
  store.abandon();
  told(`file ${name}`, 6, { injected: 1, ...countNumbers(folder, 400) });
});
