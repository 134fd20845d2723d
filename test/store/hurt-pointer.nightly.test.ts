import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import type { LogRecord, Placed } from "../../src/domain/record.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { allRecords, keptStoreIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

const PAGE_BYTES = 512;
const COMMITS = 24;
/** Number of readings in each commit, and so in each row. */
const READINGS = 2;
/** Text length with which a row fills several pages. */
const TEXT_BYTES = 900;

function open(folder: string): Writer {
  let names = 0;
  const uuid = (): string => `s-${++names}`;
  const writer = keptStoreIn(folder, { fold: countingFold(12), uuid });
  writer.openStream("booth-1");
  return writer;
}

const random = seededRandom(5);
function polled(take: number): LogRecord[] {
  return Array.from({ length: READINGS }, (_, i) => {
    const bytes = Buffer.from(Array.from({ length: TEXT_BYTES }, () => random.next() * 256));
    return reading(take * 60_000 + i * 1_000, "text", bytes.toString("base64"));
  });
}

function all(writer: Writer): ReadonlyMap<number, Placed> {
  return new Map(allRecords(writer).map((record) => [record.seq, record]));
}

/** Checks the store, ingests enough records to reuse freed pages, and checks again. */
function goOn(writer: Writer): void {
  while (writer.check());
  for (let take = 500; take < 504; take += 1) writer.ingest("s-1", polled(take), take);
  while (writer.check());
  writer.ingest("s-1", polled(504), 504);
}

/** A store's file, with its records by seq and the positions of its pointers to other pages. */
interface Whole {
  readonly bytes: Buffer;
  readonly truth: ReadonlyMap<number, Placed>;
  readonly pointers: readonly number[];
  /** Positions of the heads of pages with rows. SQLite reads nothing from a page with a damaged head. */
  readonly heads: ReadonlySet<number>;
}

/** Maximum number of records of the rows and facts in one page. */
const PAGE_RECORDS = 16;

/** Makes a store of rows with several pages each. Each page starts with the number of the next one. */
function longRows(): Whole {
  const folder = memoryFolder();
  const writer = open(folder);
  writer.ingest("s-1", [clockRecord(0)], 1);
  for (let take = 2; take < COMMITS; take += 1) writer.ingest("s-1", polled(take), take);
  const truth = all(writer);
  writer.close();
  const bytes = readFileSync(storePath(folder));
  const pointers = Array.from({ length: bytes.length / PAGE_BYTES - 1 }, (_, i) => (i + 1) * PAGE_BYTES);
  const db = new Database(storePath(folder), { readonly: true });
  const overflow = db.prepare<[], number>("SELECT pageno FROM dbstat WHERE pagetype = 'overflow'").pluck().all();
  db.close();
  const heads = new Set(pointers.filter((at) => !overflow.includes(at / PAGE_BYTES + 1)));
  return { bytes, truth, pointers, heads };
}

/**
 * Makes such a store after its older half was deleted by age. The list of free pages contains all pages that it used.
 */
function freePages(): Whole {
  const { bytes: full, truth: before } = longRows();
  const folder = memoryFolder();
  writeFileSync(storePath(folder), full);
  const db = openStoreFile(folder);
  const upTo = COMMITS;
  db.exec(`DELETE FROM log WHERE last_seq <= ${upTo}`);
  const first = db.prepare<[], number>("SELECT min(first_seq) FROM log").pluck().get() ?? 0;
  db.exec(`DELETE FROM fact WHERE seq < ${first}`);
  const gone = (first - 1).toString();
  db.exec(`UPDATE stream SET oldest_seq = ${first}, facts_upto = ${gone}, acked_seq = ${gone}`);
  db.exec(
    "UPDATE stream SET sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)",
  );
  db.close();
  const bytes = readFileSync(storePath(folder));
  const list = (bytes.readUInt32BE(32) - 1) * PAGE_BYTES;
  const pointers = Array.from({ length: bytes.readUInt32BE(list + 4) }, (_, i) => list + 8 + i * 4);
  return { bytes, truth: new Map([...before].filter(([seq]) => seq >= first)), pointers, heads: new Set() };
}

it.each([
  [
    "from a page to its next page loses only its own row, or the page's rows if it damages the page's head",
    longRows,
    { bit: 2, cost: READINGS, least: COMMITS },
  ],
  ["to a free page loses nothing", freePages, { bit: 32, cost: 0, least: 10 }],
])("a damaged pointer in the database %s, and no other pages are overwritten", (_what, make, { bit, cost, least }) => {
  const { bytes, truth, pointers, heads } = make();
  const copies = memoryFolder();
  const costs: number[] = [];
  const tooMuch: string[] = [];
  const silent: string[] = [];
  for (const at of pointers) {
    const spoilt = Buffer.from(bytes);
    spoilt[at + 3] = (bytes[at + 3] ?? 0) ^ bit;
    const folder = join(copies, at.toString());
    mkdirSync(folder);
    writeFileSync(storePath(folder), spoilt);
    const writer = open(folder);
    goOn(writer);
    const told = all(writer);
    const declared = [...told.values()].flatMap((record) => (record.kind === "g" ? [record.value] : []));
    const lost = [...truth].filter(([seq, record]) => JSON.stringify(told.get(seq)) !== JSON.stringify(record));
    costs.push(lost.length);
    if (lost.length > (heads.has(at) ? PAGE_RECORDS : cost)) tooMuch.push(`${at}: ${lost.length}`);
    for (const [seq] of lost)
      if (!declared.some(({ from, to }) => from <= seq && seq <= to)) silent.push(`${at}: ${seq}`);
    writer.close();
  }
  expect(costs.filter((lost) => lost === cost).length).toBeGreaterThan(least);
  expect(tooMuch).toEqual([]);
  expect(silent).toEqual([]);
});
