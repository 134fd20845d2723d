import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { bridgeMs } from "../../src/derivation/parameters.ts";
import { storePath } from "../../src/store/open.ts";
import { poll, script, type Script } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

const BATCH = 50;
/** Enough for the oldest rows to be put together in one. */
const POLLS = 5_000;

/** Each poll has a value that changed. */
function busy(): Script {
  const booth = script(PLAIN);
  for (let i = 0; i < POLLS; i += 1) poll(booth, { mode: i % 1_000 < 500 ? 3 : 4, level: i });
  return booth;
}

/** Opens the store, looks through it, takes in what isn't there yet, up to `upTo` polls. */
function takeIn(folder: string, { entries }: Script, upTo: number) {
  const writer = writerIn(folder);
  const { stream, last_take } = writer.openStream("booth-1");
  while (writer.check());
  const fresh = entries.slice(0, upTo).filter(({ take }) => take > last_take);
  for (let from = 0; from < fresh.length; from += BATCH) {
    const some = fresh.slice(from, from + BATCH);
    const records = recordsOf(some, (group) => bridgeMs(PLAIN, group));
    writer.ingest(stream, records, some.at(-1)?.take ?? 0);
  }
  writer.ack(stream, writer.info(stream).newest_seq);
  return { writer, stream };
}

/** Seqs of the log's rows. */
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

it("rows with damaged ones between them aren't put together: what is missing would look like facts, and a rebuild be made without it", () => {
  const folder = temporaryFolder();
  const booth = busy();
  takeIn(folder, booth, POLLS / 2).writer.close();
  const rows = logRows(folder);
  const lost = rows[10];
  const db = new Database(storePath(folder));
  db.prepare("UPDATE log SET crc = crc + 1 WHERE first_seq = ?").run(lost?.first_seq);
  db.close();

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
