import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { storeCommand } from "../../../simulators/service/ingest/commands.ts";
import { row, rows, run } from "../../../simulators/service/storage/db.ts";
import { takeDigest } from "../../../simulators/service/ingest/digest.ts";
import { rangeHash } from "../../../simulators/service/ingest/canonical.ts";
import { recordsOf, storedRange, type StoredRecord } from "../../../simulators/service/ingest/records.ts";
import { type ChunkAck, ingestChunk } from "../../../simulators/service/ingest/store.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { MAX_ZIPPED_BYTES, unpack } from "../../../simulators/service/ingest/unpack.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import { chunkOf, messageOf, partsOf, sha256Of } from "./chunk-log.ts";
import { batchOf, type Bench, boundBench, claimBody, EPOCH, HOUR, type LogRecord, MINUTE } from "./service-log.ts";

const readings = (count: number, first = 0): LogRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: "r",
    tag: (first + i) % 3 === 0 ? "mode" : "gas",
    mono: (first + i) * 1000,
    value: first + i,
    quality: "good",
  }));

const HOURLY: LogRecord = { kind: "d", tag: "", mono: 4_000, value: { hour: EPOCH }, quality: "good" };
/** Facts before, among and behind the records. */
const WITH_FACTS = [HOURLY, ...readings(5), HOURLY, HOURLY, ...readings(5, 5), HOURLY];

function give({ db }: Bench, message: Uint8Array, gatewayId = "gw-1"): ChunkAck {
  return ingestChunk(db, { gatewayId, nowMs: EPOCH }, message);
}

function counts({ db }: Bench): { readonly segments: number; readonly rows: number } {
  const count = (table: string): number => row<{ n: number }>(db, `SELECT count(*) AS n FROM ${table}`)?.n ?? -1;
  return { segments: count("segments"), rows: count("records") };
}

function storedOf({ db }: Bench): ReturnType<typeof storedRange> {
  const stream = findStream(db, "stream-1");
  return stream === undefined ? [] : storedRange(db, stream, [1, Number.MAX_SAFE_INTEGER]);
}

/** Returns the stored records if the same records arrive as one batch. */
function asBatch(records: readonly LogRecord[], s0 = 1): ReturnType<typeof storedRange> {
  const other = boundBench();
  other.ingest(batchOf(records, { s0 }));
  return storedOf(other);
}

describe("a chunk (compressed block of records) at the service", () => {
  it("is stored unchanged with its facts (derived records) as rows, is acked by its hash, and is ignored if repeated", () => {
    const bench = boundBench();
    const message = chunkOf(WITH_FACTS);
    const ack = {
      st: "stream-1",
      s0: 2,
      n: 14,
      chunk: sha256Of(message),
      reject: [],
      conflict: null,
      acked_seq: 14,
      newest_seq: 14,
      server_time: EPOCH,
      window: 4,
    };
    expect(give(bench, message)).toEqual(ack);
    expect(counts(bench)).toEqual({ segments: 1, rows: 4 });
    expect(storedOf(bench)).toEqual(asBatch(WITH_FACTS));
    const kept = rows<{ message: Uint8Array }>(bench.db, "SELECT message FROM segments");
    expect(kept.map((one) => sha256Of(one.message))).toEqual([sha256Of(message)]);
    expect(give(bench, message)).toEqual(ack);
    expect(counts(bench)).toEqual({ segments: 1, rows: 4 });
    expect(oracle(bench.db)).toMatchObject([{ count: 14, ranges: [[1, 14]], duplicates_offered: 14, acked_seq: 14 }]);
  });

  it("is ignored if its records are already stored, however they were compressed and divided", () => {
    const bench = boundBench();
    give(bench, chunkOf(readings(10)));
    const { head, ...more } = partsOf(readings(10));
    const other = messageOf({ head: { later: true, ...head }, ...more });
    expect(give(bench, other)).toMatchObject({ chunk: sha256Of(other), conflict: null, acked_seq: 10 });
    expect(give(bench, chunkOf(readings(15, 5), { s0: 6 }))).toMatchObject({ n: 15, conflict: null, acked_seq: 20 });
    expect(bench.ingest(batchOf(readings(20)))).toMatchObject({ conflict: null, acked_seq: 20 });
    expect(counts(bench)).toEqual({ segments: 1, rows: 10 });
    expect(storedOf(bench)).toEqual(asBatch(readings(20)));
  });

  it("is stored as single rows if a sequence number is missing", () => {
    const bench = boundBench();
    const { head, ...more } = partsOf(readings(10));
    const message = messageOf({ head: { ...head, to: 12 }, ...more });
    expect(give(bench, message)).toMatchObject({ n: 10, chunk: sha256Of(message), acked_seq: 10, newest_seq: 10 });
    expect(counts(bench)).toEqual({ segments: 0, rows: 10 });
    expect(give(bench, chunkOf(readings(3, 12), { s0: 13 }))).toMatchObject({ acked_seq: 10, newest_seq: 15 });
    expect(bench.ingest(batchOf(readings(2, 10), { s0: 11 }))).toMatchObject({ acked_seq: 15 });
  });

  it.each<[string, LogRecord]>([
    ["a clock record", { kind: "t", tag: "", mono: 2_000, value: { wall: EPOCH, state: "synced" }, quality: "good" }],
    [
      "a gap record",
      { kind: "g", tag: "", mono: 2_000, value: { from: 20, to: 30, reason: "budget" }, quality: "good" },
    ],
    ["a withdrawal of an entry", { kind: "x", tag: "", mono: 2_000, value: { seq: 1 }, quality: "good" }],
  ])("is stored as single rows if it contains %s, with the same effect as a batch", (_, record) => {
    const bench = boundBench();
    const records = [...readings(5), record, ...readings(5, 6)];
    expect(give(bench, chunkOf(records))).toMatchObject({ n: 11, reject: [], conflict: null, acked_seq: 11 });
    expect(counts(bench)).toEqual({ segments: 0, rows: 11 });
    const other = boundBench();
    other.ingest(batchOf(records));
    for (const table of ["clock_words", "seq_gaps", "records"]) {
      const of = (one: Bench): unknown[] => rows(one.db, `SELECT * FROM ${table}`);
      expect([table, of(bench).length]).toEqual([table, of(other).length]);
    }
  });

  it("is rejected as a whole if one of its records conflicts with a stored record, and the ack names the conflict", () => {
    const bench = boundBench();
    give(bench, chunkOf(readings(10)));
    const before = [storedOf(bench), counts(bench)];
    const message = chunkOf(
      readings(10, 1).map((record) => ({ ...record, mono: record.mono - 1000 })),
      { s0: 5 },
    );
    expect(give(bench, message)).toMatchObject({
      chunk: sha256Of(message),
      n: 10,
      conflict: 5,
      acked_seq: 10,
      newest_seq: 10,
    });
    expect([storedOf(bench), counts(bench)]).toEqual(before);
    expect(oracle(bench.db)).toMatchObject([{ conflicts_offered: 1, count: 10 }]);
  });

  it("is stored except for an invalid record, which the ack rejects", () => {
    const bench = boundBench();
    const bad = WITH_FACTS.with(3, { kind: "r", tag: "gas", mono: 2_000, value: null, quality: "good" });
    const message = chunkOf(bad);
    const ack = give(bench, message);
    expect(ack).toMatchObject({ chunk: sha256Of(message), n: 14, conflict: null, acked_seq: 14 });
    expect(ack.reject).toEqual([{ seq: 4, reason: "no value goes with quality bad alone" }]);
    expect(oracle(bench.db)).toMatchObject([{ count: 13, rejected: [{ seq: 4 }] }]);
    expect(storedOf(bench)).toEqual(asBatch(bad));
  });

  it.each<[string, Partial<LogRecord>]>([
    ["a reading without a tag", { tag: "" }],
    ["an unknown kind", { kind: "z" }],
    [
      "coverage that ends before it begins",
      { kind: "h", tag: "fast", value: { group: "fast", from: 2_000, to: 1_000, polls: 2, max_interval_ms: 1 } },
    ],
    ["coverage without a time span", { kind: "h", tag: "fast", value: { group: "fast" } }],
    ["an object as a reading", { value: { a: 1 } }],
    ["a time beyond the maximum", { mono: 1e15 }],
    [
      "a value nested too deeply",
      { kind: "e", tag: "", value: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) as unknown },
    ],
  ])("is rejected for the same reason as a batch if it contains %s", (_, change) => {
    const bad = { ...readings(1, 5)[0], ...change } as LogRecord;
    const bench = boundBench();
    const other = boundBench();
    const records = [...readings(5), bad];
    const ack = give(bench, chunkOf(records));
    const said = other.ingest(batchOf(records));
    expect(ack.reject).toHaveLength(1);
    expect(ack.reject).toEqual(said.reject);
    expect(storedOf(bench)).toEqual(storedOf(other));
  });

  it("is rejected as a whole if it is malformed or names another gateway, stream or generation", () => {
    const bench = boundBench();
    const { head, ...more } = partsOf(WITH_FACTS);
    const refused = (change: Readonly<Record<string, unknown>>, gateway?: string): unknown =>
      give(bench, messageOf({ head: { ...head, ...change }, ...more }), gateway).error;
    expect(refused({ gen: 2 })).toBe("generation");
    expect(refused({ st: "other" })).toBe("not_bound");
    expect(refused({}, "gw-2")).toBe("foreign_gateway");
    expect(refused({ gw: "gw-2" }, "gw-2")).toBe("not_bound");
    expect(refused({ mono0: "0" })).toBe("malformed: mono0");
    expect(refused({ n: 13 })).toBe("malformed: n");
    expect(refused({ to: 12 })).toBe("malformed: to");
    expect(refused({ from: 3 })).toBe("malformed: s0");
    expect(refused({ from: 2 })).toBe("malformed: facts");
    expect(refused({ facts: 3 })).toBe("malformed: facts");
    const doubled = more.facts.with(1, [3, ...(more.facts[1] as unknown[]).slice(1)]);
    expect(give(bench, messageOf({ head, ...more, facts: doubled })).error).toBe("malformed: facts");
    const message = chunkOf(WITH_FACTS);
    expect(give(bench, message.subarray(0, 200))).toMatchObject({
      st: "stream-1",
      s0: 2,
      n: 0,
      error: expect.stringMatching(/^malformed: /) as string,
    });
    const large = Buffer.alloc(MAX_ZIPPED_BYTES + 1);
    expect(give(bench, large)).toMatchObject({ st: "", s0: 0, n: 0, error: "too_large", chunk: sha256Of(large) });
    expect(counts(bench)).toEqual({ segments: 0, rows: 0 });
    run(bench.db, "UPDATE streams SET withdrawn_at = 1");
    expect(give(bench, message).error).toBe("withdrawn");
  });

  it("from a replaced gateway is accepted only for records from before the replacement", () => {
    const bench = boundBench();
    const { service, caller, db } = bench;
    const now = EPOCH + HOUR;
    const body = claimBody("gw-2", { intent: "take_over", expected_generation: 1 });
    provision(service, { caller: caller("admin"), body, now });
    expect(oracle(db)).toMatchObject([{}, { stream_id: "stream of gw-2" }]);
    expect(give(bench, chunkOf(readings(5)))).toMatchObject({ reject: [], acked_seq: 5 });
    const late = [...readings(1, 5), { kind: "r", tag: "mode", mono: HOUR + MINUTE, value: 1, quality: "good" }];
    expect(give(bench, chunkOf(late, { s0: 6 })).reject).toEqual([{ seq: 7, reason: "recorded after the swap" }]);
    expect(counts(bench)).toEqual({ segments: 1, rows: 1 });
  });
});

describe("a chunk that the service stored whole", () => {
  it("is split into rows when a backfill (requested resend) replaces one of its records", () => {
    const bench = boundBench();
    const { db } = bench;
    const ours = readings(12).map((record, i) => (i === 6 ? { ...record, value: 99 } : record));
    give(bench, chunkOf(ours.slice(0, 4)));
    give(bench, chunkOf(ours.slice(4, 8), { s0: 5 }));
    give(bench, chunkOf(ours.slice(8), { s0: 9 }));
    expect(counts(bench)).toEqual({ segments: 3, rows: 0 });
    const hours = [{ hour: EPOCH, from: 1, to: 12, hash: rangeHash(asBatch(readings(12))) }];
    const digest = { id: "d1", stream_id: "stream-1", serial: "ABCD1234", hours };
    const command = takeDigest(db, { id: "gw-1", nowMs: EPOCH }, digest);
    expect(command?.args).toMatchObject({ ranges: [[1, 12]] });
    expect(bench.ingest(batchOf(readings(12)))).toMatchObject({ conflict: null, acked_seq: 12 });
    expect(storedOf(bench)).toEqual(asBatch(readings(12)));
    expect(counts(bench)).toEqual({ segments: 2, rows: 4 });
    expect(rows(db, "SELECT seq, command_id FROM replaced_records")).toEqual([{ seq: 7, command_id: command?.id }]);
    const again = takeDigest(db, { id: "gw-1", nowMs: EPOCH }, { ...digest, id: "d2" });
    expect(again?.args).toMatchObject({ ranges: [] });
  });

  it("is accepted as the answer to a backfill (a resend that the service requested)", () => {
    const bench = boundBench();
    const { db } = bench;
    give(bench, chunkOf(readings(8, 100)));
    const sent = { gateway_id: "gw-1", type: "backfill", args: {}, expires_at: EPOCH + HOUR } as const;
    const { id } = storeCommand(db, sent, EPOCH);
    run(db, "INSERT INTO backfills (command_id, stream_no, from_seq, to_seq) VALUES (?, 1, 1, 8)", id);
    expect(give(bench, chunkOf(readings(8)))).toMatchObject({ conflict: null, reject: [], acked_seq: 8 });
    expect(storedOf(bench)).toEqual(asBatch(readings(8)));
  });

  it("has the same corrected times as the same records in a batch", () => {
    const clock = (mono: number, wall: number, state: string): LogRecord => {
      return { kind: "t", tag: "", mono, value: { wall, state, witness: "service" }, quality: "good" };
    };
    const ahead = 5 * HOUR;
    const hour: LogRecord = {
      kind: "h",
      tag: "fast",
      mono: 3_000,
      value: { group: "fast", from: 3_000, to: 9_000, polls: 7, max_interval_ms: 1_000 },
      quality: "good",
    };
    const told = (isChunk: boolean): StoredRecord[] => {
      const bench = boundBench();
      const wrong = { epoch: EPOCH + ahead };
      const give1 = (records: LogRecord[], options: { s0: number; epoch?: number; boot?: string }): unknown =>
        isChunk && records.length > 1
          ? give(bench, chunkOf(records, options))
          : bench.ingest(batchOf(records, options));
      give1([clock(0, EPOCH + ahead, "synced")], { s0: 1, ...wrong });
      give1([...readings(3, 1), hour, ...readings(5, 4)], { s0: 2, ...wrong });
      // A boot without a confirmed time continues after it.
      give1([clock(20_000, EPOCH + 20_000, "stepped")], { s0: 11, ...wrong });
      give1(readings(5, 21), { s0: 12 });
      // A boot without a right time continues after it.
      const second = { boot: "boot-2", epoch: EPOCH + 9 * HOUR };
      give1([clock(0, EPOCH + 9 * HOUR, "synced")], { s0: 17, ...second });
      give1(readings(4, 1), { s0: 18, ...second });
      give1([clock(0, EPOCH + HOUR, "synced")], { s0: 22, boot: "boot-3", epoch: EPOCH + HOUR });
      const stream = findStream(bench.db, "stream-1");
      if (stream === undefined) throw new Error("no stream");
      expect(counts(bench).segments).toBe(isChunk ? 1 : 0);
      return [...recordsOf(bench.db, stream, {})];
    };
    const inChunks = told(true);
    expect(inChunks.map(([, , , , time]) => time - EPOCH).slice(0, 3)).toEqual([0, 1_000, 2_000]);
    expect(inChunks).toEqual(told(false));
  });
});

describe("a zstd-compressed batch", () => {
  const text = JSON.stringify(batchOf(readings(50)));

  it("is recognized by its first bytes, and is rejected as malformed if truncated", () => {
    expect(unpack(zstdCompressSync(text))).toEqual({ batch: JSON.parse(text) as unknown });
    expect(unpack(zstdCompressSync(text).subarray(0, 40))).toEqual({ error: "malformed" });
  });

  it("is rejected if its decompressed length or the memory that it requires exceeds the limit", () => {
    expect(unpack(zstdCompressSync(Buffer.alloc(64 * 1024 * 1024)))).toEqual({ error: "too_large" });
    // A frame that asks for 2^(10 + exponent) bytes of memory; in it one last block, raw (RFC 8878, 3.1.1).
    const frame = (exponent: number): Buffer => {
      const block = Buffer.alloc(3);
      block.writeUIntLE(8 * text.length + 1, 0, 3);
      return Buffer.concat([Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3), block, Buffer.from(text)]);
    };
    expect(unpack(frame(13))).toEqual({ batch: JSON.parse(text) as unknown });
    expect(unpack(frame(14))).toEqual({ error: "malformed" });
  });
});
