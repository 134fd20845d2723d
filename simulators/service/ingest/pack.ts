import { deflateRawSync } from "node:zlib";
import { MAX_RECORDS, QUALITIES, VERSION, WAYS } from "./chunk.ts";

/** A record to be packed; `value` as it was read from its JSON. */
interface Packable {
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly mono: number;
  readonly value: unknown;
  readonly quality: string;
}

/** Decimal places that a way of its own tells of. */
const MOST_DIGITS = 6;

/** Bytes written one behind another. */
class Writer {
  #bytes = Buffer.alloc(1024);
  #length = 0;

  byte(value: number): void {
    if (this.#length === this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  /** Unsigned LEB128. */
  number(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.byte(0x80 + (rest % 0x80));
    this.byte(rest);
  }

  signed(value: number): void {
    this.number(value >= 0 ? 2 * value : -2 * value - 1);
  }

  double(value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.put(bytes);
  }

  put(bytes: Uint8Array): void {
    for (const one of bytes) this.byte(one);
  }

  get length(): number {
    return this.#length;
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

interface PackedSeries {
  readonly kind: string;
  readonly tag: string;
  readonly records: Packable[];
  readonly polls: number[];
}

/**
 * The body of a chunk of these records, in the order of their seqs, smaller than a gateway makes it: it has to be quick. Undefined where
 * the format has no room for them.
 */
export function packBody(records: readonly Packable[], mono0: number): Buffer | undefined {
  if (records.length === 0 || records.length > MAX_RECORDS) return undefined;
  if (records.some(({ mono, kind }) => !Number.isSafeInteger(mono) || kind.length !== 1)) return undefined;
  const { series, monos } = seriesOf(records);
  const values = new Writer();
  const list = series.map((one) => {
    const begun = values.length;
    const way = putValues(values, one);
    return { ...one, way, bytes: values.length - begun };
  });
  putQualities(values, series);
  const head = new Writer();
  head.number(list.length);
  for (const { kind, tag, way, records: own, bytes } of list) {
    const name = Buffer.from(tag);
    head.number(kind.charCodeAt(0));
    head.number(name.length);
    head.put(name);
    for (const number of [way, own.length, bytes]) head.number(number);
  }
  putMonos(head, monos, mono0);
  for (const { polls } of series) {
    let before = -1;
    for (const poll of polls) {
      head.number(poll - before - 1);
      before = poll;
    }
  }
  const [a, b] = [head.done(), values.done()].map((block) => deflateRawSync(block, { level: 9 }));
  const body = new Writer();
  for (const byte of [VERSION, 0]) body.byte(byte);
  body.number(records.length);
  putRuns(body, records);
  for (const block of [a, b]) body.number(block?.length ?? 0);
  return Buffer.concat([body.done(), a ?? Buffer.alloc(0), b ?? Buffer.alloc(0)]);
}

/** Seqs go poll by poll, in each of them series by series: where the order isn't so another poll begins, of the same instant. */
function seriesOf(records: readonly Packable[]): { series: PackedSeries[]; monos: number[] } {
  const series: PackedSeries[] = [];
  const places = new Map<string, number>();
  const monos: number[] = [];
  let last = -1;
  for (const record of records) {
    const key = `${record.kind} ${record.tag}`;
    let place = places.get(key);
    if (place === undefined) {
      place = series.length;
      places.set(key, place);
      series.push({ kind: record.kind, tag: record.tag, records: [], polls: [] });
    }
    if (place <= last || monos.at(-1) !== record.mono) monos.push(record.mono);
    last = place;
    series[place]?.records.push(record);
    series[place]?.polls.push(monos.length - 1);
  }
  return { series, monos };
}

function putMonos(to: Writer, monos: readonly number[], mono0: number): void {
  const steps = monos.map((mono, nth) => mono - (nth === 0 ? mono0 : (monos[nth - 1] ?? 0)));
  const counts = new Map<number, number>();
  for (const step of steps) counts.set(step, (counts.get(step) ?? 0) + 1);
  const [usual = 0] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
  to.number(monos.length);
  to.signed(usual);
  for (const step of steps) to.signed(step - usual);
}

function putRuns(to: Writer, records: readonly Packable[]): void {
  const runs: [from: number, to: number][] = [];
  for (const { seq } of records) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === seq - 1) last[1] = seq;
    else runs.push([seq, seq]);
  }
  to.number(runs.length);
  let next = runs[0]?.[0] ?? 0;
  for (const [from, end] of runs) {
    to.number(from - next);
    to.number(end - from + 1);
    next = end + 1;
  }
}

/** Writes a series' values in the shortest way that gives back the same; answers which. */
function putValues(to: Writer, { kind, tag, records }: PackedSeries): number {
  const values = records.map(({ value }) => value);
  if (kind === "h" && records.every((record) => isCoverage(record, tag))) return putCoverage(to, values as Coverage[]);
  if (values.every((value) => value === null || typeof value === "boolean")) {
    for (const value of values) to.number(value === null ? 0 : value ? 2 : 1);
    return WAYS.boolean;
  }
  if (values.every((value): value is number | null => value === null || typeof value === "number")) {
    return putNumbers(to, values);
  }
  to.put(Buffer.from(JSON.stringify(values)));
  return WAYS.text;
}

interface Coverage {
  readonly from: number;
  readonly to: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

function isCoverage({ value, mono }: Packable, tag: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { group, from, to, polls, max_interval_ms, ...others } = value as Record<string, unknown>;
  const isWhole = [to, polls, max_interval_ms].every((one) => Number.isSafeInteger(one));
  return group === tag && from === mono && isWhole && Object.keys(others).length === 0;
}

function putCoverage(to: Writer, values: readonly Coverage[]): number {
  const last = [0, 0, 0];
  for (const { from, to: end, polls, max_interval_ms } of values) {
    for (const [nth, number] of [end - from, polls, max_interval_ms].entries()) {
      to.signed(number - (last[nth] ?? 0));
      last[nth] = number;
    }
  }
  return WAYS.coverage;
}

function putNumbers(to: Writer, values: readonly (number | null)[]): number {
  const told = values.filter((value) => value !== null);
  for (let digits = 0; digits <= MOST_DIGITS; digits += 1) {
    const power = 10 ** digits;
    const whole = (value: number): number => Math.round(value * power);
    if (!told.every((value) => whole(value) / power === value && Math.abs(whole(value)) <= Number.MAX_SAFE_INTEGER / 4))
      continue;
    putDifferences(
      to,
      values.map((value) => (value === null ? null : whole(value))),
    );
    return digits;
  }
  if (told.every((value) => Math.fround(value) === value)) {
    const view = new DataView(new ArrayBuffer(4));
    const bits = (value: number): number => {
      view.setFloat32(0, value);
      return view.getInt32(0);
    };
    putDifferences(
      to,
      values.map((value) => (value === null ? null : bits(value))),
    );
    return WAYS.single;
  }
  for (const value of values) {
    to.byte(value === null ? 0 : 1);
    if (value !== null) to.double(value);
  }
  return WAYS.double;
}

function putDifferences(to: Writer, numbers: readonly (number | null)[]): void {
  let last = 0;
  for (const number of numbers) {
    if (number === null) to.number(0);
    else {
      to.number(number >= last ? 2 * (number - last) + 1 : 2 * (last - number));
      last = number;
    }
  }
}

function putQualities(to: Writer, series: readonly PackedSeries[]): void {
  let next = 0;
  for (const [index, { quality }] of series.flatMap(({ records }) => records).entries()) {
    const place = QUALITIES.findIndex((one) => one === quality);
    if (place <= 0) continue;
    to.number(index - next);
    to.number(place);
    next = index + 1;
  }
}

/** The header before a body in an up/chunk message. */
interface PackedHead {
  readonly gw: string;
  readonly gen: number;
  readonly st: string;
  readonly from: number;
  readonly to: number;
  readonly s0: number;
  readonly n: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
}

/** A record that is packed with when it was. */
interface Timed extends Packable {
  readonly boot: string;
  readonly time: number;
}

/** The message of records of one boot and one offset of the clock, in seq order; undefined where the format has no room for them. */
export function messageOf(
  whose: Pick<PackedHead, "gw" | "gen" | "st" | "from" | "to">,
  records: readonly Timed[],
): Buffer | undefined {
  const [first] = records;
  if (first === undefined || !Number.isSafeInteger(first.time)) return undefined;
  const body = packBody(records, first.mono);
  const begun = { s0: first.seq, n: records.length, boot: first.boot, mono0: first.mono, t0: first.time };
  return body === undefined ? undefined : packMessage({ ...whose, ...begun }, body);
}

/** A whole up/chunk message, without facts: those are rows. */
function packMessage(head: PackedHead, body: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify({ ...head, facts: 0 }));
  const front = new Writer();
  front.byte(1);
  front.number(text.length);
  front.put(text);
  front.number(body.length);
  return Buffer.concat([front.done(), body]);
}
