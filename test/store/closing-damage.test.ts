import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { storePath } from "../../src/store/open.ts";
import { poll, script, type Script } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { ingestEntries, sqlOn, writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Number of polls after which the oldest rows are merged. */
const POLLS = 5_000;

/** Returns a script in which each poll has a changed value. */
function busy(): Script {
  const booth = script(PLAIN);
  for (let i = 0; i < POLLS; i += 1) poll(booth, { mode: i % 1_000 < 500 ? 3 : 4, level: i });
  return booth;
}

/** Opens and checks the store, and commits the missing polls up to `upTo`. */
function takeIn(folder: string, { entries }: Script, upTo: number) {
  const writer = writerIn(folder);
  writer.openStream("booth-1");
  while (writer.check());
  const stream = ingestEntries(writer, entries.slice(0, upTo));
  writer.ack(stream, writer.info(stream).newest_seq);
  return { writer, stream };
}

/** Returns the ranges of seqs in the log's rows. */
function logRows(folder: string): readonly { readonly first_seq: number; readonly last_seq: number }[] {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db
      .prepare<[], { first_seq: number; last_seq: number }>("SELECT first_seq, last_seq FROM log ORDER BY 1")
      .all();
  } finally {
    db.close();
  }
}

it("log rows are not merged across a damaged row, so that a rebuild notices the missing records", () => {
  const folder = temporaryFolder();
  const booth = busy();
  takeIn(folder, booth, POLLS / 2).writer.close();
  const rows = logRows(folder);
  const lost = rows[10];
  sqlOn(folder, `UPDATE log SET crc = crc + 1 WHERE first_seq = ${lost?.first_seq ?? 0}`);

  const { writer, stream } = takeIn(folder, booth, POLLS);
  const kept = logRows(folder);
  expect(kept.length).toBeLessThan(rows.length);
  expect(
    kept.filter((row) => row.first_seq <= (lost?.first_seq ?? 0) && (lost?.last_seq ?? 0) <= row.last_seq),
  ).toEqual([]);
  expect(() => writer.rebuild(stream, false)).toThrow(
    `records ${String(lost?.first_seq)} to ${String(lost?.last_seq)} were damaged in the store`,
  );
  writer.close();
});
