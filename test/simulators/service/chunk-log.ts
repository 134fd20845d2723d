/** Hand-made booth logs as up/chunk messages: packed by the gateway's own code. */
import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { readChunk, recordsOfChunk, type ChunkRecord } from "../../../simulators/service/ingest/chunk.ts";
import type { LogRecord as PackedRecord, Placed } from "../../../src/domain/record.ts";
import { bodyOf } from "../../../src/store/log/chunk.ts";
import { packChunk } from "../../../src/store/log/pack.ts";
import { type BatchOptions, EPOCH, type LogRecord } from "./service-log.ts";

const FACT_KINDS = ["m", "c", "d", "v", "i"];

/** An unsigned LEB128. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  return Buffer.of(...bytes, rest);
}

interface MessageParts {
  readonly head: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
  /** Each a line of the message, before it is deflated. */
  readonly facts: readonly unknown[];
}

/** The bytes of an up/chunk message, whatever its parts say. */
export function messageOf({ head, body, facts }: MessageParts): Buffer {
  const header = Buffer.from(JSON.stringify(head));
  const lines = facts.map((fact) => `${JSON.stringify(fact)}\n`).join("");
  const rest = facts.length === 0 ? Buffer.alloc(0) : deflateRawSync(lines);
  return Buffer.concat([Buffer.of(1), varint(header.length), header, varint(body.length), body, rest]);
}

/** The parts of a chunk of all records, `facts` among them by their kinds. */
export function partsOf(records: readonly LogRecord[], options: BatchOptions = {}): MessageParts {
  const { s0: from = 1, boot = "boot-1", epoch = EPOCH } = options;
  const placed = records.map((record, index) => ({
    ...record,
    seq: from + index,
    boot,
    at: epoch + record.mono,
    time: epoch + record.mono,
  }));
  const log = placed.filter(({ kind }) => !FACT_KINDS.includes(kind));
  const facts = placed.filter(({ kind }) => FACT_KINDS.includes(kind));
  const [first] = log;
  if (first === undefined) throw new Error("a chunk holds at least one record that isn't a fact");
  const start = { first_seq: first.seq, boot, mono0: first.mono, t0: first.time };
  const head = {
    gw: options.gateway ?? "gw-1",
    gen: options.generation ?? 1,
    st: options.stream ?? "stream-1",
    from,
    to: from + records.length - 1,
    s0: first.seq,
    n: records.length,
    boot,
    mono0: first.mono,
    t0: first.time,
    facts: facts.length,
  };
  const lines = facts.map((fact) => {
    const { seq, kind, mono, time, tag, value, quality } = fact;
    return [seq, kind, boot, mono, time, tag, value, quality];
  });
  // Any kind goes in a body, to see what becomes of it.
  return { head, body: bodyOf(packChunk(start, log as unknown as Placed<PackedRecord>[])), facts: lines };
}

/** An up/chunk message of all records. */
export function chunkOf(records: readonly LogRecord[], options: BatchOptions = {}): Buffer {
  return messageOf(partsOf(records, options));
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A body's records in the order of their seqs. */
export function readBody(
  body: Uint8Array,
  from: { readonly s0: number; readonly mono0: number },
): readonly ChunkRecord[] {
  return recordsOfChunk(readChunk(body, from));
}
