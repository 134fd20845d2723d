import type { LogRecord, Placed } from "../../domain/record.ts";
import { CHUNK_VERSION, HAS_CONTEXT, HAS_GAP, QUALITIES, type Start } from "./chunk.ts";
import { byteSink, deflated, deflatedParts, type Last, putValue, TEXT, type Way, wayFor } from "./columns.ts";

/** A kind and tag among the records. */
interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly records: Placed<LogRecord>[];
  /** Those that stood right behind it in a poll. */
  readonly followers: Set<Series>;
  /** Where it stands among the others. */
  place: number;
  /** The number of the poll that each of its records belongs to, ascending. */
  readonly polls: number[];
}

/** Packs records of one boot and one clock offset, in seq order. Instants must be whole numbers of ms. */
export function packChunk(start: Start, records: readonly Placed<LogRecord>[]): Buffer {
  const owners = ownersOf(records);
  const series = ordered(owners);
  const ways = series.map(({ kind, records: own }) => wayFor(kind, own));
  const values = series.map(({ records: own }, index) => valuesOf(ways[index] ?? TEXT, own));
  const times = pollTimes(start, pollsOf(records, owners));
  const list = byteSink();
  list.number(series.length);
  for (const [index, { kind, tag, records: own }] of series.entries()) {
    list.number(kind.charCodeAt(0));
    list.block(Buffer.from(tag));
    list.number(ways[index] ?? TEXT);
    list.number(own.length);
    list.number(values[index]?.length ?? 0);
  }
  const numbers = byteSink();
  for (const { polls } of series) gaps(polls, (gap) => numbers.number(gap));
  const a = deflatedParts([list.bytes(), times, numbers.bytes()]);
  const b = deflated(Buffer.concat([...values, qualitiesOf(series)]));
  const head = byteSink();
  head.number(records.length);
  const runs = runsOf(start, records);
  head.number(runs.length);
  for (const [skipped, length] of runs) {
    head.number(skipped);
    head.number(length);
  }
  head.number(a.length);
  head.number(b.length);
  return Buffer.concat([Buffer.of(CHUNK_VERSION, flagsOf(series)), head.bytes(), a, b, localOf(records)]);
}

function flagsOf(series: readonly Series[]): number {
  const has = (...kinds: string[]): boolean => series.some(({ kind }) => kinds.includes(kind));
  return (has("g") ? HAS_GAP : 0) + (has("p", "t") ? HAS_CONTEXT : 0);
}

/** How many seqs are left out before each run of them, and its length. */
function runsOf({ first_seq }: Start, records: readonly Placed<LogRecord>[]): [skipped: number, length: number][] {
  const runs: [skipped: number, length: number][] = [];
  let next = first_seq;
  for (const { seq } of records) {
    const last = runs.at(-1);
    if (last !== undefined && seq === next) last[1] += 1;
    else runs.push([seq - next, 1]);
    next = seq + 1;
  }
  return runs;
}

/** Each record's series. */
function ownersOf(records: readonly Placed<LogRecord>[]): Series[] {
  // A tag is read, and a group covered, under its name: few kinds share one.
  const byTag = new Map<string, Series[]>();
  let before: { readonly mono: number; readonly own: Series } | undefined;
  return records.map((record) => {
    const { kind, tag, mono } = record;
    const sharing = byTag.get(tag) ?? [];
    let own = sharing.find((one) => one.kind === kind);
    if (own === undefined) {
      own = { kind, tag, records: [], followers: new Set(), place: 0, polls: [] };
      if (sharing.push(own) === 1) byTag.set(tag, sharing);
    }
    own.records.push(record);
    if (before?.mono === mono && before.own !== own) before.own.followers.add(own);
    before = { mono, own };
    return own;
  });
}

/**
 * The series in the order in which they stand in the polls, so that a poll's records ascend: each further run of them costs bytes. Each
 * before its followers; where they go round in a circle, from the first on.
 */
function ordered(owners: readonly Series[]): readonly Series[] {
  const waitsFor = new Map([...new Set(owners)].map((series) => [series, 0]));
  for (const { followers } of waitsFor.keys())
    for (const follower of followers) waitsFor.set(follower, (waitsFor.get(follower) ?? 0) + 1);
  const order = new Set<Series>();
  const put = (series: Series): void => {
    if (order.has(series)) return;
    series.place = order.size;
    order.add(series);
    for (const follower of series.followers) {
      const left = (waitsFor.get(follower) ?? 0) - 1;
      waitsFor.set(follower, left);
      if (left === 0) put(follower);
    }
  };
  const first = [...waitsFor].filter(([, count]) => count === 0);
  for (const [series] of first) put(series);
  for (const series of waitsFor.keys()) put(series);
  return [...order];
}

/** The instants of the polls: a poll is a run of records of one instant in ascending series. Notes each record's poll in its series. */
function pollsOf(records: readonly Placed<LogRecord>[], owners: readonly Series[]): number[] {
  const monos: number[] = [];
  let last = Infinity;
  for (const [index, { mono }] of records.entries()) {
    const own = owners[index];
    if (own === undefined) continue;
    if (mono !== monos.at(-1) || own.place <= last) monos.push(mono);
    own.polls.push(monos.length - 1);
    last = own.place;
  }
  return monos;
}

/** The usual step, and by how much each one differs from it. */
function pollTimes({ mono0 }: Start, monos: readonly number[]): Buffer {
  const steps = monos.map((mono, index) => mono - (monos[index - 1] ?? mono0));
  const counts = new Map<number, number>();
  for (const step of steps) counts.set(step, (counts.get(step) ?? 0) + 1);
  const [usual] = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [0, 0]);
  const sink = byteSink();
  sink.number(monos.length);
  sink.signed(usual);
  for (const step of steps) sink.signed(step - usual);
  return sink.bytes();
}

/** Ascending numbers as the count of those left out before each. */
function gaps(ascending: readonly number[], put: (gap: number) => void): void {
  let next = 0;
  for (const number of ascending) {
    put(number - next);
    next = number + 1;
  }
}

function valuesOf(way: Way, records: readonly Placed<LogRecord>[]): Buffer {
  if (way === TEXT) return Buffer.from(JSON.stringify(records.map(({ value }) => value)));
  const numbers = byteSink();
  const last: Last = [0, 0, 0];
  const sink = { numbers, texts: [] };
  const run = { way, last };
  for (const record of records) putValue(sink, run, record);
  return numbers.bytes();
}

/** Which records aren't good, counted series by series: how many good ones stand before each, and what it is. */
function qualitiesOf(series: readonly Series[]): Buffer {
  const sink = byteSink();
  let good = 0;
  for (const { quality } of series.flatMap(({ records }) => records)) {
    if (quality === "good") {
      good += 1;
      continue;
    }
    sink.number(good);
    sink.number(QUALITIES.indexOf(quality));
    good = 0;
  }
  return sink.bytes();
}

/** What the wall clock was off, and when the device says it was so: in seq order, and nothing where there is nothing to say. */
function localOf(records: readonly Placed<LogRecord>[]): Buffer {
  const offs = byteSink();
  const sources = byteSink();
  let off = 0;
  let since = 0;
  let source_off = 0;
  for (const record of records) {
    const own = record.at - record.time;
    if (own === off) since += 1;
    else {
      offs.number(since);
      offs.signed(own - off);
      [off, since] = [own, 0];
    }
    const source = sourceOf(record);
    sources.number(source === undefined ? 0 : 1);
    if (source === undefined) continue;
    sources.signed(source - record.time - source_off);
    source_off = source - record.time;
  }
  const hasSource = records.some((record) => sourceOf(record) !== undefined);
  if (!hasSource && offs.bytes().length === 0) return Buffer.alloc(0);
  const sink = byteSink();
  sink.block(offs.bytes());
  if (hasSource) sink.block(sources.bytes());
  return deflated(sink.bytes());
}

/** When the device says it was so: a reading's alone, and of some drivers alone. */
export function sourceOf(record: object): number | undefined {
  return "source_at" in record ? (record.source_at as number | undefined) : undefined;
}
