import { createHash } from "node:crypto";
import { constants, zstdCompressSync } from "node:zlib";
import { type Offered, parseBatch } from "../ingest/batch.ts";
import { rangeHash } from "../ingest/canonical.ts";
import {
  isChunk,
  isKeepable,
  offeredOf,
  offsetOf,
  PACKED_KINDS,
  parseMessage,
  reachOf,
} from "../ingest/chunk-message.ts";
import { type Kept, keptOf } from "../ingest/kept.ts";
import { messageOf } from "../ingest/pack.ts";
import { unpack } from "../ingest/unpack.ts";
import type { Uplink } from "../storage/port.ts";

/** Kinds that change other rows too; such messages are handled one by one. */
const UNUSUAL_KINDS = ["g"];
/** As gateways do: it is read again once or twice, and made small with its day. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A batch or a chunk in which nothing is amiss, whatever the store may hold. */
export interface Offering {
  readonly uplink: Uplink;
  readonly stream: string;
  readonly generation: number;
  readonly s0: number;
  readonly count: number;
  readonly kept: Kept;
  /** The records that are rows beside it. */
  readonly facts: readonly Offered[];
  /** All of its records, in seq order. */
  readonly records: () => readonly Offered[];
  /** As its ack has it. */
  readonly proof: () => { readonly hash: string } | { readonly chunk: string };
}

/** Returns the offering of a message that may be kept as it is; undefined for any other message. */
export function offeredBy(uplink: Uplink): Offering | undefined {
  if (uplink.topic === "batch") return offeredByBatch(uplink);
  return uplink.topic === "chunk" ? offeredByChunk(uplink) : undefined;
}

function offeredByBatch(uplink: Uplink): Offering | undefined {
  const unpacked = unpack(uplink.payload);
  const batch = "error" in unpacked ? unpacked : parseBatch(unpacked.batch);
  if ("error" in batch || batch.gateway !== uplink.gateway || batch.stream.includes("\0")) return undefined;
  const { records, stream, generation, first } = batch;
  const kept = keptOf(records, uplink.payload);
  const facts = factsOf(records);
  if (kept === undefined || isUnusual(facts)) return undefined;
  const proof = (): { hash: string } => ({ hash: rangeHash(records) });
  return { uplink, stream, generation, s0: first, count: records.length, kept, facts, records: () => records, proof };
}

function offeredByChunk(uplink: Uplink): Offering | undefined {
  const message = parseMessage(uplink.payload);
  if ("error" in message || message.head.gw !== uplink.gateway || message.head.st.includes("\0")) return undefined;
  const { head, chunk, facts } = message;
  const reach = reachOf(chunk);
  if (!isKeepable(message, reach) || isUnusual(facts)) return undefined;
  const { from, to, boot, st, gen, s0, n } = head;
  const kept = { ...reach, from, to, boot, offset_ms: offsetOf(head), message: uplink.payload };
  const proof = (): { chunk: string } => ({ chunk: createHash("sha256").update(uplink.payload).digest("hex") });
  const records = (): Offered[] => offeredOf(message);
  return { uplink, stream: st, generation: gen, s0, count: n, kept, facts, records, proof };
}

function factsOf(records: readonly Offered[]): readonly Offered[] {
  return records.filter(({ kind }) => !PACKED_KINDS.includes(kind));
}

/** A clock's first word says nothing about what came before; of two in one message the later one may. */
function isUnusual(facts: readonly Offered[]): boolean {
  return facts.some(({ kind }) => UNUSUAL_KINDS.includes(kind)) || facts.filter(({ kind }) => kind === "t").length > 1;
}

/** A message to store, and its records that are stored as rows. */
export interface Part {
  readonly kept: Kept;
  readonly facts: readonly Offered[];
}

/** The part of a message from one seq to another, as a message of its own; undefined: nothing of the part may stay packed. */
export function partOf(offering: Offering, from: number, to: number): Part | undefined {
  const { uplink, s0, kept, facts, records } = offering;
  if (from === kept.from && to === kept.to) return { kept, facts };
  if (isChunk(uplink.payload)) return partOfChunk(offering, from, to);
  const unpacked = unpack(uplink.payload);
  if ("error" in unpacked) return undefined;
  const of = records().slice(from - s0, to - s0 + 1);
  const message = zstdCompressSync(JSON.stringify(cut(unpacked.batch as Columns, from - s0, to - s0 + 1)), ZSTD);
  const own = keptOf(of, message);
  return own === undefined ? undefined : { kept: own, facts: factsOf(of) };
}

/** Packs a part of the chunk again: after a lost ack the chunk also contains records that the service already has. */
function partOfChunk({ uplink, stream, generation, records }: Offering, from: number, to: number): Part | undefined {
  const of = records().filter(({ seq }) => seq >= from && seq <= to);
  const packed = of.filter(({ kind }) => PACKED_KINDS.includes(kind));
  const own = packed.map(({ value, ...record }) => ({ ...record, value: JSON.parse(value) as unknown }));
  const message = messageOf({ gw: uplink.gateway, gen: generation, st: stream, from, to }, own);
  const kept = message && keptOf(of, message);
  return kept === undefined ? undefined : { kept, facts: factsOf(of) };
}

interface Columns {
  readonly s0: number;
  readonly k: readonly unknown[];
  readonly g: readonly unknown[];
  readonly dt: readonly unknown[];
  readonly val: readonly unknown[];
  readonly q?: readonly (readonly [number, string])[];
}

/** The columns of a batch from one index up to another. Times go by what the whole one begins with. */
function cut({ s0, k, g, dt, val, q = [], ...head }: Columns, begin: number, end: number): Columns {
  const columns = {
    k: k.slice(begin, end),
    g: g.slice(begin, end),
    dt: dt.slice(begin, end),
    val: val.slice(begin, end),
  };
  const qualities = q.flatMap(([index, name]) =>
    index >= begin && index < end ? [[index - begin, name] as const] : [],
  );
  return { ...head, s0: s0 + begin, ...columns, q: qualities };
}
