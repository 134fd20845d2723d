import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { type Fact, KIND, LASTING_KINDS } from "../../../src/domain/record.ts";
import type { StoreBudget } from "../../../src/domain/storage.ts";
import { YEAR_MS } from "../../../src/domain/time.ts";
import type { Fold } from "../../../src/store/facts/fold.ts";
import { openStoreFile, storePath } from "../../../src/store/open.ts";
import { salvage } from "../../../src/store/repair/salvage.ts";
import { createWriter, type Writer } from "../../../src/store/thread/writer.ts";
import { BUDGET, DAY, FACT_EVERY } from "../budget-bed.ts";
import { countingFold } from "../busy-log.ts";
import { clockRecord, reading, T0 } from "../../support/records.ts";
import { sqlOn } from "../../support/store.ts";
import { memoryFolder } from "../../support/temporary.ts";

/** A fold that makes a bake after each stage. */
function bakingFold(): Fold {
  const stages = countingFold(FACT_EVERY);
  return {
    version: 1,
    step(state, record) {
      const next = stages.step(state, record);
      return { ...next, facts: next.facts.flatMap((fact) => [fact, bakeAfter(fact)]) };
    },
  };
}

function bakeAfter(fact: Fact): Fact {
  const { boot, mono, at } = fact;
  const span = { bay: 0, start: T0 + mono, end: T0 + mono + 1, tz: "UTC", bake_ms: 1, no_data_ms: 0 };
  const value = { ...span, end_reason: "run", parts: [] } as const;
  return { kind: KIND.bake, boot, mono, at, tag: "", value, quality: "good" };
}

interface Kept {
  readonly folder: string;
  readonly writer: Writer;
  take: number;
}

function open(folder: string, budget: StoreBudget): Writer {
  const db = openStoreFile(folder);
  let names = 0;
  return createWriter({ db, fold: bakingFold(), now: () => 0, wall: () => 0, uuid: () => `s-${++names}`, budget });
}

function begin(budget: StoreBudget): Kept {
  const folder = memoryFolder();
  const kept = { folder, writer: open(folder, budget), take: 1 };
  kept.writer.openStream("booth-1");
  kept.writer.ingest("s-1", [clockRecord(0)], 1);
  return kept;
}

/** Commits two hundred readings of a day, all acked, which make one stage and one bake. */
function day(kept: Kept, index: number): void {
  const records = Array.from({ length: FACT_EVERY }, (_, i) => {
    return reading(index * DAY + i * 60_000, `tag_${i % 12}`, (index * 7_919 + i * i * 104_729) % 1_009);
  });
  kept.writer.ingest("s-1", records, ++kept.take);
  kept.writer.ack("s-1", kept.writer.info("s-1").newest_seq);
}

function counts(folder: string): Record<string, number> {
  const db = new Database(storePath(folder), { readonly: true });
  const rows = db.prepare<[], { kind: string; rows: number }>("SELECT kind, count(*) AS rows FROM fact GROUP BY kind");
  const found = Object.fromEntries(rows.all().map(({ kind, rows: count }) => [kind, count]));
  db.close();
  return found;
}

function check(writer: Writer): void {
  while (writer.check());
}

it("keeps filter changes, filter days and bakes for years, and other facts for 400 days", () => {
  expect(LASTING_KINDS).toEqual(["f", "u", "b", "n"]);
  const kept = begin(BUDGET);
  for (let index = 0; index < 500; index += 1) day(kept, index);
  const { m = 0, b = 0 } = counts(kept.folder);
  expect(b).toBe(500);
  expect(m).toBeGreaterThan(395);
  expect(m).toBeLessThan(425);
  check(kept.writer);
  kept.writer.close();
});

it.each([
  { years: 2, left: 735 },
  { years: 5, left: 900 },
])("deletes bakes after the set number of years ($years)", ({ years, left }) => {
  const kept = begin({ ...BUDGET, records_age_ms: years * YEAR_MS });
  for (let index = 0; index < 900; index += 1) day(kept, index);
  const { b = 0 } = counts(kept.folder);
  // Facts are deleted along with whole chunks, each of which holds twenty days here.
  expect(Math.abs(b - left)).toBeLessThan(25);
  check(kept.writer);
  kept.writer.close();
});

it("deletes all other data before a bake if the budget is full, and then the oldest bakes", () => {
  const small = begin({ max_bytes: 600_000, max_age_ms: 10 * YEAR_MS });
  for (let index = 0; index < 500; index += 1) day(small, index);
  const some = counts(small.folder);
  expect(some["b"]).toBe(500);
  expect(some["m"] ?? 0).toBeLessThan(400);
  check(small.writer);
  for (let index = 500; index < 2_000; index += 1) day(small, index);
  const most = counts(small.folder);
  expect(most["b"]).toBeGreaterThan(300);
  expect(most["b"]).toBeLessThan(2_000);
  check(small.writer);
  small.writer.close();
});

it("a salvage keeps bakes that are older than all other facts, and reports no record as lost", () => {
  const kept = begin(BUDGET);
  for (let index = 0; index < 500; index += 1) day(kept, index);
  kept.writer.close();
  const before = counts(kept.folder);
  const { streams } = salvage({ dataDir: kept.folder, wall: () => 0 });
  expect(streams.map(({ missing }) => missing)).toEqual([0]);
  expect(counts(kept.folder)).toEqual(before);
  const writer = open(kept.folder, BUDGET);
  writer.openStream("booth-1");
  check(writer);
  expect(counts(kept.folder)).toEqual(before);
  writer.close();
});

it("a salvage without the stream's own row keeps old bakes, and notes only the deleted facts and records as lost", () => {
  const kept = begin(BUDGET);
  for (let index = 0; index < 500; index += 1) day(kept, index);
  const { oldest_seq } = kept.writer.info("s-1");
  kept.writer.close();
  expect(sqlOn(kept.folder, "DELETE FROM stream")).toBe(1);
  const { streams } = salvage({ dataDir: kept.folder, wall: () => 0 });
  expect(counts(kept.folder)["b"]).toBe(500);
  expect(streams[0]?.missing).toBeLessThan(oldest_seq);
});

it("finds a damaged bake that is older than all other facts, and removes it", () => {
  const kept = begin(BUDGET);
  for (let index = 0; index < 500; index += 1) day(kept, index);
  kept.writer.close();
  expect(sqlOn(kept.folder, "UPDATE fact SET crc = crc + 1 WHERE seq = (SELECT min(seq) FROM fact)")).toBe(1);
  const writer = open(kept.folder, BUDGET);
  writer.openStream("booth-1");
  check(writer);
  expect(counts(kept.folder)["b"]).toBe(499);
  writer.close();
});
