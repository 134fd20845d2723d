import { mkdirSync, statSync } from "node:fs";
import { recordsOf } from "../../src/core/commit.ts";
import type { LogRecord, Placed } from "../../src/core/types/record.ts";
import { deriveFold } from "../../src/store/derive-fold.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { packLog, stateRow } from "../../src/store/rows.ts";
import { prepareStatements } from "../../src/store/statements.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { SIXTY_TAGS_T0, sixtyTags } from "./sixty-tags.ts";

export const STREAM = "00000000-0000-4000-8000-000000000001";
const CHUNK_RECORDS = 4_000;
const POLLS_PER_COMMIT = 10;

export interface Filled {
  readonly changes: number;
  readonly packed_bytes: number;
  readonly file_bytes: number;
}

/** Puts so many days of the booth with 60 tags into a store, as closed chunks; facts are left out. */
export function fillStore(folder: string, days: number): Filled {
  mkdirSync(folder, { recursive: true });
  const db = openStoreFile(folder);
  const sql = prepareStatements(db);
  const random = seededRandom(12);
  const poll = sixtyTags(STREAM, () => random.next());
  let [seq, changes, packed_bytes] = [0, 0, 0];
  let open: Placed<LogRecord>[] = [];
  const close = (): void => {
    const row = packLog(STREAM, open, true);
    packed_bytes += row.packed?.length ?? 0;
    sql.addLogRow.run(row);
    open = [];
  };
  sql.addStream.run({ stream: STREAM, booth: "booth-1", at: SIXTY_TAGS_T0 });
  sql.addOrigin.run({ stream: STREAM, booth: "booth-1", at: SIXTY_TAGS_T0 });
  db.transaction(() => {
    for (let second = 0; second < days * 86_400; second += POLLS_PER_COMMIT) {
      for (const record of recordsOf(Array.from({ length: POLLS_PER_COMMIT }, poll), () => 5_000)) {
        if (record.kind === "r") changes += 1;
        open.push({ ...record, seq: ++seq, time: SIXTY_TAGS_T0 + record.mono });
      }
      if (open.length >= CHUNK_RECORDS) close();
    }
    if (open.length > 0) close();
    sql.moveStream.run({ stream: STREAM, newest: seq, acked: seq, take: seq });
    sql.saveState.run(stateRow(STREAM, seq, deriveFold.empty()));
    sql.moveClosed.run({ stream: STREAM, closed: seq });
  })();
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  return { changes, packed_bytes, file_bytes: statSync(storePath(folder)).size };
}
