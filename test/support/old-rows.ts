/** Stores as they were before a row was a chunk: the rows of format 1 that src/store/log/format-1.ts still reads, written by code of the tests' own. */
import Database from "better-sqlite3";
import { crc32 } from "node:zlib";
import type { Quality } from "../../src/domain/booth.ts";
import type { LogRecord, Placed } from "../../src/domain/record.ts";
import { byteSink, deflated, type Last, putValue, type Way, wayFor } from "../../src/store/log/columns.ts";
import type { Start } from "../../src/store/log/chunk.ts";
import { sourceOf } from "../../src/store/log/pack.ts";
import { type LogRow, unpackLog } from "../../src/store/log/rows.ts";
import { storePath } from "../../src/store/open.ts";

/** The first byte: whether a gap record is in it. */
const PLAIN = 1;
const WITH_GAPS = 2;
const QUALITIES: readonly Quality[] = ["good", "uncertain", "bad"];

type Row = Placed<LogRecord>;

interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly way: Way;
  readonly last: Last;
}

/** Records of one boot and one clock offset, column by column, each deflated by itself. */
export function packOldRow(start: Start, records: readonly Row[]): Buffer {
  const { list, indexOf } = seriesOf(records);
  const groups = groupsOf(records);
  const usual = usualStep(groups);
  const monos = byteSink();
  const sizes = byteSink();
  const steps = byteSink();
  const odd = byteSink();
  const values = { numbers: byteSink(), texts: [] as unknown[] };
  let seq = start.first_seq - 1;
  let own = 0;
  let mono = start.mono0;
  let off = 0;
  let at = 0;
  for (const group of groups) {
    const instant = group[0]?.mono ?? mono;
    monos.signed(instant - mono - usual);
    sizes.number(group.length);
    mono = instant;
    for (const record of group) {
      const next = indexOf.get(keyOf(record)) ?? 0;
      const one = list[next];
      if (one !== undefined) putValue(values, one, record);
      steps.number((next - own + list.length) % list.length);
      own = next;
      const its = record.at - record.time;
      if (record.seq !== seq + 1 || record.quality !== "good" || its !== off) {
        odd.number(at);
        odd.number(record.seq - seq - 1);
        odd.number(QUALITIES.indexOf(record.quality));
        odd.signed(its - off);
      }
      [seq, off, at] = [record.seq, its, at + 1];
    }
  }
  const names = list.map(({ kind, tag, way }) => [kind, tag, way]);
  const out = byteSink();
  out.block(deflated(Buffer.from(JSON.stringify([records.length, usual, names, values.texts]))));
  for (const column of [monos, sizes, steps, values.numbers, odd]) out.block(deflated(column.bytes()));
  out.block(deflated(sourcesOf(records)));
  return Buffer.concat([Buffer.of(records.some(({ kind }) => kind === "g") ? WITH_GAPS : PLAIN), out.bytes()]);
}

function keyOf({ kind, tag }: Row): string {
  return `${kind} ${tag}`;
}

/** Neighbours of one instant. */
function groupsOf(records: readonly Row[]): Row[][] {
  const groups: Row[][] = [];
  for (const record of records) {
    const last = groups.at(-1);
    if (last?.[0]?.mono === record.mono) last.push(record);
    else groups.push([record]);
  }
  return groups;
}

/** The step that is seen most often. */
function usualStep(groups: readonly Row[][]): number {
  const seen = new Map<number, number>();
  let best = 0;
  groups.forEach(([first], index) => {
    const mono = first?.mono ?? 0;
    const step = mono - (groups[index - 1]?.[0]?.mono ?? mono);
    const count = (seen.get(step) ?? 0) + 1;
    seen.set(step, count);
    if (count > (seen.get(best) ?? 0)) best = step;
  });
  return best;
}

function seriesOf(records: readonly Row[]): { list: Series[]; indexOf: Map<string, number> } {
  const byKey = Map.groupBy(records, keyOf);
  const list = [...byKey.values()].map((own): Series => {
    const { kind, tag } = own[0] ?? { kind: "r", tag: "" };
    return { kind, tag, way: wayFor(kind, own), last: [0, 0, 0] };
  });
  return { list, indexOf: new Map([...byKey.keys()].map((key, index) => [key, index])) };
}

/** The device's own times; nothing where no record has one. */
function sourcesOf(records: readonly Row[]): Buffer {
  const sink = byteSink();
  if (records.every((record) => sourceOf(record) === undefined)) return sink.bytes();
  let last = 0;
  for (const record of records) {
    const source = sourceOf(record);
    sink.number(source === undefined ? 0 : 1);
    if (source === undefined) continue;
    sink.signed(source - record.time - last);
    last = source - record.time;
  }
  return sink.bytes();
}

/** The store of a gateway that doesn't run, as the agent of before would have left it; answers how many rows that are. Damaged rows stay as they are. */
export function makeOld(folder: string): number {
  const db = new Database(storePath(folder));
  try {
    const rows = db.prepare<[], LogRow>("SELECT * FROM log ORDER BY stream_id, first_seq").all();
    const put = db.prepare("UPDATE log SET packed = ?, crc = ? WHERE stream_id = ? AND first_seq = ?");
    return db.transaction(() => rows.reduce((made, row) => made + (makeRowOld(row, put) ? 1 : 0), 0))();
  } finally {
    db.close();
  }
}

function makeRowOld(row: LogRow, put: Database.Statement): boolean {
  let records: Row[];
  try {
    records = unpackLog(row);
  } catch {
    // A bit turned over in it: it would have done so in a row of before.
    return false;
  }
  const packed = packOldRow(row, records);
  const { stream_id, first_seq, last_seq, boot, mono0, t0, placed, whole } = row;
  const cells = JSON.stringify([stream_id, first_seq, last_seq, boot, mono0, t0, placed, whole]);
  put.run(packed, crc32(packed, crc32(cells)), stream_id, first_seq);
  return true;
}
