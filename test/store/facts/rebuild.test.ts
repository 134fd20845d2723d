import { crc32 } from "node:zlib";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { storePath } from "../../../src/store/open.ts";
import { addRowSum } from "../../../src/store/log/rows.ts";
import { put, script, stay } from "../../support/booth.ts";
import { PLAIN } from "../../support/parameters.ts";
import { changedBy, factRows, rebuild } from "../../support/rebuild.ts";
import { ingestEntries, writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Updates the stream's row as the store would write it. */
const SEAL = `UPDATE stream SET
  sum = row_sum(stream_id, booth_id, newest_seq, acked_seq, last_take, oldest_seq, facts_upto)`;

function plant(folder: string, sql: string): void {
  const db = new Database(storePath(folder));
  db.function("fact_crc", { varargs: true }, (body: unknown, ...cells: unknown[]) =>
    crc32(String(body), crc32(JSON.stringify(cells))),
  );
  addRowSum(db);
  db.exec(sql);
  db.close();
}

function standardDay() {
  const booth = script(PLAIN);
  for (const [mode, minutes] of [
    [2, 8],
    [3, 12],
    [4, 6],
    [3, 12],
    [5, 3],
    [6, 30],
    [8, 10],
    [1, 20],
  ] as const)
    stay(booth, minutes * MINUTE_MS, { mode });
  return booth;
}

it("a rebuild corrects and reports facts that contradict the log", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const stream = ingestEntries(writer, standardDay().entries);
  const contents = (): unknown[] =>
    (factRows(folder) as { kind: string; start_ms: number; end_ms: number }[])
      .map(({ kind, start_ms, end_ms }) => [kind, start_ms, end_ms])
      .sort();
  const before = contents();
  const { newest_seq } = writer.info(stream);
  writer.close();
  // A stage is deleted, another is doubled under another time, and the definitions are outdated.
  plant(
    folder,
    `INSERT INTO quarantine SELECT stream_id, seq, seq, 'planted', 1 FROM fact WHERE kind = 'm' ORDER BY seq LIMIT 1;
     DELETE FROM fact WHERE seq = (SELECT min(seq) FROM fact WHERE kind = 'm')`,
  );
  plant(
    folder,
    `INSERT INTO fact (stream_id, seq, kind, start_ms, end_ms, time, crc, body, whole, prev)
     SELECT stream_id, ${newest_seq + 1}, kind, start_ms, end_ms, time, 0, body, 2, (SELECT max(seq) FROM fact) FROM fact
     WHERE seq = (SELECT max(seq) FROM fact WHERE kind = 'm');
     UPDATE stream SET newest_seq = newest_seq + 1; ${SEAL};
     UPDATE fact SET version = 0,
     crc = fact_crc(body, stream_id, seq, kind, start_ms, end_ms, time, 2, 0, replaced, prev)`,
  );
  const again = writerIn(folder);
  again.openStream("booth-1");
  const done = rebuild(again, stream);
  expect(done.from_versions).toEqual([0]);
  expect(done.changes.find(({ kind }) => kind === "m")).toMatchObject({ added: 1, withdrawn: 1, replaced: 0 });
  expect(done.examples).toHaveLength(2);
  expect(contents()).toEqual(before);
  // Withdrawn facts keep their seqs in the stream for delivery, and an x record names them.
  const records = again.read(stream, 1, 10_000);
  expect(records.filter(({ kind }) => kind === "x").map(({ value }) => value)).toEqual([{ seq: newest_seq + 1 }]);
  expect(changedBy(rebuild(again, stream))).toBe(0);
  again.close();
});

it("a rebuild with today's parameters marks each replaced fact, and a rebuild without them restores the old facts", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const booth = standardDay();
  const today = { ...PLAIN, modes: { ...PLAIN.modes, "4": "spray" as const } };
  put(booth, { kind: "p", value: today });
  stay(booth, 5 * MINUTE_MS, { mode: 0 });
  const stream = ingestEntries(writer, booth.entries, { sizes: [40] });
  const before = factRows(folder).length;
  const done = rebuild(writer, stream, true);
  const stages = done.changes.find(({ kind }) => kind === "m");
  expect(stages?.replaced).toBeGreaterThan(0);
  expect(factRows(folder)).not.toHaveLength(before);
  const named = writer.read(stream, 1, 10_000).filter((one) => one.kind === "m" && one.value.supersedes !== undefined);
  expect(named).toHaveLength(stages?.replaced ?? -1);
  expect(changedBy(rebuild(writer, stream, true))).toBe(0);
  rebuild(writer, stream);
  expect(factRows(folder)).toHaveLength(before);
  writer.close();
});

it("a rebuild lets ingest continue in between, and includes the new records", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { entries } = standardDay();
  const half = entries.slice(0, entries.length >> 1);
  const stream = ingestEntries(writer, half, { sizes: [5] });
  const newest = writer.info(stream).newest_seq;
  expect(writer.rebuild(stream, false)).toMatchObject({ kind: "running", folded_seq: 0, newest_seq: newest });
  ingestEntries(writer, entries, { sizes: [5] });
  while (writer.rebuildSlice());
  const end = writer.rebuildProgress(stream);
  expect(end).toMatchObject({ kind: "done" });
  expect(changedBy(end as Extract<typeof end, { kind: "done" }>)).toBe(0);
  writer.close();
});

it("a rebuild fails with the reason if the log is empty or lacks its first records", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  expect(() => writer.rebuild(stream, false)).toThrow(/nothing to rebuild/);
  ingestEntries(writer, standardDay().entries);
  writer.close();
  plant(folder, `UPDATE stream SET oldest_seq = 10; ${SEAL}`);
  const again = writerIn(folder);
  again.openStream("booth-1");
  expect(() => again.rebuild(stream, false)).toThrow(/begins at 10/);
  again.close();
});

it("a rebuild of a damaged log fails and changes nothing", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const stream = ingestEntries(writer, standardDay().entries);
  writer.close();
  plant(
    folder,
    "UPDATE log SET packed = CAST(packed || x'00' AS BLOB) WHERE first_seq = (SELECT max(first_seq) FROM log)",
  );
  const rows = factRows(folder);
  const again = writerIn(folder);
  again.openStream("booth-1");
  expect(() => again.rebuild(stream, false)).toThrow(/were damaged in the store/);
  expect(factRows(folder)).toEqual(rows);
  again.close();
});
