import type { LogRecord, Placed } from "../../domain/record.ts";
import { CHUNK_VERSION, HAS_CONTEXT, HAS_GAP, QUALITIES, type Start } from "./chunk.ts";
import { byteSink, deflated, deflatedParts, putValue, TEXT, type Way, wayFor } from "./columns.ts";

/** A kind and tag among the records, with how its values are written. */
interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly way: Way;
  readonly records: Placed<LogRecord>[];
  /** The number of the poll that each of its records belongs to, ascending. */
  readonly polls: number[];
}

/** Packs records of one boot and one clock offset, in seq order. Instants must be whole numbers of ms. */
export function packChunk(start: Start, records: readonly Placed<LogRecord>[]): Buffer {
  const series = seriesOf(records);
  const values = series.map(({ way, records: own }) => valuesOf(way, own));
  const times = pollTimes(start, pollsOf(records, series));
  const list = byteSink();
  list.number(series.length);
  for (const [index, { kind, tag, way, records: own }] of series.entries()) {
    list.number(kind.charCodeAt(0));
    list.block(Buffer.from(tag));
    list.number(way);
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

/** In the order in which they stand in the polls, so that a poll's records ascend: each further run of them costs bytes. */
function seriesOf(records: readonly Placed<LogRecord>[]): Series[] {
  const byKey = new Map<string, { readonly own: Placed<LogRecord>[]; readonly followers: Set<string> }>();
  let before: { readonly mono: number; readonly followers: Set<string> } | undefined;
  for (const record of records) {
    const key = keyOf(record);
    const { own, followers } = byKey.get(key) ?? { own: [], followers: new Set<string>() };
    if (own.push(record) === 1) byKey.set(key, { own, followers });
    if (before?.mono === record.mono && before.followers !== followers) before.followers.add(key);
    before = { mono: record.mono, followers };
  }
  return ordered(new Map([...byKey].map(([key, { followers }]) => [key, followers]))).map((key) => {
    const own = byKey.get(key)?.own ?? [];
    const { kind, tag } = own[0] ?? { kind: "r", tag: "" };
    return { kind, tag, way: wayFor(kind, own), records: own, polls: [] };
  });
}

/** Each before its followers; where they go round in a circle, from the first on. */
function ordered(followersOf: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const waitsFor = new Map([...followersOf.keys()].map((key) => [key, 0]));
  for (const key of [...followersOf.values()].flatMap((followers) => [...followers]))
    waitsFor.set(key, (waitsFor.get(key) ?? 0) + 1);
  const order = new Set<string>();
  const put = (key: string): void => {
    if (order.has(key)) return;
    order.add(key);
    for (const follower of followersOf.get(key) ?? []) {
      const left = (waitsFor.get(follower) ?? 0) - 1;
      waitsFor.set(follower, left);
      if (left === 0) put(follower);
    }
  };
  const first = [...waitsFor].filter(([, count]) => count === 0);
  for (const [key] of first) put(key);
  for (const key of followersOf.keys()) put(key);
  return [...order];
}

function keyOf({ kind, tag }: Placed<LogRecord>): string {
  return `${kind} ${tag}`;
}

/** The instants of the polls: a poll is a run of records of one instant in ascending series. Notes each record's poll in its series. */
function pollsOf(records: readonly Placed<LogRecord>[], series: readonly Series[]): number[] {
  const indexOf = new Map(series.map(({ kind, tag }, index) => [`${kind} ${tag}`, index]));
  const monos: number[] = [];
  let last = Infinity;
  for (const record of records) {
    const index = indexOf.get(keyOf(record)) ?? 0;
    if (record.mono !== monos.at(-1) || index <= last) monos.push(record.mono);
    series[index]?.polls.push(monos.length - 1);
    last = index;
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
  const sink = byteSink();
  const last: [number, number, number] = [0, 0, 0];
  for (const record of records) putValue({ numbers: sink, texts: [] }, { way, last }, record);
  return sink.bytes();
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
  const [offs, sources] = [byteSink(), byteSink()];
  let [off, since, source_off] = [0, 0, 0];
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
