import { cpSync } from "node:fs";
import Database from "better-sqlite3";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_BUDGET } from "../../../src/domain/storage.ts";
import type { LogChunk, Placed } from "../../../src/domain/record.ts";
import { unpackChunk } from "../../../src/store/log/chunk.ts";
import { storePath } from "../../../src/store/open.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { openStoreThread } from "../../../src/store/thread/thread.ts";
import { poll, put, script } from "../../support/booth.ts";
import { PLAIN } from "../../support/parameters.ts";
import { ingestEntries, writerIn } from "../../support/store.ts";
import { memoryFolder, temporaryFolder, type AtEnd } from "../../support/temporary.ts";

/** Enough polls for four chunks, and for rows after them that are in no chunk yet. */
const POLLS = 19_000;

interface Busy {
  readonly folder: string;
  readonly stream: string;
  readonly newest: number;
}

/**
 * Makes the store of a booth whose mode changes now and then, so that facts are among its readings. Its parameters
 * change once, late.
 */
function busyStore(atEnd: AtEnd): Busy {
  const folder = memoryFolder(atEnd);
  const booth = script(PLAIN);
  for (let i = 0; i < POLLS; i += 1) {
    if (i === 14_000) put(booth, { kind: "p", value: PLAIN });
    poll(booth, { mode: i % 1_000 < 500 ? 3 : 4, level: i });
    booth.now += 1_000;
  }
  const writer = writerIn(folder);
  const stream = ingestEntries(writer, booth.entries);
  const newest = writer.info(stream).newest_seq;
  writer.close();
  return { folder, stream, newest };
}

function opened({ folder }: Busy): Writer {
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  return writer;
}

/** Returns all records of a chunk in seq order, as the service gets them. */
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
  /** Ranges that had to be read record by record. */
  readonly others: readonly (readonly [from: number, to: number])[];
}

/** Reads a range of seqs, as chunks if possible. */
function walk(writer: Writer, stream: string, { from, end }: { readonly from: number; readonly end: number }): Walked {
  const walked = { records: [] as object[], chunks: [] as LogChunk[], others: [] as [number, number][] };
  for (let next = from; next <= end;) {
    const together = writer.chunks(stream, next, end);
    expect(together.length).toBeLessThanOrEqual(8);
    // Only the last result of a call may be single records.
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

describe("a log that is read in chunks", () => {
  it("contains the same records as a log read record by record, for any range of sequence numbers", () => {
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
    // Facts are included. The first row holds parameters and the clock, a later one other parameters, and the last rows
    // are open.
    expect(chunks.some(({ facts }) => facts.length > 0)).toBe(true);
    expect(chunks.length).toBeGreaterThanOrEqual(2);
    expect(others.length).toBeGreaterThanOrEqual(3);
    expect(others.length).toBeLessThanOrEqual(6);
    writer.close();
  });

  it("begins each chunk at a row or at the facts before a row, and ends it before the next row", () => {
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

  it("returns the complete bytes of each chunk from the store thread", async () => {
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

describe("a damaged part of the log", () => {
  /** Returns the second chunk's range after a change to the file. */
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

  const ROW = "WHERE first_seq = @first_seq";
  const FACT = "WHERE seq = (SELECT min(seq) FROM fact WHERE seq BETWEEN @from AND @to)";

  it.each([
    `UPDATE log SET packed = CAST(packed || x'00' AS BLOB) ${ROW}`,
    `UPDATE log SET packed = NULL ${ROW}`,
    `UPDATE log SET t0 = t0 + 1 ${ROW}`,
    `DELETE FROM fact ${FACT}`,
    `UPDATE fact SET body = '[]' ${FACT}`,
  ])("is read record by record after the SQL statement %s", (sql) => {
    const { chunk } = after((db, { first_seq, from, to }) => {
      const seqs = sql.endsWith(ROW) ? { first_seq } : { from, to };
      expect(db.prepare(sql).run(seqs).changes).toBe(1);
    });
    expect(chunk).toBe(null);
  });
});
