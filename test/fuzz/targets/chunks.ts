import { deflateRawSync, inflateRawSync } from "node:zlib";
import { canonical } from "../../../simulators/service/ingest/canonical.ts";
import { recordsOf, type StoredRecord } from "../../../simulators/service/ingest/records.ts";
import { type ChunkAck, ingestChunk } from "../../../simulators/service/ingest/store.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { unpackChunk } from "../../../src/store/log/chunk.ts";
import { byteSink, ByteSource } from "../../../src/store/log/columns.ts";
import { batchOf, type Bench, boundBench, EPOCH, type LogRecord } from "../../simulators/service/service-log.ts";
import { EDITS } from "../edits.ts";
import type { Judge, Target, Verdict } from "../target.ts";

/** Records already stored, so that records of a chunk may be duplicates or conflicts. */
const HELD: readonly LogRecord[] = Array.from({ length: 20 }, (_, i) => {
  return { kind: "r", tag: "mode", mono: i * 1_000, value: i % 9, quality: "good" };
});

interface Head {
  readonly s0: number;
  readonly boot: string;
  readonly mono0: number;
  readonly t0: number;
}

/** The parts of a message, with its blocks before compression. */
interface Parts {
  readonly header: Buffer;
  /** The body up to the blocks' lengths. */
  readonly start: Buffer;
  readonly a: Buffer;
  readonly b: Buffer;
  readonly facts: Buffer;
}

function cut(message: Buffer): { readonly header: Buffer; readonly body: Buffer; readonly facts: Buffer } {
  const source = new ByteSource(message.subarray(1));
  const header = source.block();
  const body = source.block();
  return { header, body, facts: message.subarray(1 + source.at) };
}

function partsOf(message: Buffer): Parts {
  const { header, body, facts } = cut(message);
  const source = new ByteSource(body.subarray(2));
  source.number();
  for (let left = 2 * source.number(); left > 0; left -= 1) source.number();
  const start = body.subarray(0, 2 + source.at);
  const lengths = [source.number(), source.number()] as const;
  const end = body.length;
  const blocks = body.subarray(2 + source.at);
  const a = blocks.subarray(0, lengths[0]);
  const b = blocks.subarray(lengths[0], end);
  const lines = facts.length === 0 ? facts : inflateRawSync(facts);
  return { header, start, a: inflateRawSync(a), b: inflateRawSync(b), facts: lines };
}

function joined({ header, start, a, b, facts }: Parts): Buffer {
  const one = deflateRawSync(a);
  const other = deflateRawSync(b);
  const body = byteSink();
  body.number(one.length);
  body.number(other.length);
  const message = byteSink();
  message.block(header);
  message.block(Buffer.concat([start, body.bytes(), one, other]));
  return Buffer.concat([Buffer.of(1), message.bytes(), facts.length === 0 ? facts : deflateRawSync(facts)]);
}

/** Changes some bytes of one part and adapts the rest of the message to it, or changes any bytes of the message. */
function otherPart(input: Buffer, random: () => number): Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const edited = (bytes: Buffer): Buffer =>
    EDITS[below(EDITS.length)]?.(bytes, below(2 * bytes.length), below(256)) ?? bytes;
  const name = (["header", "start", "a", "b", "facts", "message"] as const)[below(6)] ?? "message";
  if (name === "message") return edited(input);
  const parts = partsOf(input);
  return joined({ ...parts, [name]: edited(parts[name]) });
}

/** Returns a chunk's records as the gateway's own reader decodes them, and its facts unchanged. */
function toldBy(message: Buffer): StoredRecord[] {
  const { header, body, facts } = cut(message);
  const { s0, boot, mono0, t0 } = JSON.parse(header.toString()) as Head;
  const records = unpackChunk({ first_seq: s0, boot, mono0, t0 }, body, () => true).map(
    ({ kind, tag, mono, time, value, quality, seq }): StoredRecord => {
      return [kind, tag, boot, mono, time, canonical(value), quality, seq];
    },
  );
  const lines = facts.length === 0 ? [] : inflateRawSync(facts).toString().split("\n").slice(0, -1);
  const told = lines.map((line): StoredRecord => {
    const [seq, kind, from, mono, time, tag, value, quality] = JSON.parse(line) as [
      ...[number, string, string, number, number, string, unknown, string],
    ];
    return [kind, tag, from, mono, time, canonical(value), quality, seq];
  });
  return [...records, ...told];
}

function storedOf({ db }: Bench): StoredRecord[] {
  const stream = findStream(db, "stream-1");
  return stream === undefined ? [] : [...recordsOf(db, stream, {})];
}

function judged(bench: Bench, input: Buffer, before: readonly StoredRecord[]): Verdict {
  const ack = ingestChunk(bench.db, { gatewayId: "gw-1", nowMs: EPOCH }, input);
  const stored = storedOf(bench);
  const isRefused = ack.error !== undefined || ack.conflict !== null;
  return JSON.stringify(stored) === JSON.stringify(expected(input, before, ack))
    ? isRefused
      ? "refused"
      : "taken"
    : {
        wrong: `acked as ${JSON.stringify(ack)}, stored ${JSON.stringify(stored.slice(before.length)).slice(0, 2_000)}`,
      };
}

/**
 * Returns the records that must be stored: none if the chunk is rejected, otherwise all except those that the ack
 * rejects.
 */
function expected(input: Buffer, before: readonly StoredRecord[], ack: ChunkAck): readonly StoredRecord[] {
  if (ack.error !== undefined || ack.conflict !== null) return before;
  const known = new Set([...before.map((record) => record[7]), ...ack.reject.map(({ seq }) => seq)]);
  const fresh = toldBy(input).filter((record) => !known.has(record[7]));
  return [...before, ...fresh].sort((one, other) => one[7] - other[7]);
}

/**
 * Judges a chunk's message with any bytes: it is rejected with an error, or stored as the gateway itself would read it.
 */
function judgeChunks(): Judge {
  const bench = boundBench();
  bench.ingest(batchOf(HELD));
  const before = storedOf(bench);
  return (input) => {
    bench.db.exec("BEGIN");
    try {
      return judged(bench, input, before);
    } finally {
      bench.db.exec("ROLLBACK");
    }
  };
}

export const chunks: Target = { name: "chunks", format: "hex", ci_runs: 1_000, open: judgeChunks, mutate: otherPart };
