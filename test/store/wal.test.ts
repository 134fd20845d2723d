import { readFileSync, writeFileSync } from "node:fs";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { readWal } from "../../src/store/wal.ts";
import { clockRecord, reading } from "../support/records.ts";
import { keptStoreIn } from "../support/store.ts";
import { isInRange } from "../../systemd/release/ranges.ts";
import { temporaryFolder } from "../support/temporary.ts";

const FRAME_BYTES = 24 + 512;

/**
 * Makes a store that ends as by a kill, with its last commits in the write-ahead log. `newest`: the newest seq after
 * each of them.
 */
function killedStore(): { readonly folder: string; readonly newest: readonly number[] } {
  const folder = temporaryFolder();
  const { store } = storeIn(folder);
  store.openStream("booth-1");
  const newest = [1, 2, 3, 4, 5, 6].map((take) => {
    const first = take === 1 ? [clockRecord(0)] : [];
    const readings = Array.from({ length: 20 }, (_, i) => reading(take * 60_000 + i, "number", take * 20 + i));
    return store.ingest("s-1", [...first, ...readings], take).newest_seq;
  });
  const left = readFileSync(`${storePath(folder)}-wal`);
  const main = readFileSync(storePath(folder));
  store.abandon();
  writeFileSync(storePath(folder), main);
  writeFileSync(`${storePath(folder)}-wal`, left);
  return { folder, newest };
}

function storeIn(folder: string) {
  let salvages = 0;
  const salvaged = (): void => void (salvages += 1);
  return { store: keptStoreIn(folder, { salvaged }), salvages: () => salvages };
}

/** Returns the positions of each commit's frames in the log. */
function commitsIn(wal: Buffer): { readonly from: number; readonly to: number }[] {
  const commits: { from: number; to: number }[] = [];
  let from = 32;
  for (let at = 32; at < wal.length; at += FRAME_BYTES) {
    if (wal.readUInt32BE(at + 4) === 0) continue;
    commits.push({ from, to: at + FRAME_BYTES });
    from = at + FRAME_BYTES;
  }
  return commits;
}

function spoil(folder: string, spoilt: (wal: Buffer, commits: ReturnType<typeof commitsIn>) => void): void {
  const path = `${storePath(folder)}-wal`;
  const wal = readFileSync(path);
  spoilt(wal, commitsIn(wal));
  writeFileSync(path, wal);
}

describe("the end of the write-ahead log", () => {
  it("with a torn last commit counts as a power cut, and only that unconfirmed commit is lost", () => {
    const { folder, newest } = killedStore();
    spoil(folder, (wal, commits) => {
      const { from = 0 } = commits.at(-1) ?? {};
      wal.fill(0, from + 30, from + 30 + 512);
    });
    expect(readWal(storePath(folder)).end).toBe("torn");
    const { store, salvages } = storeIn(folder);
    expect(store.openStream("booth-1")).toMatchObject({ stream: "s-1", newest_seq: newest.at(-2), renew_from: 0 });
    expect(salvages()).toBe(0);
    store.ingest("s-1", [reading(900_000, "number", 1)], 7);
    store.abandon();
    expect(readWal(storePath(folder)).end).toBe("whole");
  });

  it("with a torn earlier commit counts as damage, because that commit was confirmed", () => {
    const { folder, newest } = killedStore();
    spoil(folder, (wal, commits) => {
      const { from = 0 } = commits.at(-2) ?? {};
      wal.fill(0, from + 30, from + 30 + 512);
    });
    expect(readWal(storePath(folder)).end).toBe("hurt");
    const { store, salvages } = storeIn(folder);
    expect(store.openStream("booth-1").newest_seq).toBe(newest.at(-1));
    expect(salvages()).toBe(1);
    store.close();
  });

  it("with a flipped bit in the last commit counts as damage", () => {
    const { folder } = killedStore();
    const path = storePath(folder);
    const wal = readFileSync(`${path}-wal`);
    const { from, to } = commitsIn(wal).at(-1) ?? { from: 0, to: 0 };
    expect(readWal(path).end).toBe("whole");
    const ends = new Set<string>();
    // The step is not a multiple of 8 bits, so every field of a frame and every bit of a byte is tested.
    for (let bit = from * 8; bit < to * 8; bit += 331) {
      const flipped = Buffer.from(wal);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(`${path}-wal`, flipped);
      ends.add(readWal(path).end);
    }
    expect([...ends]).toEqual(["hurt"]);
  });
});

it("the bundled SQLite is at least 3.51.3, which corrects a corruption of the write-ahead log", () => {
  const version = new Database(":memory:").prepare("SELECT sqlite_version()").pluck().get();
  expect(isInRange(String(version), [{ introduced: "3.51.3" }])).toBe(true);
});
