import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { storePath } from "../../src/store/open.ts";
import { script, stay } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { isMadeAgain } from "./laws/made-again.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** A closed store that holds spray, idle and spray, in one log row, with their stages. */
function storeOfAnHour(): string {
  const folder = temporaryFolder();
  const booth = script(PLAIN);
  for (const mode of [3, 1, 3, 1]) stay(booth, 15 * MINUTE_MS, { mode });
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(
    stream,
    recordsOf(booth.entries, () => 15_000),
    booth.entries.length,
  );
  writer.close();
  return folder;
}

function stages(folder: string): number {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db.prepare<[], number>("SELECT count(*) FROM fact WHERE kind = 'm' AND replaced = 0").pluck().get() ?? NaN;
  } finally {
    db.close();
  }
}

/** Spoils rows behind the store's back; the next look through it takes them out. */
function spoil(folder: string, sql: string): void {
  const db = new Database(storePath(folder));
  db.exec(sql);
  db.close();
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  while (writer.check());
  writer.close();
}

it("a stage that a bad bit took is made again from the log, and a store that lost nothing is left alone", () => {
  const folder = storeOfAnHour();
  const whole = stages(folder);
  expect(whole).toBeGreaterThan(1);
  expect(isMadeAgain(folder)).toBe(true);
  spoil(folder, "UPDATE fact SET crc = crc + 1 WHERE seq = (SELECT min(seq) FROM fact WHERE kind = 'm')");
  expect(stages(folder)).toBe(whole - 1);
  expect(isMadeAgain(folder)).toBe(true);
  expect(stages(folder)).toBe(whole);
});

it("nothing is made again where the log itself lacks records", () => {
  const folder = storeOfAnHour();
  spoil(folder, "UPDATE log SET crc = crc + 1");
  expect(isMadeAgain(folder)).toBe(false);
});
