import type { Database } from "better-sqlite3";
import type { GapRecord, Placed } from "../../domain/record.ts";
import type { RefusedRecords } from "../../domain/status.ts";
import type { EpochMs, Seq, StreamId } from "../../domain/units.ts";
import type { Refusal } from "../port.ts";

/** Maximum number of refused records kept per stream. If there are more, the newest ones show the fault. */
const MOST_KEPT = 10_000;
/** Maximum length of a reason, which is text from the service. */
const REASON_CHARACTERS = 200;

export type DeadLetters = ReturnType<typeof createDeadLetters>;

/** The dead letters: records that the service will never accept. Each call may be made alone or inside the caller's transaction. */
export function createDeadLetters(db: Database) {
  const add = db.prepare<[Record<string, string | number>]>(
    `INSERT OR IGNORE INTO dead_letter (stream_id, seq, at, reason, record, declared, sum)
     VALUES (@stream, @seq, @at, @reason, @record, @declared, row_sum(@stream, @seq, @at, @reason, @record, @declared))`,
  );
  const thin = db.prepare<[{ stream: string; most: number }]>(
    `DELETE FROM dead_letter WHERE stream_id = @stream AND declared = 1 AND seq <= ifnull(
       (SELECT seq FROM dead_letter WHERE stream_id = @stream ORDER BY seq DESC LIMIT 1 OFFSET @most), 0)`,
  );
  const count = db.prepare<[string], { count: number }>(
    "SELECT count(*) AS count FROM dead_letter WHERE stream_id = ?",
  );
  const newest = db.prepare<[string], { seq: number; at: number; reason: string }>(
    "SELECT seq, at, reason FROM dead_letter WHERE stream_id = ? ORDER BY seq DESC LIMIT 1",
  );
  const waiting = db.prepare<[string], { seq: number; reason: string }>(
    "SELECT seq, reason FROM dead_letter WHERE stream_id = ? AND declared = 0 ORDER BY seq",
  );
  const declare = db.prepare<[string]>(
    `UPDATE dead_letter SET declared = 1, sum = row_sum(stream_id, seq, at, reason, record, 1)
     WHERE stream_id = ? AND declared = 0`,
  );
  return {
    /** Adds refused records. `recordAt` returns the stream's first record from a seq on. Records added earlier stay unchanged. */
    add(
      stream: StreamId,
      refusals: readonly Refusal[],
      { at, recordAt }: { readonly at: EpochMs; readonly recordAt: (seq: Seq) => Placed | undefined },
    ) {
      for (const { seq, reason, declare: mustDeclare } of refusals) {
        const record = recordAt(seq);
        const body = JSON.stringify(record?.seq === seq ? record : null);
        const text = reason.slice(0, REASON_CHARACTERS);
        add.run({ stream, seq, at, reason: text, record: body, declared: mustDeclare ? 0 : 1 });
      }
      thin.run({ stream, most: MOST_KEPT });
    },
    all: (stream: StreamId): RefusedRecords => ({
      count: count.get(stream)?.count ?? 0,
      newest: newest.get(stream) ?? null,
    }),
    /** Returns the refused records that no gap record has reported yet. */
    undeclared: (stream: StreamId): readonly GapRecord["value"][] =>
      waiting
        .all(stream)
        .map(({ seq, reason }) => ({ from: seq, to: seq, reason: `refused by the service: ${reason}` })),
    declare: (stream: StreamId) => void declare.run(stream),
  };
}
