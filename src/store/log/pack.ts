import type { Quality } from "../../domain/booth.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import { byteSink, byteSource, type ByteSink, type ByteSource } from "./bytes.ts";
import type { Span } from "./missing.ts";
import {
  codeOf,
  passValue,
  putValue,
  takeValue,
  wayFor,
  wayOf,
  type Last,
  type ValueSource,
  type Way,
} from "./columns.ts";
import { constants, deflateRawSync, inflateRawSync } from "node:zlib";

/** The first byte of what is packed: its format, and whether a gap record is in it. */
const PLAIN = 1;
const WITH_GAPS = 2;

const QUALITIES: readonly Quality[] = ["good", "uncertain", "bad"];

/** Where a row begins, from which its records are told. */
export interface Start {
  readonly first_seq: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
}

/** A kind and tag among the records of a row, with how its values are written. */
interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly way: Way;
  readonly last: Last;
}

/**
 * Packs records of one boot and one clock offset, in seq order: a list of kinds and tags, then column by column what is new
 * of each record against the one before, each column deflated by itself since each has its own odds. Instants must be whole
 * numbers of ms.
 */
export function packRecords(start: Start, records: readonly Placed<LogRecord>[]): Buffer {
  const series = seriesOf(records);
  const groups = groupsOf(records);
  const usual = usualStep(groups);
  const [monos, sizes, steps, odd] = [byteSink(), byteSink(), byteSink(), byteSink()];
  const sources = sourcesOf(records);
  const values = { numbers: byteSink(), texts: [] as unknown[] };
  let [seq, own, mono, off, at] = [start.first_seq - 1, 0, start.mono0, 0, 0];
  for (const group of groups) {
    monos.signed(group[0].mono - mono - usual);
    sizes.number(group.length);
    mono = group[0].mono;
    for (const record of group) {
      const next = series.indexOf.get(keyOf(record)) ?? 0;
      const one = series.list[next];
      if (one !== undefined) putValue(values, one, record);
      steps.number((next - own + series.list.length) % series.list.length);
      own = next;
      const isOdd = record.seq !== seq + 1 || record.quality !== "good" || offOf(record) !== off;
      if (isOdd) {
        odd.number(at);
        odd.number(record.seq - seq - 1);
        odd.number(QUALITIES.indexOf(record.quality));
        odd.signed(offOf(record) - off);
      }
      [seq, off, at] = [record.seq, offOf(record), at + 1];
    }
  }
  const names = series.list.map(({ kind, tag, way }) => [kind, tag, codeOf(way)] as const);
  const head = Buffer.from(JSON.stringify([records.length, usual, names, values.texts] satisfies Head));
  const out = byteSink();
  out.block(deflated(head));
  for (const column of [monos, sizes, steps, values.numbers, odd, sources]) out.block(deflated(column.bytes()));
  return Buffer.concat([Buffer.of(records.some(({ kind }) => kind === "g") ? WITH_GAPS : PLAIN), out.bytes()]);
}

/** Whether records of a kind and tag are wanted. */
export type Wanted = (kind: string, tag: string) => boolean;

const ALL: Wanted = () => true;

/** What was packed, as far as it is wanted. Throws where the bytes are none that packRecords made. */
export function unpackRecords(
  { first_seq, boot, mono0, t0 }: Start,
  packed: Buffer,
  isWanted = ALL,
): Placed<LogRecord>[] {
  const all = byteSource(packed.subarray(1));
  const column = (): Buffer => inflated(all.block());
  const [count, usual, names, texts] = JSON.parse(column().toString()) as Head;
  const series = names.map(([kind, tag, code]) => {
    const one: Series = { kind, tag, way: wayOf(code), last: [0, 0, 0] };
    return { ...one, wanted: isWanted(kind, tag) };
  });
  if (!series.some(({ wanted }) => wanted)) return [];
  const [monos, sizes, steps, numbers] = [column(), column(), column(), column()].map(byteSource) as Columns;
  const odd = oddOnes(column());
  const source = sourceTaker(column());
  const values: ValueSource = { numbers, texts: texts[Symbol.iterator]() };
  const records: Placed<LogRecord>[] = [];
  let [seq, own, mono, off] = [first_seq - 1, 0, mono0, 0];
  for (let [index, left] = [0, 0]; index < count; index += 1, left -= 1) {
    if (left === 0) {
      mono += usual + monos.signed();
      left = sizes.number();
    }
    own = (own + steps.number()) % series.length;
    const one = series[own];
    if (one === undefined) throw new RangeError("no such series");
    const special = odd.size === 0 ? undefined : odd.get(index);
    seq += 1 + (special?.skipped ?? 0);
    off += special?.off ?? 0;
    const { kind, tag } = one;
    const time = t0 + mono - mono0;
    const told = source(time);
    if (!one.wanted) {
      passValue(values, one);
      continue;
    }
    const value = takeValue(values, one, { tag, mono });
    const quality = special?.quality ?? "good";
    const record = { kind, seq, boot, mono, at: time + off, tag, value, ...told, quality, time };
    // Packed from a LogRecord: its shape is the one that went in.
    records.push(record as Placed<LogRecord>);
  }
  return records;
}

/** Columns of a row that stand before its odd records: instants, sizes of groups, steps, numbers. */
const COLUMNS_BEFORE_ODD = 4;

/** The seqs of what was packed, as runs; nothing else of it is unpacked. Throws as unpackRecords does. */
export function packedSeqs({ first_seq }: Pick<Start, "first_seq">, packed: Buffer): Span[] {
  const all = byteSource(packed.subarray(1));
  const [count] = JSON.parse(inflated(all.block()).toString()) as Head;
  for (let column = 0; column < COLUMNS_BEFORE_ODD; column += 1) all.block();
  const runs: Span[] = [];
  let [from, at] = [first_seq, 0];
  for (const [index, { skipped }] of oddOnes(inflated(all.block()))) {
    if (skipped === 0) continue;
    const end = from + index - at;
    if (index > at) runs.push([from, end - 1]);
    [from, at] = [end + skipped, index];
  }
  runs.push([from, from + count - at - 1]);
  return runs;
}

/** The kinds of the records that were packed, without unpacking them; null where the bytes are damaged. */
export function kindsIn(packed: Buffer): readonly string[] | null {
  try {
    const head = inflated(byteSource(packed.subarray(1)).block());
    const [, , names] = JSON.parse(head.toString()) as Head;
    return names.map(([kind]) => kind);
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

type Head = readonly [
  count: number,
  usual: number,
  names: readonly (readonly [kind: string, tag: string, code: number])[],
  texts: readonly unknown[],
];
type Columns = [ByteSource, ByteSource, ByteSource, ByteSource];

/** The step from one poll to the next that is seen most often. */
function usualStep(groups: readonly Group[]): number {
  const seen = new Map<number, number>();
  let best = 0;
  groups.forEach(([{ mono }], index) => {
    const step = mono - (groups[index - 1]?.[0].mono ?? mono);
    const count = (seen.get(step) ?? 0) + 1;
    seen.set(step, count);
    if (count > (seen.get(best) ?? 0)) best = step;
  });
  return best;
}

interface Odd {
  readonly skipped: number;
  readonly quality: Quality;
  /** By how much the wall clock's distance from the corrected time changes. */
  readonly off: number;
}

/** Records that don't follow on the one before in seq, since facts took some, whose quality isn't good, or whose clock moved. */
function oddOnes(block: Buffer): Map<number, Odd> {
  const found = new Map<number, Odd>();
  const source: ByteSource = byteSource(block);
  for (let left = block.length; left > 0;) {
    const index = source.number();
    const skipped = source.number();
    const quality = QUALITIES[source.number()] ?? "good";
    found.set(index, { skipped, quality, off: source.signed() });
    left = block.length - source.at();
  }
  return found;
}

/** When the device says it was so: a reading's alone, and of some drivers alone. */
export function sourceOf(record: object): number | undefined {
  return "source_at" in record ? (record.source_at as number | undefined) : undefined;
}

/** One number for each record, told from the one before, where any has a source's time at all. */
function sourcesOf(records: readonly Placed<LogRecord>[]): ByteSink {
  const sink = byteSink();
  if (records.every((record) => sourceOf(record) === undefined)) return sink;
  let last = 0;
  for (const record of records) {
    const source = sourceOf(record);
    sink.number(source === undefined ? 0 : 1);
    if (source === undefined) continue;
    sink.signed(source - record.time - last);
    last = source - record.time;
  }
  return sink;
}

const NO_SOURCE: { readonly source_at?: number } = {};

function sourceTaker(column: Buffer): (time: number) => { readonly source_at?: number } {
  if (column.length === 0) return () => NO_SOURCE;
  const source = byteSource(column);
  let last = 0;
  return (time) => {
    if (source.number() === 0) return NO_SOURCE;
    last += source.signed();
    return { source_at: time + last };
  };
}

type Group = readonly [Placed<LogRecord>, ...Placed<LogRecord>[]];

/** Neighbours of one instant, which are mostly those of one poll. */
function groupsOf(records: readonly Placed<LogRecord>[]): Group[] {
  const groups: [Placed<LogRecord>, ...Placed<LogRecord>[]][] = [];
  for (const record of records) {
    const last = groups.at(-1);
    if (last?.[0].mono === record.mono) last.push(record);
    else groups.push([record]);
  }
  return groups;
}

function offOf({ at, time }: Placed<LogRecord>): number {
  return at - time;
}

function keyOf({ kind, tag }: Placed<LogRecord>): string {
  return `${kind} ${tag}`;
}

/** Those that follow on each other in a poll stand in that order, so that the steps from one to the next are small. */
function seriesOf(records: readonly Placed<LogRecord>[]): { list: Series[]; indexOf: Map<string, number> } {
  const byKey = new Map<string, Placed<LogRecord>[]>();
  const order: string[] = [];
  let before: Placed<LogRecord> | undefined;
  for (const record of records) {
    const key = keyOf(record);
    const known = byKey.get(key);
    if (known !== undefined) known.push(record);
    else {
      byKey.set(key, [record]);
      order.splice(before?.mono === record.mono ? order.indexOf(keyOf(before)) + 1 : 0, 0, key);
    }
    before = record;
  }
  const list = order.map((key): Series => {
    const own = byKey.get(key) ?? [];
    const { kind, tag } = own[0] ?? { kind: "r", tag: "" };
    return { kind, tag, way: wayFor(kind, own), last: [0, 0, 0] };
  });
  return { list, indexOf: new Map(order.map((key, index) => [key, index])) };
}

/** Much more than any row holds: what a damaged length may not exceed. */
const LARGEST_BYTES = 64_000_000;

/** Long columns of small numbers are shorter without a search for repeats, texts and constant ones with it. */
export function deflated(column: Buffer): Buffer {
  const searched = deflateRawSync(column, DEFLATE);
  if (column.length < TRIED_TWICE_BYTES) return searched;
  const plain = deflateRawSync(column, { ...DEFLATE, strategy: constants.Z_HUFFMAN_ONLY });
  return plain.length < searched.length ? plain : searched;
}

/** Most columns are short, and Node's own 16 KB of room for each would be most of the work. */
export function inflated(block: Buffer): Buffer {
  return inflateRawSync(block, {
    maxOutputLength: LARGEST_BYTES,
    chunkSize: Math.max(LEAST_ROOM_BYTES, 4 * block.length),
  });
}

const LEAST_ROOM_BYTES = 256;

/** Small tables: making them is most of what a short column costs. */
const DEFLATE = { level: 9, windowBits: 12, memLevel: 5 };
const TRIED_TWICE_BYTES = 512;
