import type { LogRecord, Placed } from "../../domain/record.ts";
import { CHUNK_VERSION, HAS_CONTEXT, HAS_GAP, QUALITIES, type Start } from "./chunk.ts";
import { byteSink, deflated, deflatedParts, type Encoding, encodingFor, TEXT, valueWriter } from "./columns.ts";

/** A series: the records with one kind and tag. */
interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly records: Placed<LogRecord>[];
  /** The series that directly follow this one in some poll. */
  readonly followers: Set<Series>;
  /** The index of this series among all series. */
  place: number;
  /** The index of each record's poll, ascending. */
  readonly polls: number[];
}

/** Packs records of one boot and one clock offset, in seq order. Times must be whole milliseconds. */
export function packChunk(start: Start, records: readonly Placed<LogRecord>[]): Buffer {
  const owners = ownersOf(records);
  const series = ordered(owners);
  const columns = series.map(({ kind, records: own }) => {
    const encoding = encodingFor(kind, own);
    return { encoding, bytes: valuesOf(encoding, own) };
  });
  const times = pollTimes(start, pollsOf(records, owners));
  const list = byteSink();
  list.number(series.length);
  for (const [index, { kind, tag, records: own }] of series.entries()) {
    list.number(kind.charCodeAt(0));
    list.block(Buffer.from(tag));
    list.number(columns[index]?.encoding ?? TEXT);
    list.number(own.length);
    list.number(columns[index]?.bytes.length ?? 0);
  }
  const numbers = byteSink();
  for (const { polls } of series) {
    let next = 0;
    for (const poll of polls) {
      numbers.number(poll - next);
      next = poll + 1;
    }
  }
  const a = deflatedParts([list.bytes(), times, numbers.bytes()]);
  const b = deflated(Buffer.concat([...columns.map(({ bytes }) => bytes), qualitiesOf(series)]));
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

/** Returns, for each range of consecutive seqs, the number of seqs skipped before it and its length. */
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

/** Returns the series of each record. */
function ownersOf(records: readonly Placed<LogRecord>[]): Series[] {
  // Maps by tag alone, because few kinds share a name: a reading has its tag, a coverage record its poll group.
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
 * Returns the series in the order in which polls have them: each series before its followers. A circle of followers begins with its first
 * series. The order saves bytes, because a poll whose records aren't in ascending order is split.
 */
function ordered(owners: readonly Series[]): readonly Series[] {
  const waitsFor = new Map([...new Set(owners)].map((series) => [series, 0]));
  for (const { followers } of waitsFor.keys())
    for (const follower of followers) waitsFor.set(follower, (waitsFor.get(follower) ?? 0) + 1);
  const order = new Set<Series>();
  const add = (series: Series): void => {
    if (order.has(series)) return;
    series.place = order.size;
    order.add(series);
    for (const follower of series.followers) {
      const left = (waitsFor.get(follower) ?? 0) - 1;
      waitsFor.set(follower, left);
      if (left === 0) add(follower);
    }
  };
  const first = [...waitsFor].filter(([, count]) => count === 0);
  for (const [series] of first) add(series);
  for (const series of waitsFor.keys()) add(series);
  return [...order];
}

/**
 * Returns the times of the polls, and notes each record's poll in its series. A poll is a run of records with the same time in ascending
 * order of series.
 */
function pollsOf(records: readonly Placed<LogRecord>[], owners: readonly Series[]): number[] {
  const monos: number[] = [];
  let last = Infinity;
  for (const [index, { mono }] of records.entries()) {
    const owner = owners[index];
    if (owner === undefined) continue;
    if (mono !== monos.at(-1) || owner.place <= last) monos.push(mono);
    owner.polls.push(monos.length - 1);
    last = owner.place;
  }
  return monos;
}

/** Writes the most common interval between polls, and the difference of each interval from it. */
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

function valuesOf(encoding: Encoding, records: readonly Placed<LogRecord>[]): Buffer {
  if (encoding === TEXT) return Buffer.from(JSON.stringify(records.map(({ value }) => value)));
  const sink = byteSink();
  const write = valueWriter(sink, encoding);
  for (const { value } of records) write(value);
  return sink.bytes();
}

/** Writes each quality other than good, series by series, with the number of good records before it. */
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

/** Writes the offsets of the wall clock and of the device's own clock in seq order. Writes nothing if no record has an offset. */
function localOf(records: readonly Placed<LogRecord>[]): Buffer {
  const offs = byteSink();
  const sources = byteSink();
  let off = 0;
  let since = 0;
  let source_off = 0;
  for (const record of records) {
    const lag = record.at - record.time;
    if (lag === off) since += 1;
    else {
      offs.number(since);
      offs.signed(lag - off);
      [off, since] = [lag, 0];
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

/** Returns the time sent by the device. Only readings of some drivers have it. */
export function sourceOf(record: object): number | undefined {
  return "source_at" in record ? (record.source_at as number | undefined) : undefined;
}
