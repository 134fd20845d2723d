import { mkdirSync, statSync } from "node:fs";
import { crc32 } from "node:zlib";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import { KIND, type LogRecord, type Placed, type StageFact } from "../../src/domain/record.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { packFact, packLog, stateRow, unpackLog, type FactRow, type LogRow } from "../../src/store/log/rows.ts";
import { prepareStatements } from "../../src/store/log/statements.ts";
import { seededRandom } from "./seeded-random.ts";
import { SIXTY_TAGS_T0, sixtyTags } from "./sixty-tags.ts";
import { DAY_MS } from "../../src/domain/time.ts";

export const STREAM = "00000000-0000-4000-8000-000000000001";
const CHUNK_RECORDS = 4_000;
const POLLS_PER_COMMIT = 10;

export interface Filled {
  readonly changes: number;
  readonly packed_bytes: number;
  readonly file_bytes: number;
}

/** Packed days of the booth with 60 tags. */
interface Made {
  readonly rows: readonly LogRow[];
  readonly facts: readonly FactRow[];
  readonly records: number;
  readonly changes: number;
}

interface Filling {
  /**
   * The number of days that are generated and packed. The others are copies under another boot, which is a hundred
   * times faster if only the amount matters.
   */
  readonly own?: number;
  /**
   * Adds a fact after each change of the mode, as for stages. Default: no facts. All days must then be generated, not
   * copied.
   */
  readonly has_facts?: boolean;
}

const made = new Map<string, Made>();

/**
 * Writes days of the booth with 60 tags into a store as closed chunks. Other calls in the same process reuse the
 * generated days.
 */
export function fillStore(folder: string, days: number, { own = days, has_facts = false }: Filling = {}): Filled {
  mkdirSync(folder, { recursive: true });
  const key = `${own} ${String(has_facts)}`;
  const ready = made.get(key) ?? madeDays(own, has_facts);
  made.set(key, ready);
  const { rows, facts, records, changes } = ready;
  const db = openStoreFile(folder);
  const sql = prepareStatements(db);
  sql.addStream.run({ stream: STREAM, booth: "booth-1", at: SIXTY_TAGS_T0 });
  sql.addOrigin.run({ stream: STREAM, booth: "booth-1", at: SIXTY_TAGS_T0 });
  let seq = 0;
  let packed_bytes = 0;
  let copies = 0;
  db.transaction(() => {
    for (const fact of facts) sql.addFact.run(fact);
    for (let day = 0; day < days; day += own) {
      for (const row of rows) {
        packed_bytes += row.packed.length;
        sql.addLogRow.run(day === 0 ? row : movedRow(row, { seq, ms: day * DAY_MS }));
      }
      seq += records;
      copies += 1;
    }
    sql.moveStream.run({ stream: STREAM, newest: seq, acked: seq, take: seq });
    sql.saveState.run(stateRow(STREAM, seq, emptyState()));
    sql.moveClosed.run({ stream: STREAM, upTo: seq });
  })();
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  return { changes: changes * copies, packed_bytes, file_bytes: statSync(storePath(folder)).size };
}

function madeDays(days: number, hasFacts: boolean): Made {
  const random = seededRandom(12);
  const poll = sixtyTags(STREAM, () => random.next());
  const rows: LogRow[] = [];
  const facts: FactRow[] = [];
  let seq = 0;
  let changes = 0;
  let open: Placed<LogRecord>[] = [];
  const close = (): void => {
    rows.push(packLog(STREAM, open, true));
    open = [];
  };
  for (let second = 0; second < days * 86_400; second += POLLS_PER_COMMIT) {
    for (const record of recordsOf(Array.from({ length: POLLS_PER_COMMIT }, poll), () => 5_000)) {
      if (record.kind === "r") changes += 1;
      open.push({ ...record, seq: ++seq, time: SIXTY_TAGS_T0 + record.mono });
      if (hasFacts && record.tag === "mode") facts.push(stageAt(record, { seq: ++seq, prev: facts.at(-1)?.seq ?? 0 }));
    }
    if (open.length >= CHUNK_RECORDS) close();
  }
  if (open.length > 0) close();
  return { rows, facts, records: seq, changes };
}

function stageAt(
  { boot, mono, at }: LogRecord,
  { seq, prev }: { readonly seq: number; readonly prev: number },
): FactRow {
  const time = SIXTY_TAGS_T0 + mono;
  const value: StageFact["value"] = {
    bay: 0,
    mode: "spray",
    start: time - 400_000,
    end: time,
    end_reason: "changed",
    is_new_start: true,
    uncertain_ms: 0,
    uncertainty_ms: 1_000,
    raw: "3",
  };
  const fact = { kind: KIND.stage, seq, boot, mono, at, time, tag: "", value, quality: "good" } as const;
  return packFact(STREAM, fact, { version: 1, prev });
}

/**
 * Shifts a row's records in time and to another boot. A row stores times relative to its start, so it needn't be packed
 * again.
 */
function movedRow(row: LogRow, by: { readonly seq: number; readonly ms: number }): LogRow {
  const { stream_id, mono0, placed, whole, packed } = row;
  const first_seq = row.first_seq + by.seq;
  const last_seq = row.last_seq + by.seq;
  const boot = `b${by.ms}`;
  const t0 = row.t0 + by.ms;
  const head = JSON.stringify([stream_id, first_seq, last_seq, boot, mono0, t0, placed, whole]);
  const moved = { ...row, first_seq, last_seq, boot, t0, crc: crc32(packed, crc32(head)) };
  if (row.first_seq === 1) unpackLog(moved); // throws if the checksum no longer matches
  return moved;
}
