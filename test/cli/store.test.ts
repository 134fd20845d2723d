import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { lockFolder, storePath } from "../../src/store/open.ts";
import type { StoreCheck, StoreMade } from "../../src/store/port.ts";
import { clockRecord, reading } from "../support/records.ts";
import { say as sayAll, type Said } from "./say.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

const say = (...argv: readonly string[]): Promise<Said> => sayAll(["store", ...argv]);

const COMMITS = 150;

/** Makes a closed store with some hundred readings. */
function filled(): string {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(stream, [clockRecord(0)], 1);
  for (let take = 2; take <= COMMITS; take += 1) {
    const records = Array.from({ length: 5 }, (_, i) => reading(take * 1_000 + i, `tag_${i}`, take));
    writer.ingest(stream, records, take);
  }
  writer.close();
  return folder;
}

function recordsIn(folder: string): unknown[] {
  const writer = writerIn(folder);
  const { stream, newest_seq } = writer.openStream("booth-1");
  const records = writer.read(stream, 1, newest_seq);
  const all = [...records];
  while (all.length > 0 && (all.at(-1)?.seq ?? 0) < newest_seq) {
    const more = writer.read(stream, (all.at(-1)?.seq ?? 0) + 1, newest_seq);
    if (more.length === 0) break;
    all.push(...more);
  }
  writer.close();
  return all;
}

function spoil(folder: string, at: number, bytes: number): void {
  const file = openSync(storePath(folder), "r+");
  writeSync(file, Buffer.alloc(bytes), 0, bytes, at);
  closeSync(file);
}

describe("booth-gateway store", () => {
  it("check reports an undamaged store as sound, in text and in JSON", async () => {
    const folder = filled();
    const words = await say("check", "--data-dir", folder);
    expect(words).toMatchObject({ code: 0, err: "" });
    expect(words.out).toMatch(
      /store\.db, 0\.\d MB: sound\nbooth-1 {3}stream [-0-9a-f]+\n {2}records {5}1 to \d+, acked up to 0/,
    );
    const json = JSON.parse((await say("check", "--json", "--data-dir", folder)).out) as StoreCheck;
    expect(json).toMatchObject({
      sound: true,
      problems: [],
      streams: [{ booth: "booth-1", damaged_rows: 0, missing: 0 }],
    });
  });

  it("check reports a damaged store with advice, and does not change the store", async () => {
    const folder = filled();
    const db = new Database(storePath(folder));
    const { changes } = db.prepare("UPDATE log SET t0 = t0 + 1").run();
    db.close();
    const before = readFileSync(storePath(folder));
    const { code, out } = await say("check", "--data-dir", folder);
    expect(code).toBe(1);
    expect(out).toContain("NOT SOUND");
    expect(out).toMatch(new RegExp(`damaged {5}${changes} rows, 0 facts, 0 kept states; 746 records missing`));
    expect(out).toContain("booth-gateway store salvage");
    expect(readFileSync(storePath(folder)).equals(before)).toBe(true);
  });

  it("salvage saves every readable record into a new store, and keeps the damaged file", async () => {
    const folder = filled();
    const before = recordsIn(folder);
    spoil(folder, 0, 512);
    const { code, out } = await say("salvage", "--json", "--data-dir", folder);
    expect(code).toBe(0);
    const made = JSON.parse(out) as StoreMade;
    expect(made.aside).toBe(join(folder, "store.db.damaged-1"));
    expect(made.streams).toMatchObject([{ booth: "booth-1", missing: 0 }]);
    expect(recordsIn(folder)).toEqual(before);
    expect((await say("check", "--data-dir", folder)).code).toBe(0);
  });

  it.each(["export", "backup"])(
    "%s and import move every record to another gateway, which continues with a new stream",
    async (way) => {
      const folder = filled();
      const before = recordsIn(folder);
      const file = join(temporaryFolder(), "copy");
      const copied = await say(way, file, "--data-dir", folder);
      expect(copied).toMatchObject({ code: 0, out: expect.stringContaining(file) as string });
      const other = join(temporaryFolder(), "data");
      const words = await say("import", file, "--data-dir", other);
      expect(words.code).toBe(0);
      expect(words.out).toMatch(/rows and \d+ facts are in the new store\n {2}booth-1 .* 0 records missing\n$/);
      expect(recordsIn(other)).toEqual(before);
      const writer = writerIn(other);
      expect(writer.openStream("booth-1").renew_from).toBe(before.length + 1);
      writer.close();
    },
  );

  it("backup succeeds while an agent runs and never overwrites a file, but salvage and import fail while an agent runs", async () => {
    const folder = filled();
    const writer = writerIn(folder);
    const lock = lockFolder(folder);
    const file = join(temporaryFolder(), "copy");
    expect((await say("backup", file, "--data-dir", folder)).code).toBe(0);
    const again = await say("backup", file, "--data-dir", folder);
    expect(again).toMatchObject({
      code: 1,
      err: `booth-gateway store: ${file} is there already: name another file, or remove it\n`,
    });
    for (const action of [["salvage"], ["import", file]]) {
      const refused = await say(...action, "--data-dir", folder);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("another agent runs") as string });
    }
    lock.release();
    writer.close();
  });

  it("import rejects a truncated, damaged or foreign file, and leaves the store unchanged", async () => {
    const folder = filled();
    const file = join(temporaryFolder(), "copy");
    await say("export", file, "--data-dir", folder);
    const text = readFileSync(file, "utf8");
    const before = readFileSync(storePath(folder));
    const cases = [
      [text.slice(0, text.length - 40), "isn't whole"],
      [text.replace('"base64":"', '"base64":"AAAA'), "is damaged: take another copy"],
      ["a letter to the editor\n".repeat(1_000), "it is no export and no backup"],
    ] as const;
    for (const [content, reason] of cases) {
      writeFileSync(file, content);
      const { code, err } = await say("import", file, "--data-dir", folder);
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(reason) as string });
      expect(readFileSync(storePath(folder)).equals(before)).toBe(true);
    }
    rmSync(file);
    expect((await say("import", file, "--data-dir", folder)).err).toContain("there is no file at");
  });

  it("fails if the number of files is wrong or the store does not exist", async () => {
    expect(await say("backup", "--data-dir", "/nowhere")).toMatchObject({ code: 2 });
    expect((await say("check", "x", "--data-dir", "/nowhere")).err).toContain("takes no file");
    expect((await say("check", "--data-dir", "/nowhere")).err).toContain("there is no store at /nowhere/store.db");
  });
});
