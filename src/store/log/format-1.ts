import type { Quality } from "../../domain/booth.ts";
import type { LogRecord, Placed } from "../../domain/record.ts";
import type { Start, Wanted } from "./chunk.ts";
import {
  inflated,
  byteSource,
  type ByteSource,
  type Last,
  passValue,
  takeValue,
  type ValueSource,
  type Way,
} from "./columns.ts";
import type { Span } from "./missing.ts";

/**
 * Rows of before version 3, first byte 1, or 2 where a gap record is among them: record by record, each column deflated by
 * itself. They are read; nothing writes them any more.
 */

const QUALITIES: readonly Quality[] = ["good", "uncertain", "bad"];

/** What was packed, as far as it is wanted. Throws where the bytes are none that packRecords made. */
export function unpackRecords(
  { first_seq, boot, mono0, t0 }: Start,
  packed: Buffer,
  isWanted: Wanted,
): Placed<LogRecord>[] {
  const all = byteSource(packed.subarray(1));
  const column = (): Buffer => inflated(all.block());
  const [count, usual, names, texts] = JSON.parse(column().toString()) as Head;
  const series = names.map(([kind, tag, way]) => {
    return { kind, tag, way, last: [0, 0, 0] as Last, wanted: isWanted(kind, tag) };
  });
  if (!series.some(({ wanted }) => wanted)) return [];
  const next = (): ByteSource => byteSource(column());
  const monos = next();
  const sizes = next();
  const steps = next();
  const numbers = next();
  const odd = oddOnes(column());
  const source = sourceTaker(column());
  const values: ValueSource = { numbers, texts: texts[Symbol.iterator]() };
  const records: Placed<LogRecord>[] = [];
  let seq = first_seq - 1;
  let own = 0;
  let mono = mono0;
  let off = 0;
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
  let from = first_seq;
  let at = 0;
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
  names: readonly (readonly [kind: string, tag: string, way: Way])[],
  texts: readonly unknown[],
];

interface Odd {
  readonly skipped: number;
  readonly quality: Quality;
  /** By how much the wall clock's distance from the corrected time changes. */
  readonly off: number;
}

/** Records that don't follow on the one before in seq, since facts took some, whose quality isn't good, or whose clock moved. */
function oddOnes(block: Buffer): Map<number, Odd> {
  const found = new Map<number, Odd>();
  const source = byteSource(block);
  while (source.at() < block.length) {
    const index = source.number();
    const skipped = source.number();
    const quality = QUALITIES[source.number()] ?? "good";
    found.set(index, { skipped, quality, off: source.signed() });
  }
  return found;
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
