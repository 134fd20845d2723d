import { gzipSync } from "node:zlib";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { type Db, rows, run } from "../../../simulators/service/storage/db.ts";
import { storeCommand } from "../../../simulators/service/ingest/commands.ts";
import { takeHello } from "../../../simulators/service/ingest/hello.ts";
import { unpack, MAX_UNZIPPED_BYTES } from "../../../simulators/service/ingest/unpack.ts";
import { takeUplink, uplinksHere } from "../../../simulators/service/ingest/uplink.ts";
import { provision } from "../../../simulators/service/provisioning/provision.ts";
import type { Uplink } from "../../../simulators/service/storage/port.ts";
import { batchOf, bench, boundBench, claimBody, EPOCH, HOUR, type LogRecord, MINUTE } from "./service-log.ts";

const readings = (count: number, first = 0): LogRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    kind: "r",
    tag: "mode",
    mono: (first + i) * 1000,
    value: first + i,
    quality: "good",
  }));

/** The hash as docs/reference/wire.md words it, made without the service's code. */
const hashOf = (records: readonly LogRecord[]): string => {
  const lines = records.map(
    ({ kind, tag, mono, value, quality }) => `${JSON.stringify([kind, tag, "boot-1", mono, value, quality])}\n`,
  );
  return createHash("sha256").update(lines.join("")).digest("hex");
};

describe("the reference service's ingest", () => {
  it("acks a batch with the hash of the stored records, and ignores the same batch if repeated", () => {
    const { db, ingest } = boundBench();
    const batch = batchOf(readings(10));
    const ack = {
      st: "stream-1",
      s0: 1,
      n: 10,
      hash: hashOf(readings(10)),
      reject: [],
      conflict: null,
      acked_seq: 10,
      newest_seq: 10,
      server_time: EPOCH,
      window: 4,
    };
    expect(ingest(batch)).toEqual(ack);
    expect(ingest(batch)).toEqual(ack);
    expect(oracle(db)).toMatchObject([{ count: 10, ranges: [[1, 10]], duplicates_offered: 10 }]);
  });

  it("sorts the keys of values at every depth before it computes the hash", () => {
    const { ingest } = boundBench();
    const value = { reason: "x", event: "y", detail: { b: [{ d: 1, c: 2 }], a: null } };
    const sorted = { detail: { a: null, b: [{ c: 2, d: 1 }] }, event: "y", reason: "x" };
    const record = { kind: "e", tag: "", mono: 0, quality: "good" };
    expect(ingest(batchOf([{ ...record, value }])).hash).toBe(hashOf([{ ...record, value: sorted }]));
  });

  it("accepts batches in any order, even overlapping batches", () => {
    const { db, ingest } = boundBench();
    expect(ingest(batchOf(readings(10, 20), { s0: 21 }))).toMatchObject({ acked_seq: 0, newest_seq: 30 });
    expect(ingest(batchOf(readings(10, 0), { s0: 1 })).acked_seq).toBe(10);
    expect(ingest(batchOf(readings(15, 5), { s0: 6 })).acked_seq).toBe(30);
    expect(oracle(db)).toMatchObject([{ count: 30, ranges: [[1, 30]], duplicates_offered: 5 }]);
  });

  it("stores nothing from the first conflicting record on, and keeps the records stored earlier", () => {
    const { db, ingest } = boundBench();
    ingest(batchOf(readings(10)));
    const other = readings(20).map((record, i) => (i === 7 ? { ...record, value: 99 } : record));
    expect(ingest(batchOf(other))).toMatchObject({ conflict: 8, n: 20, hash: hashOf(readings(7)), acked_seq: 10 });
    expect(oracle(db)).toMatchObject([{ count: 10, conflicts_offered: 1 }]);
  });

  it("ignores a predecessor stream that ends before sequence number 1, so that the stream starts at 1", () => {
    const { db, ingest } = boundBench();
    const bogus = { stream_id: "stream-1", serial: "abcd1234", generation: 1, oldest_seq: 1 };
    run(db, "UPDATE streams SET first_seq = 0, acked_seq = -1");
    takeHello(
      db,
      { id: "gw-1", nowMs: EPOCH },
      { booths: [{ ...bogus, predecessor: { stream_id: "x", last_seq: -1 } }] },
    );
    expect(ingest(batchOf(readings(10)))).toMatchObject({ acked_seq: 10, newest_seq: 10 });
    expect(rows(db, "SELECT predecessor_stream_id FROM streams")).toEqual([{ predecessor_stream_id: null }]);
  });

  it("continues the predecessor's sequence numbers in a forked stream", () => {
    const { db, ingest } = boundBench();
    ingest(batchOf(readings(10)));
    const forked = { stream_id: "stream-2", serial: "abcd1234", generation: 1, oldest_seq: 1, newest_seq: 12 };
    takeHello(
      db,
      { id: "gw-1", nowMs: EPOCH },
      { booths: [{ ...forked, predecessor: { stream_id: "stream-1", last_seq: 7 } }] },
    );
    expect(ingest(batchOf(readings(5, 50), { stream: "stream-2", s0: 8 })).acked_seq).toBe(12);
  });

  it("rejects an invalid record, and accepts the rest of the batch", () => {
    const { db, ingest } = boundBench();
    const bad = readings(5);
    bad[2] = { kind: "h", tag: "fast", mono: 2000, value: { group: "fast" }, quality: "good" };
    const ack = ingest(batchOf(bad));
    expect(ack).toMatchObject({ conflict: null, acked_seq: 5, hash: hashOf(bad.filter((_, i) => i !== 2)) });
    expect(ack.reject.map((entry) => entry.seq)).toEqual([3]);
    expect(ingest(batchOf(bad)).reject).toEqual(ack.reject);
    expect(oracle(db)).toMatchObject([{ count: 4, rejected: [{ seq: 3 }] }]);
  });

  it.each<[string, LogRecord]>([
    ["an unknown kind", { kind: "z", tag: "", mono: 0, value: {}, quality: "good" }],
    ["the value null and good quality", { kind: "r", tag: "mode", mono: 0, value: null, quality: "good" }],
    ["an object as its reading", { kind: "r", tag: "mode", mono: 0, value: {}, quality: "good" }],
    ["an unknown quality", { kind: "r", tag: "mode", mono: 0, value: 1, quality: "best" }],
    [
      "a value nested too deeply",
      {
        kind: "e",
        tag: "",
        mono: 0,
        value: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) as unknown,
        quality: "good",
      },
    ],
  ])("rejects a record with %s", (_, record) => {
    const { ingest } = boundBench();
    expect(ingest(batchOf([record])).reject).toHaveLength(1);
  });

  it("advances the acked sequence number over a range that the gateway dropped", () => {
    const { ingest } = boundBench();
    ingest(batchOf(readings(5)));
    const gap = { kind: "g", tag: "", mono: 99_000, value: { from: 6, to: 90, reason: "budget" }, quality: "good" };
    expect(ingest(batchOf([...readings(2, 90), gap], { s0: 91 })).acked_seq).toBe(93);
  });

  it("rejects a batch as a whole if it is malformed or names another gateway, stream or generation", () => {
    const { db, ingest } = boundBench();
    expect(ingest({ ...batchOf(readings(3)), dt: [0] })).toMatchObject({
      st: "stream-1",
      n: 0,
      error: "malformed: columns of different length",
    });
    expect(ingest("nonsense")).toMatchObject({ n: 0, acked_seq: 0 });
    expect(ingest(batchOf(readings(3), { generation: 2 }))).toMatchObject({ n: 0, error: "generation" });
    expect(ingest(batchOf(readings(3), { stream: "other" }))).toMatchObject({ n: 0, error: "not_bound" });
    expect(ingest(batchOf(readings(3)), "gw-2")).toMatchObject({ n: 0, error: "foreign_gateway" });
    expect(ingest(batchOf(readings(3), { gateway: "gw-2" }), "gw-2")).toMatchObject({
      n: 0,
      error: "not_bound",
      acked_seq: 0,
    });
    expect(oracle(db)).toMatchObject([{ count: 0 }]);
  });

  it("accepts from a replaced gateway only records from before the replacement", () => {
    const { service, caller, ingest, db } = boundBench();
    const now = EPOCH + HOUR;
    provision(service, {
      caller: caller("admin"),
      body: claimBody("gw-2", { intent: "take_over", expected_generation: 1 }),
      now,
    });
    const late = [...readings(1), { kind: "r", tag: "mode", mono: HOUR + MINUTE, value: 1, quality: "good" }];
    expect(ingest(batchOf(late))).toMatchObject({ n: 2, reject: [{ seq: 2, reason: "recorded after the swap" }] });
    const fresh = batchOf(readings(2, 5000), { gateway: "gw-2", generation: 2, stream: "stream of gw-2" });
    expect(ingest(fresh, "gw-2")).toMatchObject({ n: 2, acked_seq: 2 });
    expect(oracle(db).map((stream) => stream.count)).toEqual([1, 2]);
  });

  it("binds a stream from a hello message only if the gateway holds the booth", () => {
    const { db } = bench();
    const booths = [{ stream_id: "s", serial: "ABCD1234", generation: 1, oldest_seq: 1, newest_seq: 0 }];
    expect(takeHello(db, { id: "gw-1", nowMs: EPOCH }, { booths })).toEqual([]);
    const bound = boundBench();
    expect(takeHello(bound.db, { id: "gw-1", nowMs: EPOCH }, { booths })).toEqual(["s"]);
    expect(takeHello(bound.db, { id: "gw-2", nowMs: EPOCH }, { booths })).toEqual([]);
  });

  it("ignores a command result that another gateway sends", () => {
    const { db } = boundBench();
    const command = { gateway_id: "gw-2", type: "digest", args: {}, expires_at: EPOCH + HOUR } as const;
    const { id } = storeCommand(db, command, EPOCH);
    const payload = Buffer.from(JSON.stringify({ cmd_id: id, state: "done" }));
    const stateAfter = (gateway: string): unknown => {
      takeUplink(db, { gateway, topic: "result", payload, now: EPOCH });
      return rows(db, "SELECT state FROM commands");
    };
    expect(stateAfter("gw-1")).toEqual([{ state: "sent" }]);
    expect(stateAfter("gw-2")).toEqual([{ state: "done" }]);
  });

  it("limits the size of a batch before and after decompression", () => {
    expect(unpack(gzipSync(Buffer.alloc(MAX_UNZIPPED_BYTES + 1, 32)))).toEqual({ error: "too_large" });
    expect(unpack(Buffer.alloc(300 * 1024))).toEqual({ error: "too_large" });
    expect(unpack(Buffer.from("not gzip"))).toEqual({ error: "malformed" });
    expect(unpack(gzipSync("{"))).toEqual({ error: "malformed" });
    const { db } = boundBench();
    const at = { gateway: "gw-1", topic: "batch", now: EPOCH };
    expect(takeUplink(db, { ...at, payload: gzipSync(JSON.stringify(batchOf(readings(3)))) }).ack).toMatchObject({
      n: 3,
      acked_seq: 3,
    });
    expect(takeUplink(db, { ...at, payload: Buffer.from("x") }).ack).toMatchObject({ n: 0, error: "malformed" });
  });
});

describe("uplink messages that arrive together", () => {
  /** Ten records each, one behind the other, of gateway gw-1. */
  const messages = (count: number): Uplink[] =>
    Array.from({ length: count }, (_, nth) => {
      const batch = batchOf(readings(10, 10 * nth), { s0: 10 * nth + 1 });
      return { gateway: "gw-1", topic: "batch", payload: gzipSync(JSON.stringify(batch)), now: EPOCH };
    });

  /** The same store; `writes` counts its transactions, and the record of that seq can't be written. */
  function watched(db: Db, broken?: number) {
    const counts = { writes: 0 };
    const transaction: Db["transaction"] = (kind, work) => {
      counts.writes += 1;
      return db.transaction(kind, work);
    };
    const insert: Db["run"] = (sql, values) => {
      // As a row, or in the message that PostgreSQL keeps.
      const from = Number(values[1]);
      const to = Number(values[2]);
      const isRow = sql.startsWith("INSERT INTO records") && to === broken;
      const isIn = sql.startsWith("INSERT INTO segments") && broken !== undefined && from <= broken && broken <= to;
      if (isRow || isIn) throw new Error("disk full");
      return db.run(sql, values);
    };
    return { counts, store: { ...db, transaction, run: insert } };
  }

  it("are committed in one transaction, with the same acks as if they arrived one by one", async () => {
    const { db } = boundBench();
    const { counts, store } = watched(db);
    const uplinks = uplinksHere(store);
    const taken = await Promise.all(messages(4).map((one) => uplinks.take(one)));
    expect(taken.map(({ ack }) => [ack?.s0, ack?.n, ack?.acked_seq])).toEqual([
      [1, 10, 10],
      [11, 10, 20],
      [21, 10, 30],
      [31, 10, 40],
    ]);
    // The one around all, and in it one a message, which joins it.
    expect(counts.writes).toBe(5);
    expect(oracle(db)).toMatchObject([{ count: 40, ranges: [[1, 40]], duplicates_offered: 0 }]);
  });

  it("are acked except for a message that cannot be written", async () => {
    const { db } = boundBench();
    const uplinks = uplinksHere(watched(db, 25).store);
    const taken = await Promise.allSettled(messages(4).map((one) => uplinks.take(one)));
    expect(taken.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    const held = { count: 30, duplicates_offered: 0 };
    expect(oracle(db)).toMatchObject([
      {
        ...held,
        ranges: [
          [1, 20],
          [31, 40],
        ],
      },
    ]);
  });

  it("are all answered before the service stops, after which new messages are rejected", async () => {
    const { db } = boundBench();
    const uplinks = uplinksHere(db);
    const [one = { gateway: "gw-1", topic: "batch", payload: Buffer.of(), now: EPOCH }] = messages(1);
    const under_way = Promise.all(messages(200).map((one) => uplinks.take(one)));
    expect(uplinks.waiting()).toBe(200);
    await uplinks.stop();
    expect((await under_way).at(-1)?.ack?.acked_seq).toBe(2_000);
    await expect(uplinks.take(one)).rejects.toThrow("the service ends");
  });
});
