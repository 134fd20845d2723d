import { z } from "zod";
import { isInstant, LAST_INSTANT } from "../base/time.ts";
import { NO_NUL, type Offered, offered } from "./batch.ts";
import { Bytes, inflated, MalformedChunk, textIn } from "./bytes.ts";
import {
  type Chunk,
  type Coverage,
  coverageAt,
  MAX_RECORDS,
  readChunk,
  recordsOfChunk,
  type Series,
  valueOf,
} from "./chunk.ts";
import { MAX_ZIPPED_BYTES } from "./unpack.ts";

const VERSION = 1;
/** Kinds that may stay packed; records of all others must be found without unpacking. */
export const PACKED_KINDS: readonly string[] = ["r", "h", "e"];

/** The same limit as in a batch. */
const MAX_NAME = 128;
const MAX_QUALITY = 16;

const headShape = z.object({
  gw: z.string().max(MAX_NAME),
  gen: z.int().nonnegative(),
  st: z.string().min(1).max(MAX_NAME),
  from: z.int().positive(),
  to: z.int().positive(),
  s0: z.int().positive(),
  n: z.int().positive().max(MAX_RECORDS),
  boot: z.string().max(MAX_NAME).regex(NO_NUL),
  mono0: z.int(),
  t0: z.int(),
  facts: z.int().nonnegative(),
});

/** The header before a chunk's body in its message. */
type ChunkHead = z.infer<typeof headShape>;

/** The parts of an up/chunk message. */
interface Parts {
  readonly head: ChunkHead;
  readonly body: Uint8Array;
  /** Deflated lines; empty: there are no facts. */
  readonly facts: Uint8Array;
}

/** Whether it is an up/chunk message. Otherwise it is a batch in gzip or zstd. */
export function isChunk(message: Uint8Array): boolean {
  return message[0] === VERSION;
}

export interface ChunkMessage {
  readonly head: ChunkHead;
  readonly chunk: Chunk;
  /** Facts in seq order. */
  readonly facts: readonly Offered[];
}

/** The stream and record of a message that can't be stored, as far as they are known. */
interface Malformed {
  readonly error: string;
  readonly st: string;
  readonly s0: number;
}

/** Splits a message into its parts without reading the body. Throws MalformedChunk. */
export function openMessage(payload: Uint8Array): Parts {
  const bytes = new Bytes(payload);
  if (bytes.byte() !== VERSION) throw new MalformedChunk("another version");
  const parsed = headShape.safeParse(jsonIn(textIn(bytes.take(bytes.number())), "header"));
  if (!parsed.success) throw new MalformedChunk(parsed.error.issues[0]?.path.join(".") ?? "header");
  return { head: parsed.data, body: bytes.take(bytes.number()), facts: bytes.rest() };
}

function jsonIn(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new MalformedChunk(what, { cause });
  }
}

/**
 * Reads an up/chunk message. A message with invalid parts gives an error; a bad record gives only a fault of that
 * record. `room`: as in readChunk.
 */
export function parseMessage(payload: Uint8Array, room?: Float64Array): ChunkMessage | Malformed {
  if (payload.byteLength > MAX_ZIPPED_BYTES) return { error: "too_large", st: "", s0: 0 };
  let named = { st: "", s0: 0 };
  try {
    const { head, body, facts } = openMessage(payload);
    named = { st: head.st, s0: head.s0 };
    const message = { head, chunk: readChunk(body, head, room), facts: factsOf(head, facts) };
    mustFit(message);
    return message;
  } catch (error) {
    if (!(error instanceof MalformedChunk)) throw error;
    return { error: `malformed: ${error.message}`, ...named };
  }
}

function factsOf(head: ChunkHead, block: Uint8Array): Offered[] {
  if (head.facts === 0 && block.length === 0) return [];
  const lines = textIn(inflated(block)).split("\n");
  if (lines.pop() !== "" || lines.length !== head.facts) throw new MalformedChunk("facts");
  return lines.map((line) => factOf(jsonIn(line, "facts")));
}

function factOf(told: unknown): Offered {
  const [seq, kind, boot, mono, time, tag, value, quality] =
    Array.isArray(told) && told.length === 8 ? (told as unknown[]) : [];
  const isFact =
    typeof seq === "number" && typeof kind === "string" && typeof boot === "string" && typeof mono === "number";
  const isWhole = typeof time === "number" && typeof tag === "string" && typeof quality === "string";
  if (!isFact || !isWhole) throw new MalformedChunk("facts");
  const isWithin = Number.isSafeInteger(seq) && kind.length === 1 && Number.isFinite(mono) && Number.isFinite(time);
  const isShort = boot.length <= MAX_NAME && tag.length <= MAX_NAME && quality.length <= MAX_QUALITY;
  if (!isWithin || !isShort) throw new MalformedChunk("facts");
  return offered({ seq, kind, tag, boot, mono, time, quality }, value);
}

/** Checks that its seqs are different, inside from..to, and as many as stated. */
function mustFit({ head, chunk, facts }: ChunkMessage): void {
  if (head.from > head.s0 || head.s0 > head.to) throw new MalformedChunk("s0");
  if (head.n !== chunk.count + facts.length) throw new MalformedChunk("n");
  if ((chunk.runs.at(-1)?.[1] ?? NaN) > head.to) throw new MalformedChunk("to");
  let before = head.from - 1;
  let run = 0;
  for (const { seq } of facts) {
    while ((chunk.runs[run]?.[1] ?? Infinity) < seq) run += 1;
    if (seq <= before || seq > head.to || (chunk.runs[run]?.[0] ?? Infinity) <= seq) throw new MalformedChunk("facts");
    before = seq;
  }
}

/** Returns every record with its fault, in seq order. */
export function offeredOf({ head, chunk, facts }: ChunkMessage): Offered[] {
  const { boot } = head;
  const records = recordsOfChunk(chunk).map(({ value, ...record }) =>
    offered({ ...record, boot, time: record.mono + offsetOf(head) }, value),
  );
  return [...records, ...facts].sort((one, other) => one.seq - other.seq);
}

/** Returns corrected time minus mono of the body's records. */
export function offsetOf({ t0, mono0 }: ChunkHead): number {
  return t0 - mono0;
}

/** The monos of the body's first and last poll, and the last mono that its records cover. */
export interface Reach {
  readonly first_mono: number;
  readonly last_mono: number;
  readonly end_mono: number;
}

export function reachOf({ monos, polls, series }: Chunk): Reach {
  let first_mono = Infinity;
  let last_mono = -Infinity;
  for (let poll = 0; poll < monos.length; poll += 1) {
    const mono = monos[poll] ?? NaN;
    if (mono < first_mono) first_mono = mono;
    if (mono > last_mono) last_mono = mono;
  }
  let end_mono = last_mono;
  for (const { first, count, values } of series) {
    if (values.sort !== "coverage") continue;
    for (let nth = 0; nth < count; nth += 1) {
      const { length, polls: answered } = coverageAt(values, nth);
      const mono = monos[polls[first + nth] ?? 0] ?? NaN;
      if (answered > 0 && mono + length > end_mono) end_mono = mono + length;
    }
  }
  return { first_mono, last_mono, end_mono };
}

/**
 * Whether it may be stored unchanged: no seq of from..to is missing, no record has a fault, and all records of the body
 * have kinds that may stay packed.
 */
export function isKeepable({ head, chunk, facts }: ChunkMessage, reach: Reach): boolean {
  const isFull = head.n === head.to - head.from + 1;
  const isInTime = [reach.first_mono, reach.last_mono].every((mono) => isInstant(mono + offsetOf(head)));
  if (!isFull || !isInTime || facts.some(({ fault }) => fault !== undefined)) return false;
  return chunk.series.every((series) => PACKED_KINDS.includes(series.kind) && isFaultless(series, { head, chunk }));
}

/** Checks each record like a record of a batch, except those that a quick check proves valid. */
function isFaultless(series: Series, { head, chunk }: Pick<ChunkMessage, "head" | "chunk">): boolean {
  const { kind, tag, first, count, values } = series;
  const isNumbers = values.sort === "numbers" || values.sort === "booleans";
  if (kind === "r" && tag !== "" && isNumbers && !holdsNull(values.numbers)) return true;
  for (let nth = 0; nth < count; nth += 1) {
    const index = first + nth;
    const mono = chunk.monos[chunk.polls[index] ?? 0] ?? NaN;
    if (kind === "h" && values.sort === "coverage" && isWithinReason(coverageAt(values, nth), mono)) continue;
    const quality = chunk.odd.get(index) ?? "good";
    const record = { seq: 0, kind, tag, boot: head.boot, mono, time: mono + offsetOf(head), quality };
    if (offered(record, valueOf(series, nth, mono)).fault !== undefined) return false;
  }
  return true;
}

/** NaN means null, which requires quality bad. A loop, because `includes` treats NaN in a slower way. */
function holdsNull(numbers: Float64Array): boolean {
  for (let at = 0; at < numbers.length; at += 1) if (Number.isNaN(numbers[at])) return true;
  return false;
}

function isWithinReason({ length, polls, max_interval_ms }: Coverage, mono: number): boolean {
  const isInTime = mono >= -LAST_INSTANT && mono + length <= LAST_INSTANT && max_interval_ms <= LAST_INSTANT;
  return isInTime && length >= 0 && polls >= 0 && max_interval_ms >= 0;
}
