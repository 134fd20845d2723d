import { ANY_NUMBER, type Db, row, rows, run } from "../storage/db.ts";
import { takeApart } from "./records.ts";
import type { StreamRow } from "./streams.ts";
import { HOUR_MS } from "../../../src/domain/time.ts";

/** A clock record with a confirmed time; `boot` is the number of the boot's name. */
interface Word {
  readonly seq: number;
  readonly boot: number;
  readonly mono: number;
  readonly wall: number;
}

/** From `mono` of a boot up to the next word of it. `floor`: time doesn't run back behind that. */
interface Stretch {
  readonly boot: number;
  readonly from: number;
  readonly to: number;
  /** Time minus mono; null: the offset continues from the records before. */
  readonly offset: number | null;
  readonly floor: number;
}

/** Remembers what a clock record says. `boot`: the name's number. */
export function noteWord(
  db: Db,
  stream: StreamRow,
  { seq, mono, value, boot }: { seq: number; mono: number; value: string; boot: number },
): void {
  const wall = wordOf(value);
  if (wall === undefined) return;
  const sql = `INSERT INTO clock_words (stream_no, seq, boot, mono, wall) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (stream_no, seq) DO UPDATE SET boot = excluded.boot, mono = excluded.mono, wall = excluded.wall`;
  run(db, sql, stream.id, seq, boot, mono, wall);
}

/** The time that a clock record vouches for; undefined: for none. */
export function wordOf(value: string): number | undefined {
  const { wall, state, witness } = JSON.parse(value) as { wall: number; state: string; witness?: string };
  return state === "synced" || (state === "stepped" && witness !== undefined) ? wall : undefined;
}

/**
 * Corrects the times of a stream's records by later clock records: mono advances evenly within a boot, so a record
 * with a wrong time can be placed again. Contents stay unchanged. Costs one small query for a stream whose clock was
 * never put back by more than an hour.
 */
export function placeByWords(db: Db, stream: StreamRow): void {
  const words = rows<Word>(
    db,
    `SELECT seq, boot, mono, wall FROM clock_words WHERE stream_no = ${ANY_NUMBER} ORDER BY seq`,
    stream.id,
  );
  const wrong = wrongWords(words);
  if (wrong.size === 0) return;
  if (db.engine === "postgres") run(db, "UPDATE streams SET has_wrong_words = true WHERE id = ?", stream.id);
  for (const stretch of stretchesOf(words, wrong)) move(db, stream, stretch);
}

/** The last word of a boot holds for all of it, and the first right one of a boot for those before, which were over by then. */
function wrongWords(words: readonly Word[]): ReadonlySet<Word> {
  const wrong = new Set<Word>();
  let end = Infinity;
  let boot = -1;
  let last: Word | null = null;
  for (const word of words.toReversed()) {
    if (word.boot !== boot) last = null;
    boot = word.boot;
    const isLate = word.wall > end + HOUR_MS;
    const isAhead = last !== null && word.wall - word.mono > last.wall - last.mono + HOUR_MS;
    if (isLate || isAhead) {
      wrong.add(word);
      continue;
    }
    last ??= word;
    end = Math.min(end, word.wall);
  }
  return wrong;
}

/** Each word's stretch, in order, from the first wrong one on. */
function stretchesOf(words: readonly Word[], wrong: ReadonlySet<Word>): Stretch[] {
  const first = words.findIndex((word) => wrong.has(word));
  return words.slice(first).map((word) => {
    const own = words.filter(({ boot }) => boot === word.boot);
    const at = own.indexOf(word);
    const right = own.slice(0, at).findLast((one) => !wrong.has(one));
    const by = own.slice(at).find((one) => !wrong.has(one)) ?? right;
    return {
      boot: word.boot,
      from: at === 0 ? -Infinity : word.mono,
      to: own[at + 1]?.mono ?? Infinity,
      offset: by === undefined ? null : by.wall - by.mono,
      floor: right === undefined ? -Infinity : word.mono + right.wall - right.mono,
    };
  });
}

const OF = "gateway_id = ? AND stream_no = ?";

/** Up to when a row tells of anything: a coverage in which a poll was answered reaches beyond its beginning. */
const END_OF_ROW = {
  sqlite:
    "CASE WHEN kind = 'h' AND value ->> 'polls' > 0 THEN time + (value ->> 'to') - (value ->> 'from') ELSE time END",
  postgres: `CASE WHEN kind = 'h' AND (value::json ->> 'polls')::float8 > 0
    THEN time + (value::json ->> 'to')::float8 - (value::json ->> 'from')::float8 ELSE time END`,
};

function move(db: Db, stream: StreamRow, { boot, from, to, offset, floor }: Stretch): void {
  const by = offset ?? goesOn(db, stream, boot) ?? 0;
  // Leaves records unchanged that are right already, or whose time stood still because the clock was slightly fast.
  const sql = `UPDATE records SET time = CASE WHEN mono + ? > ? THEN mono + ? ELSE ? END WHERE ${OF} AND boot = ? AND mono >= ? AND mono < ?
    AND time > mono + ? + ${HOUR_MS}`;
  const bounds = [Math.max(from, -Number.MAX_VALUE), Math.min(to, Number.MAX_VALUE)] as const;
  const packed = `SELECT from_seq, to_seq FROM segments WHERE stream_no = ? AND boot = ? AND last_mono >= ? AND first_mono < ?
    AND offset_ms > ?`;
  const segments = rows<{ from_seq: number; to_seq: number }>(db, packed, stream.id, boot, ...bounds, by + HOUR_MS);
  for (const { from_seq, to_seq } of segments) takeApart(db, stream, [from_seq, to_seq]);
  const least = Math.max(floor, -Number.MAX_VALUE);
  run(db, sql, by, least, by, least, stream.gateway_id, stream.id, boot, ...bounds, by);
}

/** Returns the place of a boot whose time was never confirmed: after all records before it. */
function goesOn(db: Db, stream: StreamRow, boot: number): number | undefined {
  const begin = row<{ seq: number; mono: number }>(
    db,
    `SELECT seq, mono FROM (SELECT seq, mono FROM records WHERE ${OF} AND boot = ? ORDER BY seq LIMIT 1) AS rows_of
     UNION ALL SELECT seq, mono FROM (SELECT from_seq AS seq, first_mono AS mono FROM segments WHERE stream_no = ? AND boot = ? ORDER BY from_seq LIMIT 1) AS segments_of
     ORDER BY seq LIMIT 1`,
    ...[stream.gateway_id, stream.id, boot, stream.id, boot],
  );
  if (begin === undefined) return undefined;
  const known = row<{ time: number | null }>(
    db,
    `SELECT max(time) AS time FROM (
       SELECT max(${END_OF_ROW[db.engine]}) AS time
       FROM records WHERE ${OF} AND seq < ? AND kind IN ('r', 'h', 't', 'p', 'e', 'f', 'x', 'g')
       UNION ALL SELECT max(end_mono + offset_ms) FROM segments WHERE stream_no = ? AND from_seq < ?) AS known`,
    ...[stream.gateway_id, stream.id, begin.seq, stream.id, begin.seq],
  );
  return known === undefined || known.time === null ? undefined : known.time - begin.mono;
}
