import { cpSync } from "node:fs";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import { bridgeMs } from "../../../src/derivation/parameters.ts";
import { DEFAULT_BUDGET } from "../../../src/domain/storage.ts";
import type { LogChunk, Placed } from "../../../src/domain/record.ts";
import { unpackChunk } from "../../../src/store/log/chunk.ts";
import { storePath } from "../../../src/store/open.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { openStoreThread } from "../../../src/store/thread/thread.ts";
import { poll, put, script } from "../../support/booth.ts";
import { PLAIN } from "../../support/parameters.ts";
import { writerIn } from "../../support/store.ts";
import { memoryFolder, temporaryFolder, type AtEnd } from "../../support/temporary.ts";

const BATCH = 50;
/** Enough for four chunks, and rows behind them that still stand open. */
const POLLS = 19_000;

interface Busy {
  readonly folder: string;
  readonly stream: string;
  readonly newest: number;
}

/** A booth whose mode changes now and then, so that facts stand among its readings; its parameters change once, late. */
function busyStore(atEnd: AtEnd): Busy {
  const folder = memoryFolder(atEnd);
  const booth = script(PLAIN);
  for (let i = 0; i < POLLS; i += 1) {
    if (i === 14_000) put(booth, { kind: "p", value: PLAIN });
    poll(booth, { mode: i % 1_000 < 500 ? 3 : 4, level: i });
    booth.now += 1_000;
  }
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  for (let from = 0; from < booth.entries.length; from += BATCH) {
    const some = booth.entries.slice(from, from + BATCH);
    writer.ingest(
      stream,
      recordsOf(some, (group) => bridgeMs(PLAIN, group)),
      some.at(-1)?.take ?? 0,
    );
  }
  const newest = writer.info(stream).newest_seq;
  writer.close();
  return { folder, stream, newest };
}

function opened({ folder }: Busy): Writer {
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  return writer;
}

/** Everything of a chunk, in seq order, by what goes to the service. */
function recordsIn({ first_seq, boot, mono0, t0, body, facts }: LogChunk): object[] {
  const records = unpackChunk({ first_seq, boot, mono0, t0 }, Buffer.from(body), () => true);
  return [...records, ...facts].sort((a, b) => a.seq - b.seq).map(sent);
}

function sent({ seq, kind, tag, boot, mono, time, value, quality }: Placed): object {
  return { seq, kind, tag, boot, mono, time, value, quality };
}

interface Walked {
  readonly records: readonly object[];
  readonly chunks: readonly LogChunk[];
  /** What had to go record by record. */
  readonly others: readonly (readonly [from: number, to: number])[];
}

/** All from one seq to another, as chunks where they can be had. */
function walk(writer: Writer, stream: string, { from, end }: { readonly from: number; readonly end: number }): Walked {
  const walked = { records: [] as object[], chunks: [] as LogChunk[], others: [] as [number, number][] };
  for (let next = from; next <= end;) {
    const together = writer.chunks(stream, next, end);
    expect(together.length).toBeLessThanOrEqual(8);
    // What goes record by record is the last of one call.
    expect(together.slice(0, -1).every(({ chunk }) => chunk !== null)).toBe(true);
    for (const { chunk, to } of together) {
      expect(to).toBeGreaterThanOrEqual(next);
      expect(to).toBeLessThanOrEqual(end);
      if (chunk === null) {
        walked.others.push([next, to]);
        walked.records.push(...readRange(writer, stream, [next, to]));
      } else {
        expect([chunk.from, chunk.to]).toEqual([next, to]);
        walked.chunks.push(chunk);
        walked.records.push(...recordsIn(chunk));
      }
      next = to + 1;
    }
  }
  return walked;
}

function readRange(writer: Writer, stream: string, [from, to]: readonly [number, number]): object[] {
  const records: object[] = [];
  for (let next = from; next <= to;) {
    const more = writer.read(stream, next, 1_000).filter(({ seq }) => seq <= to);
    if (more.length === 0) break;
    records.push(...more.map(sent));
    next = (more.at(-1)?.seq ?? to) + 1;
  }
  return records;
}

let BUSY: Busy;
const undos: (() => unknown)[] = [];
beforeAll(() => {
  BUSY = busyStore((undo) => void undos.push(undo));
});
afterAll(() => {
  for (const undo of undos) undo();
});

describe("a log asked for in chunks", () => {
  it("is all of the log, from wherever and up to wherever, each record once and as it is read by itself", () => {
    const writer = opened(BUSY);
    const whole = readRange(writer, BUSY.stream, [1, BUSY.newest]);
    const bounds = fc.tuple(fc.integer({ min: 1, max: BUSY.newest }), fc.integer({ min: 0, max: BUSY.newest }));
    fc.assert(
      fc.property(bounds, ([from, length]) => {
        const end = Math.min(BUSY.newest, from + length);
        expect(walk(writer, BUSY.stream, { from, end }).records).toEqual(whole.slice(from - 1, end));
      }),
      { numRuns: 20 },
    );
    const { chunks, others } = walk(writer, BUSY.stream, { from: 1, end: BUSY.newest });
    // Facts are among them; the first row holds parameters and the clock, a later one other parameters, the last ones stand open.
    expect(chunks.some(({ facts }) => facts.length > 0)).toBe(true);
    expect(chunks.length).toBeGreaterThanOrEqual(2);
    expect(others.length).toBeGreaterThanOrEqual(3);
    expect(others.length).toBeLessThanOrEqual(6);
    writer.close();
  });

  it("begins with a chunk at a row, or at facts before it, and ends one before the next row alone", () => {
    const writer = opened(BUSY);
    const [first] = walk(writer, BUSY.stream, { from: 1, end: BUSY.newest }).chunks;
    if (first === undefined) throw new Error("no chunk");
    const { from, to } = first;
    const at = (seq: number, end = BUSY.newest): boolean => writer.chunks(BUSY.stream, seq, end)[0].chunk !== null;
    expect([at(from), at(from + 1), at(from, to), at(from, to - 1)]).toEqual([true, false, true, false]);
    expect(writer.chunks(BUSY.stream, from + 1, BUSY.newest)[0].to).toBe(to);
    expect(writer.chunks(BUSY.stream, from, to - 1)[0].to).toBe(to - 1);
    writer.close();
  });

  it("gives bytes of its own, that come whole from the store's thread", async () => {
    const writer = opened(BUSY);
    const [first] = walk(writer, BUSY.stream, { from: 1, end: BUSY.newest }).chunks;
    writer.close();
    const { store } = openStoreThread({
      dataDir: BUSY.folder,
      standbyDir: `${temporaryFolder()}/standby`,
      budget: DEFAULT_BUDGET,
    });
    await store.openStream("booth-1");
    const { from = 0, to = 0 } = first ?? {};
    const asked = [0, 0, 0].map(() => store.chunks(BUSY.stream, from, BUSY.newest));
    for (const [{ chunk }] of await Promise.all(asked)) {
      expect(chunk?.to).toBe(to);
      expect(Buffer.from(chunk?.body ?? []).equals(Buffer.from(first?.body ?? []))).toBe(true);
      expect(chunk?.facts).toEqual(first?.facts);
    }
    expect((await store.chunks(BUSY.stream, 1, BUSY.newest))[0].chunk).toBe(null);
    await store.close();
  });
});

describe("it isn't had as a chunk", () => {
  /** The second chunk's range, after something was done to the file. */
  function after(act: (db: Database.Database, chunk: LogChunk) => void): { readonly chunk: LogChunk | null } {
    const busy = { ...BUSY, folder: memoryFolder() };
    cpSync(BUSY.folder, busy.folder, { recursive: true });
    const before = opened(busy);
    const [, second] = walk(before, busy.stream, { from: 1, end: busy.newest }).chunks;
    before.close();
    if (second === undefined) throw new Error("no chunk");
    const db = new Database(storePath(busy.folder));
    const writer = opened(busy);
    act(db, second);
    db.close();
    const [asked] = writer.chunks(busy.stream, second.from, busy.newest);
    expect(asked.to).toBeGreaterThanOrEqual(second.to);
    writer.close();
    return asked;
  }

  it("where a bit has flipped in the row", () => {
    const flipped = after((db, { first_seq }) => {
      db.prepare("UPDATE log SET packed = CAST(packed || x'00' AS BLOB) WHERE first_seq = ?").run(first_seq);
    });
    expect(flipped.chunk).toBe(null);
  });

  it.each(["UPDATE log SET packed = NULL", "UPDATE log SET t0 = t0 + 1"])("after %s", (sql) => {
    const damaged = after((db, { first_seq }) => {
      db.prepare(`${sql} WHERE first_seq = ?`).run(first_seq);
    });
    expect(damaged.chunk).toBe(null);
  });

  it("where a fact among its records is gone, or damaged", () => {
    const inRange = "seq = (SELECT min(seq) FROM fact WHERE seq BETWEEN ? AND ?)";
    for (const sql of [`DELETE FROM fact WHERE ${inRange}`, `UPDATE fact SET body = '[]' WHERE ${inRange}`]) {
      const holed = after((db, { from, to }) => {
        expect(db.prepare(sql).run(from, to).changes).toBe(1);
      });
      expect(holed.chunk).toBe(null);
    }
  });
});
