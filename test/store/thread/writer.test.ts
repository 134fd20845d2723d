import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { storePath } from "../../../src/store/open.ts";
import { clockRecord, coverage, reading, T0 } from "../../support/records.ts";
import { writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const first = [clockRecord(0), coverage(0, 5_000), reading(0, "mode", 3), reading(2_000, "mode", 4)];
const second = [coverage(6_000, 9_000), reading(7_000, "mode", 3)];

describe("the log store", () => {
  it("assigns sequence numbers without a gap across commits, and returns the records", () => {
    const writer = writerIn(temporaryFolder());
    const { stream } = writer.openStream("booth-1");
    writer.ingest(stream, first, 4);
    const { newest_seq } = writer.ingest(stream, second, 6);
    expect(newest_seq).toBe(6);
    const all = writer.read(stream, 1, 100);
    expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(
      all.map(({ kind, tag, value, boot, mono, at, quality }) => ({ kind, tag, value, boot, mono, at, quality })),
    ).toEqual([...first, ...second]);
    expect(all.map(({ time }) => time)).toEqual([...first, ...second].map(({ mono }) => T0 + mono));
    expect(writer.read(stream, 4, 2).map(({ seq }) => seq)).toEqual([4, 5]);
    writer.close();
  });

  it("ingests takes (numbered readings of a poll) only once", () => {
    const writer = writerIn(temporaryFolder());
    const { stream } = writer.openStream("booth-1");
    writer.ingest(stream, first, 4);
    writer.ingest(stream, first, 4);
    expect(writer.info(stream)).toMatchObject({ newest_seq: 4, last_take: 4 });
    writer.close();
  });

  it("continues after a stop with the same stream, cursor and state", () => {
    const folder = temporaryFolder();
    const before = writerIn(folder);
    const { stream } = before.openStream("booth-1");
    before.ingest(stream, first, 4);
    before.ack(stream, 3);
    const state = structuredClone(before.state(stream));
    before.close();
    const after = writerIn(folder);
    expect(after.openStream("booth-1")).toMatchObject({ stream, newest_seq: 4, acked_seq: 3, last_take: 4 });
    expect(after.state(stream)).toEqual(state);
    after.close();
  });

  it("never moves the acked cursor back or beyond the newest record", () => {
    const writer = writerIn(temporaryFolder());
    const { stream } = writer.openStream("booth-1");
    writer.ingest(stream, first, 4);
    expect(writer.ack(stream, 99).acked_seq).toBe(4);
    expect(writer.ack(stream, 2).acked_seq).toBe(4);
    writer.close();
  });

  it("keeps nothing of a failed commit, which can be repeated", () => {
    const folder = temporaryFolder();
    const writer = writerIn(folder);
    const { stream } = writer.openStream("booth-1");
    writer.ingest(stream, first, 4);
    const other = new Database(storePath(folder));
    other.exec("CREATE TRIGGER refuse BEFORE INSERT ON log BEGIN SELECT raise(ABORT, 'planted'); END");
    expect(() => writer.ingest(stream, second, 6)).toThrow("planted");
    expect(writer.info(stream)).toMatchObject({ newest_seq: 4, last_take: 4 });
    other.exec("DROP TRIGGER refuse");
    other.close();
    expect(writer.ingest(stream, second, 6).newest_seq).toBe(6);
    writer.close();
  });

  it("never returns a damaged row, and declares the row's records as missing", () => {
    const folder = temporaryFolder();
    const writer = writerIn(folder);
    const { stream } = writer.openStream("booth-1");
    writer.ingest(stream, first, 4);
    writer.close();
    const db = new Database(storePath(folder));
    db.exec("UPDATE log SET packed = CAST(packed || x'00' AS BLOB)");
    db.close();
    const again = writerIn(folder);
    again.openStream("booth-1");
    expect(again.read(stream, 1, 10)).toEqual([]);
    const { newest_seq } = again.ingest(stream, second, 6);
    const records = again.read(stream, 1, 10);
    expect(records.map(({ seq }) => seq)).toEqual([5, 6, 7]);
    expect(records.at(-1)).toMatchObject({ kind: "g", seq: newest_seq, value: { from: 1, to: 4 } });
    again.close();
  });
});
