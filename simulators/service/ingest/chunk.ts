import { Bytes, inflated, MalformedChunk, SMALL, textIn } from "./bytes.ts";

/** Maximum number of records in a chunk; a gateway puts about 4,000 in one. */
export const MAX_RECORDS = 20_000;
/** As of a batch: names, and letters in a name. */
const MAX_SERIES = 4_096;
const MAX_TAG = 128;
export const VERSION = 3;
export const QUALITIES = ["good", "uncertain", "bad"] as const;
export const WAYS = { text: 100, single: 101, double: 102, coverage: 103, boolean: 104 } as const;
const POWERS = Array.from({ length: 7 }, (_, digits) => 10 ** digits);
/** Numbers per coverage record. */
const COVERAGE_NUMBERS = 3;

/** A record as a chunk tells of it. */
export interface ChunkRecord {
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly mono: number;
  readonly value: unknown;
  readonly quality: string;
}

/** The records of one kind and tag, in seq order; counted series by series the first of them is number `first`. */
export interface Series {
  readonly kind: string;
  readonly tag: string;
  readonly first: number;
  readonly count: number;
  readonly values: Values;
}

/** NaN is null. Of a coverage three numbers: its length, `polls` and `max_interval_ms`. */
export type Values =
  | { readonly sort: "numbers" | "booleans" | "coverage"; readonly numbers: Float64Array }
  | { readonly sort: "texts"; readonly texts: readonly unknown[] };

/** A chunk's body by columns: every byte of it was read, and makes sense. */
export interface Chunk {
  readonly count: number;
  /** Its seqs as ranges, both ends included. */
  readonly runs: readonly (readonly [from: number, to: number])[];
  readonly series: readonly Series[];
  /** By poll. */
  readonly monos: Float64Array;
  /** By record, counted series by series: the number of its poll. */
  readonly polls: Float64Array;
  /** Qualities of the records that aren't good, by the same count. */
  readonly odd: ReadonlyMap<number, string>;
}

interface Head extends Pick<Chunk, "count" | "runs"> {
  readonly a: Uint8Array;
  readonly b: Uint8Array;
}

function headOf(body: Uint8Array, s0: number): Head {
  const bytes = new Bytes(body);
  if (bytes.byte() !== VERSION) throw new MalformedChunk("another version");
  // The flags are for who doesn't look into the blocks.
  bytes.byte();
  const count = bytes.number();
  if (count === 0 || count > MAX_RECORDS) throw new MalformedChunk("how many records");
  const runs = runsOf(bytes, s0, count);
  const lengths = [bytes.number(), bytes.number()] as const;
  const a = bytes.take(lengths[0]);
  const b = bytes.take(lengths[1]);
  if (!bytes.isOver) throw new MalformedChunk("bytes behind its end");
  return { count, runs, a, b };
}

function runsOf(bytes: Bytes, s0: number, count: number): [number, number][] {
  const runs: [number, number][] = [];
  let next = s0;
  let left = count;
  for (let more = bytes.number(); more > 0; more -= 1) {
    const from = next + bytes.number();
    const length = bytes.number();
    if (length === 0 || length > left) throw new MalformedChunk("seqs and count");
    next = from + length;
    left -= length;
    runs.push([from, next - 1]);
  }
  const isWhole = left === 0 && runs[0]?.[0] === s0 && Number.isSafeInteger(next);
  if (!isWhole) throw new MalformedChunk("seqs and count");
  return runs;
}

/** The seqs of a body alone, as ranges. Throws MalformedChunk. */
export function seqsOf(body: Uint8Array, s0: number): Chunk["runs"] {
  return headOf(body, s0).runs;
}

/**
 * Reads a chunk's body. Throws MalformedChunk. A caller that reads one chunk after the other may pass a buffer of 2 *
 * MAX_RECORDS numbers, which the next read overwrites: 64 KiB of new memory per chunk cost as much in garbage
 * collection as the reading.
 */
export function readChunk(
  body: Uint8Array,
  { s0, mono0 }: { readonly s0: number; readonly mono0: number },
  room?: Float64Array,
): Chunk {
  const head = headOf(body, s0);
  const { count, runs } = head;
  const own = room ?? new Float64Array(2 * count);
  const a = new Bytes(inflated(head.a));
  const list = listOf(a, count);
  const monos = monosOf(a, mono0, count);
  const polls = pollsOf(a, list, { room: own.subarray(0, count), polls: monos.length });
  if (!a.isOver) throw new MalformedChunk("bytes behind its times");
  const b = new Bytes(inflated(head.b));
  const series = list.map(({ kind, tag, way, first, count: size, bytes }): Series => {
    const end = b.at + bytes;
    const values = valuesOf(b, { way, bytes, numbers: own.subarray(count + first, count + first + size) });
    if (b.at !== end) throw new MalformedChunk("a tag's values and their length");
    return { kind, tag, first, count: size, values };
  });
  return { count, runs, series, monos, polls, odd: qualitiesOf(b, count) };
}

interface Listed {
  readonly kind: string;
  readonly tag: string;
  readonly way: number;
  readonly first: number;
  readonly count: number;
  readonly bytes: number;
}

function listOf(a: Bytes, count: number): Listed[] {
  const list: Listed[] = [];
  let first = 0;
  const size = a.number();
  if (size > MAX_SERIES) throw new MalformedChunk("too many tags");
  while (list.length < size) {
    const letter = a.number();
    const tag = textIn(a.take(a.number()));
    if (letter > 0xffff || tag.length > MAX_TAG) throw new MalformedChunk("a kind or tag that is too long");
    const series = { kind: String.fromCharCode(letter), tag, way: a.number(), first, count: a.number() };
    if (series.count === 0) throw new MalformedChunk("a series of nothing");
    first += series.count;
    list.push({ ...series, bytes: a.number() });
  }
  if (first !== count) throw new MalformedChunk("series and count");
  return list;
}

function monosOf(a: Bytes, mono0: number, count: number): Float64Array {
  const polls = a.number();
  if (polls > count) throw new MalformedChunk("more polls than records");
  const usual = a.signed();
  const monos = new Float64Array(polls);
  let mono = mono0;
  for (let poll = 0; poll < polls; poll += 1) {
    mono += usual + a.signed();
    if (!Number.isSafeInteger(mono)) throw new MalformedChunk("an instant beyond 2^53");
    monos[poll] = mono;
  }
  return monos;
}

function pollsOf(
  a: Bytes,
  list: readonly Listed[],
  { room: polls, polls: size }: { readonly room: Float64Array; readonly polls: number },
): Float64Array {
  // Encoded as the number of polls before it without a record.
  a.numbers(polls);
  for (const { first, count } of list) {
    let poll = -1;
    for (let index = first; index < first + count; index += 1) {
      poll += 1 + (polls[index] ?? NaN);
      polls[index] = poll;
    }
    // They ascend: where the last one is there, all are.
    if (poll >= size) throw new MalformedChunk("a poll that isn't there");
  }
  return polls;
}

interface Written {
  readonly way: number;
  readonly bytes: number;
  /** Destination of a number per record. */
  readonly numbers: Float64Array;
}

function valuesOf(b: Bytes, { way, bytes, numbers }: Written): Values {
  if (way === WAYS.text) return { sort: "texts", texts: textsOf(b.take(bytes), numbers.length) };
  if (way === WAYS.coverage) return { sort: "coverage", numbers: coverageOf(b, numbers.length) };
  if (way === WAYS.boolean) takeCodes(b, numbers);
  else if (way === WAYS.single) takeSingles(b, numbers);
  else if (way === WAYS.double) takeDoubles(b, numbers);
  else takeDecimals(b, numbers, POWERS[way]);
  return { sort: way === WAYS.boolean ? "booleans" : "numbers", numbers };
}

function textsOf(bytes: Uint8Array, count: number): readonly unknown[] {
  let texts: unknown;
  try {
    texts = JSON.parse(textIn(bytes));
  } catch (cause) {
    throw new MalformedChunk("a tag's texts", { cause });
  }
  if (!Array.isArray(texts) || texts.length !== count) throw new MalformedChunk("a tag's texts");
  return texts as unknown[];
}

function coverageOf(b: Bytes, count: number): Float64Array {
  const numbers = new Float64Array(COVERAGE_NUMBERS * count);
  let length = 0;
  let polls = 0;
  let interval = 0;
  for (let at = 0; at < numbers.length; at += COVERAGE_NUMBERS) {
    numbers[at] = length = told(length + b.signed());
    numbers[at + 1] = polls = told(polls + b.signed());
    numbers[at + 2] = interval = told(interval + b.signed());
  }
  return numbers;
}

/** A sum of differences. */
function told(value: number): number {
  if (!Number.isSafeInteger(value)) throw new MalformedChunk("a value beyond 2^53");
  return value;
}

function takeCodes(b: Bytes, codes: Float64Array): void {
  b.numbers(codes);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? NaN;
    if (code > 2) throw new MalformedChunk("neither true nor false");
    codes[at] = code === 0 ? NaN : code - 1;
  }
}

/** The differences of which ways 0 to 6 and 101 are made; 0 is null. */
function takeDecimals(b: Bytes, numbers: Float64Array, power: number | undefined): void {
  if (power === undefined) throw new MalformedChunk("a way that nobody knows");
  b.numbers(numbers);
  let last = 0;
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? NaN;
    if (code === 0) numbers[at] = NaN;
    else {
      if (code < SMALL) last += signed(code);
      else last = told(last + (code % 2 === 1 ? (code - 1) / 2 : -code / 2));
      numbers[at] = last / power;
    }
  }
}

/** code / 2 where it is even, negative; else (code - 1) / 2. */
function signed(code: number): number {
  const flip = (code & 1) - 1;
  return ((code >> 1) ^ flip) - flip;
}

function takeSingles(b: Bytes, numbers: Float64Array): void {
  const view = new DataView(new ArrayBuffer(4));
  takeDecimals(b, numbers, 1);
  for (const [at, bits] of numbers.entries()) {
    if (Number.isNaN(bits)) continue;
    if (bits !== (bits | 0)) throw new MalformedChunk("more than 32 bits of a number");
    view.setInt32(0, bits);
    numbers[at] = finite(view.getFloat32(0));
  }
}

function takeDoubles(b: Bytes, numbers: Float64Array): void {
  for (let at = 0; at < numbers.length; at += 1) {
    const code = b.number();
    if (code > 1) throw new MalformedChunk("neither null nor a number");
    numbers[at] = code === 0 ? NaN : finite(b.double());
  }
}

/** Rejects numbers that JSON can't express, -0 included. */
function finite(value: number): number {
  if (!Number.isFinite(value)) throw new MalformedChunk("no number");
  return value + 0;
}

function qualitiesOf(b: Bytes, count: number): Map<number, string> {
  const odd = new Map<number, string>();
  for (let index = 0; !b.isOver; index += 1) {
    index += b.number();
    const quality = QUALITIES[b.number()];
    if (quality === undefined || index >= count) throw new MalformedChunk("a quality of nothing");
    odd.set(index, quality);
  }
  return odd;
}

/** The fields of a coverage record, except its start. */
export interface Coverage {
  readonly length: number;
  readonly polls: number;
  readonly max_interval_ms: number;
}

export function coverageAt({ numbers }: { readonly numbers: Float64Array }, nth: number): Coverage {
  const at = COVERAGE_NUMBERS * nth;
  return { length: numbers[at] ?? NaN, polls: numbers[at + 1] ?? NaN, max_interval_ms: numbers[at + 2] ?? NaN };
}

/** The value of a series' nth record. */
export function valueOf({ tag, values }: Series, nth: number, mono: number): unknown {
  if (values.sort === "texts") return values.texts[nth];
  const { sort, numbers } = values;
  if (sort === "coverage") {
    const { length, polls, max_interval_ms } = coverageAt(values, nth);
    return { group: tag, from: mono, to: mono + length, polls, max_interval_ms };
  }
  const number = numbers[nth] ?? NaN;
  if (Number.isNaN(number)) return null;
  return sort === "booleans" ? number === 1 : number;
}

/** Its records in the order of their seqs: poll by poll, in each of them series by series. */
export function recordsOfChunk(
  chunk: Chunk,
  isWanted: (series: Series) => boolean = () => true,
): readonly ChunkRecord[] {
  const { series, monos, polls, odd } = chunk;
  const places = placesOf(chunk);
  const seqs = chunk.runs.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
  const found = new Array<ChunkRecord | undefined>(chunk.count);
  for (const one of series) {
    if (!isWanted(one)) continue;
    const { kind, tag, first, count } = one;
    for (let nth = 0; nth < count; nth += 1) {
      const index = first + nth;
      const place = places[index] ?? 0;
      const mono = monos[polls[index] ?? 0] ?? NaN;
      const quality = odd.get(index) ?? "good";
      found[place] = { seq: seqs[place] ?? NaN, kind, tag, mono, value: valueOf(one, nth, mono), quality };
    }
  }
  return found.filter((record) => record !== undefined);
}

/** Returns by record, counted series by series, its place in the order of seqs. */
function placesOf({ monos, polls }: Chunk): Float64Array {
  const next = new Uint32Array(monos.length + 1);
  for (const poll of polls) next[poll + 1] = (next[poll + 1] ?? 0) + 1;
  for (let poll = 1; poll < next.length; poll += 1) next[poll] = (next[poll] ?? 0) + (next[poll - 1] ?? 0);
  return polls.map((poll) => {
    const place = next[poll] ?? 0;
    next[poll] = place + 1;
    return place;
  });
}
