import type { Database } from "better-sqlite3";
import { crc32 } from "node:zlib";
import { KIND, type Fact, type LogRecord, type Placed } from "../../domain/record.ts";
import type { DeriveState } from "../../derivation/state.ts";
import { HOUR_MS } from "../../domain/time.ts";
import type { EpochMs } from "../../domain/units.ts";
import { savedState } from "../facts/fold.ts";
import type { Span } from "./missing.ts";
import { CHUNK_VERSION, chunkSeqs, unpackChunk, type Wanted } from "./chunk.ts";
import { packChunk, sourceOf } from "./pack.ts";

/** A row of table log: the records of one commit, or a chunk of many commits. All have the same boot and clock offset. */
export interface LogRow {
  readonly stream_id: string;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
  readonly crc: number;
  /** 0: the boot waits for a clock sync, and `t0` is provisional. */
  readonly placed: number;
  /** The kind of checksum; 1: over the whole row. */
  readonly whole: number;
  readonly packed: Buffer;
}

/** A row of table fact. */
export interface FactRow {
  readonly stream_id: string;
  readonly seq: number;
  readonly kind: string;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly time: number;
  readonly crc: number;
  readonly body: string;
  /** Version of the definitions that made the fact. */
  readonly version: number;
  /** 1: a rebuild has replaced the fact. */
  readonly replaced: number;
  /** Seq of the stream's previous fact; 0: this is the first fact. */
  readonly prev: number;
  /** The kind of checksum; 2: over the whole row. */
  readonly whole: number;
}

/** A row of table state. */
export interface StateRow {
  readonly stream_id: string;
  readonly seq: number;
  readonly crc: number;
  readonly body: string;
  readonly whole: number;
}

/** An error: a row's checksum doesn't match its content, because of bit rot or a torn write. */
class DamagedRow extends Error {}

/** Packs records into a row. All must have the same boot and the same offset (time - mono). */
export function packLog(stream: string, records: readonly Placed<LogRecord>[], placed: boolean): LogRow {
  const first = records[0];
  const last = records.at(-1);
  if (first === undefined || last === undefined) throw new Error("a log row holds at least one record");
  const start = { first_seq: first.seq, boot: first.boot, mono0: first.mono, t0: first.time };
  const row = { stream_id: stream, ...start, last_seq: last.seq, placed: placed ? 1 : 0, whole: 1 };
  const isWhole = records.every(({ mono, at, time, ...more }) =>
    [mono, at, time, sourceOf(more) ?? 0].every(Number.isSafeInteger),
  );
  // Rejects a fraction of a millisecond, which would be lost, so that another instant would be read back.
  if (!isWhole) throw new RangeError("an instant in the log is a whole number of ms: a clock or a driver gave another");
  const packed = packChunk(start, records);
  return { ...row, packed, crc: crcOfLog({ ...row, packed }) };
}

/** Returns the checksum. Returns NaN, which never matches, if a flipped bit has changed the type of the body. */
function crcOf(body: unknown, start: number): number {
  return typeof body === "string" || body instanceof Uint8Array ? crc32(body, start) : NaN;
}

function crcOfLog(row: Omit<LogRow, "crc">): number {
  const { stream_id, first_seq, last_seq, boot, mono0, t0, placed, whole } = row;
  return crcOf(row.packed, crc32(JSON.stringify([stream_id, first_seq, last_seq, boot, mono0, t0, placed, whole])));
}

function crcOfFact(row: Omit<FactRow, "crc">): number {
  const { stream_id, seq, kind, start_ms, end_ms, time, whole, version, replaced, prev } = row;
  const cells = [stream_id, seq, kind, start_ms, end_ms, time, whole, version, replaced, prev];
  return crcOf(row.body, crc32(JSON.stringify(cells)));
}

/** Returns the row with another version, replaced mark or time, and a new checksum. Throws DamagedRow if the present checksum is wrong. */
export function changedFact(row: FactRow, change: Partial<Pick<FactRow, "version" | "replaced" | "time">>): FactRow {
  unpackFact(row);
  const changed = { ...row, ...change };
  return { ...changed, crc: crcOfFact(changed) };
}

function crcOfState({ stream_id, seq, body, whole }: Omit<StateRow, "crc">): number {
  return crcOf(body, crc32(JSON.stringify([stream_id, seq, whole])));
}

/** Unpacks the wanted records of a row, by default all. Throws DamagedRow if the row's checksum is wrong. */
export function unpackLog(row: LogRow, isWanted: Wanted = () => true): Placed<LogRecord>[] {
  mustFit(row);
  return unpackChunk(row, row.packed, isWanted);
}

/** Returns the seqs in a row as ranges, without unpacking the records. Throws DamagedRow if the row's checksum is wrong. */
export function seqsOfLog(row: LogRow): readonly Span[] {
  mustFit(row);
  return chunkSeqs(row.first_seq, row.packed);
}

function mustFit(row: LogRow): void {
  if (crcOfLog(row) !== row.crc) throw new DamagedRow(`log row ${row.first_seq} doesn't fit its checksum`);
  if (row.packed[0] !== CHUNK_VERSION) throw new DamagedRow(`log row ${row.first_seq} has an unknown format`);
}

/**
 * Returns the start and end under which queries by time window find a fact, rounded outwards to whole milliseconds as the table requires.
 * Replaces an invalid instant by the fact's time, because a single odd value must not block all commits of the booth.
 */
export function spanOf(fact: Fact & { readonly time: EpochMs }): readonly [EpochMs, EpochMs] {
  const [start, end] = exactSpanOf(fact);
  const wholeOf = (instant: EpochMs): EpochMs => (Number.isSafeInteger(instant) ? instant : fact.time);
  return [wholeOf(Math.floor(start)), wholeOf(Math.ceil(end))];
}

function exactSpanOf(fact: Fact): readonly [EpochMs, EpochMs] {
  switch (fact.kind) {
    case KIND.stage:
    case KIND.cycle:
    case KIND.filterDay:
    case KIND.bake:
      return [fact.value.start, fact.value.end];
    case KIND.hour:
      return [fact.value.hour, fact.value.hour + HOUR_MS];
    case KIND.revision:
      return [fact.value.first_seen_at, fact.value.first_seen_at];
    case KIND.filter:
    case KIND.label:
      return [fact.value.installed_at, fact.value.installed_at];
    case KIND.incident:
      return [fact.value.first_seen_at, fact.value.resolved_at ?? Number.MAX_SAFE_INTEGER];
  }
}

/** Packs a fact. `by`: the version of the definitions, and the seq of the stream's previous fact. */
export function packFact(
  stream: string,
  fact: Placed<Fact>,
  by: { readonly version: number; readonly prev: number },
): FactRow {
  const [start_ms, end_ms] = spanOf(fact);
  const body = JSON.stringify([fact.boot, fact.mono, fact.at, fact.tag, fact.value, fact.quality]);
  const { seq, kind, time } = fact;
  const { version, prev } = by;
  const row = { stream_id: stream, seq, kind, start_ms, end_ms, time, body, version, replaced: 0, prev, whole: 2 };
  return { ...row, crc: crcOfFact(row) };
}

/** Unpacks a fact. Throws DamagedRow if the row's checksum is wrong. */
export function unpackFact(row: FactRow): Placed<Fact> {
  if (crcOfFact(row) !== row.crc) throw new DamagedRow(`fact ${row.seq} doesn't fit its checksum`);
  const [boot, mono, at, tag, value, quality] = JSON.parse(row.body) as unknown[];
  // TypeScript can't see that the unpacked fields are those of a Fact.
  return { kind: row.kind, seq: row.seq, boot, mono, at, tag, value, quality, time: row.time } as Placed<Fact>;
}

/** Packs the fold's state after the record with that seq into a row. */
export function stateRow(stream: string, seq: number, state: DeriveState): StateRow {
  const row = { stream_id: stream, seq, body: JSON.stringify(state), whole: 1 };
  return { ...row, crc: crcOfState(row) };
}

export function isWholeState(row: StateRow): boolean {
  return crcOfState(row) === row.crc;
}

/** Returns the state in a row; undefined: the checksum is wrong, or another version saved the state. */
export function unpackState(row: StateRow): { readonly state: DeriveState; readonly seq: number } | undefined {
  const state = isWholeState(row) ? savedState(row.body) : undefined;
  return state && { state, seq: row.seq };
}

/** Returns the unpacked content of a row; undefined: the row is damaged. */
export function ifWhole<R, V>(unpack: (row: R) => V, row: R): V | undefined {
  try {
    return unpack(row);
  } catch (error) {
    if (error instanceof DamagedRow) return undefined;
    throw error;
  }
}

/** Splits records at each change of boot or clock offset, so that all times of a row follow from its first. */
export function runsOf(records: readonly Placed<LogRecord>[]): Placed<LogRecord>[][] {
  const runs: Placed<LogRecord>[][] = [];
  for (const record of records) {
    const run = runs.at(-1);
    const head = run?.[0];
    if (run !== undefined && head?.boot === record.boot && head.time - head.mono === record.time - record.mono) {
      run.push(record);
    } else {
      runs.push([record]);
    }
  }
  return runs;
}

/** Adds the SQL function row_sum(cell, ...), which returns the checksum over a row's cells. */
export function addRowSum(db: Database): void {
  db.function("row_sum", { deterministic: true, varargs: true }, (...cells: unknown[]) => rowSum(cells));
}

export function rowSum(cells: readonly unknown[]): number {
  return crc32(JSON.stringify(cells));
}
