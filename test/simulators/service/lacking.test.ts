import { describe, expect, it } from "vitest";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { row, run } from "../../../simulators/service/storage/db.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { type Downlink, takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import { chunkOf } from "./chunk-log.ts";
import { readingsFrom } from "./offering-gateways.ts";
import { batchOf, boundBench, EPOCH, HOUR, MINUTE } from "./service-log.ts";

const SERIAL = "ABCD1234";

/** A service that holds 1 to 20 and 31 to 40 of a stream, as after the restore of a backup. */
function restored() {
  const { db, ingest } = boundBench();
  const take = (topic: string, message: unknown, now = EPOCH): Downlink => {
    return takeUplink(db, { gateway: "gw-1", topic, payload: Buffer.from(JSON.stringify(message)), now });
  };
  const own = { stream_id: "stream-1", serial: SERIAL, generation: 1 };
  const hello = (more: object = {}, now = EPOCH): Downlink =>
    take("hello", { booths: [{ ...own, oldest_seq: 1, newest_seq: 60, ...more }] }, now);
  const state = (acked_seq: number, now = EPOCH): Downlink =>
    take("state", { online: true, session: "s", booths: [{ ...own, acked_seq }] }, now);
  const send = (from: number, count: number): unknown => ingest(batchOf(readingsFrom(from, count), { s0: from }));
  hello();
  send(1, 20);
  send(31, 10);
  const result = (cmd_id: string, missing: number): Downlink =>
    take("result", { cmd_id, state: "done", result: { records: 1, batches: 1, missing, refused: 0 }, error: "" });
  return { db, take, hello, state, send, result };
}

const first = ({ commands = [] }: Downlink): { id: string; args: unknown } => {
  const [command] = commands;
  if (command === undefined) throw new Error("no command");
  return command;
};

const request = (ranges: readonly (readonly number[])[], lacks: number): unknown => ({
  serial: SERIAL,
  stream_id: "stream-1",
  ranges,
  lacks,
});

describe("a service that lacks records which it had acked", () => {
  it.each(["hello", "heartbeat"])("requests exactly the missing ranges below the cursor that a %s states", (what) => {
    const { hello, state } = restored();
    const { commands } = what === "hello" ? hello({ acked_seq: 50 }) : state(50);
    expect(commands).toMatchObject([
      {
        type: "backfill",
        args: request(
          [
            [21, 30],
            [41, 50],
          ],
          20,
        ),
      },
    ]);
  });

  it("requests nothing if it holds every record below the cursor, or if the gateway doesn't state its cursor", () => {
    const { hello, state, send } = restored();
    expect(hello()).toEqual({ commands: [] });
    expect(state(20)).toEqual({ commands: [] });
    send(21, 10);
    expect(hello({ acked_seq: 40 })).toEqual({ commands: [] });
  });

  it("ignores a cursor of another gateway's stream", () => {
    const { db } = restored();
    const message = { booths: [{ stream_id: "stream-1", serial: SERIAL, generation: 1, acked_seq: 50 }] };
    const payload = Buffer.from(JSON.stringify(message));
    expect(takeUplink(db, { gateway: "gw-2", topic: "state", payload, now: EPOCH })).toEqual({ commands: [] });
  });

  it("repeats a request that the gateway has not accepted, and makes no second one", () => {
    const { hello, state, take } = restored();
    const { id } = first(state(50));
    expect(first(state(55)).id).toBe(id);
    take("result", { cmd_id: id, state: "accepted" });
    expect(state(55)).toEqual({ commands: [] });
    expect(hello({ acked_seq: 55 }).commands?.map((command) => command.id)).toEqual([id]);
  });

  it("requests the rest as soon as a request is done, until it holds everything", () => {
    const { db, state, send, result } = restored();
    const { id } = first(state(50));
    send(21, 10);
    const next = first(result(id, 0));
    expect(next.args).toEqual(request([[41, 50]], 10));
    expect(oracle(db)).toMatchObject([{ lacks: 10 }]);
    send(41, 10);
    expect(result(next.id, 0)).toEqual({ commands: [] });
    expect(oracle(db)).toMatchObject([{ count: 50, acked_seq: 50, lacks: 0 }]);
    expect(state(50)).toEqual({ commands: [] });
  });

  it("declares records that the gateway no longer keeps as a gap, and requests them no more", () => {
    const { db, state, send, result } = restored();
    const { id } = first(state(50));
    send(41, 10);
    expect(result(id, 10)).toEqual({ commands: [] });
    expect(state(50)).toEqual({ commands: [] });
    const reason = "neither the service nor the gateway holds these records any more";
    expect(oracle(db)).toMatchObject([{ acked_seq: 50, lacks: 0, gaps: [{ from: 21, to: 30, reason }] }]);
  });

  it("does not believe a gateway whose number of missing records differs from its own", () => {
    const { db, state, result } = restored();
    const { id } = first(state(50));
    expect(result(id, 3)).toEqual({ commands: [] });
    expect(oracle(db)).toMatchObject([{ acked_seq: 20, lacks: 20, gaps: [] }]);
  });

  it("repeats a request without effect after an hour, and one that failed after 5 minutes", () => {
    const { state, take, result } = restored();
    const { id } = first(state(50));
    result(id, 0);
    expect(state(50, EPOCH + HOUR - 1)).toEqual({ commands: [] });
    const again = first(state(50, EPOCH + HOUR));
    expect(again.id).not.toBe(id);
    take("result", { cmd_id: again.id, state: "failed", result: null, error: "no booth is bound here" }, EPOCH + HOUR);
    expect(state(50, EPOCH + HOUR + 5 * MINUTE - 1)).toEqual({ commands: [] });
    expect(state(50, EPOCH + HOUR + 5 * MINUTE).commands).toHaveLength(1);
  });

  it("requests also what it lacks of a renamed log's previous name", () => {
    const { hello } = restored();
    const renamed = { stream_id: "stream-2", oldest_seq: 46, predecessor: { stream_id: "stream-1", last_seq: 45 } };
    const asked = hello({ ...renamed, acked_seq: 48 }).commands ?? [];
    expect(asked.map(({ args }) => args)).toEqual([
      { ...(request([[46, 48]], 3) as object), stream_id: "stream-2" },
      request(
        [
          [21, 30],
          [41, 45],
        ],
        15,
      ),
    ]);
  });

  it("asks for at most a thousand ranges at once", () => {
    const { db, state, result } = restored();
    const holes = "INSERT INTO seq_gaps (stream_no, from_seq, to_seq, reason, rejected) VALUES (?, ?, ?, 'r', 0)";
    const id = findStream(db, "stream-1")?.id ?? 0;
    for (let seq = 42; seq <= 3_000; seq += 2) run(db, holes, id, seq, seq);
    const { args } = first(state(3_000));
    expect((args as { ranges: unknown[] }).ranges).toHaveLength(1_000);
    expect(result(first(state(3_000)).id, 0)).toEqual({ commands: [] });
  });

  it("gives the stream a version that no process has computed figures for", () => {
    const { db, state } = restored();
    const version = (): number => row<{ version: number }>(db, "SELECT version FROM streams")?.version ?? 0;
    const before = version();
    state(50);
    expect(version()).toBeGreaterThanOrEqual(before + 1_000_000);
  });

  it("counts every record of a chunk (compressed block) as held", () => {
    const { hello, db } = restored();
    const payload = chunkOf(readingsFrom(41), { s0: 41 });
    expect(takeUplink(db, { gateway: "gw-1", topic: "chunk", payload, now: EPOCH }).ack?.n).toBe(10);
    expect(first(hello({ acked_seq: 50 })).args).toEqual(request([[21, 30]], 10));
  });
});
