import { message } from "../../../src/domain/message.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { storedRange } from "../../../simulators/service/ingest/records.ts";
import { contentLine } from "../../../simulators/service/ingest/canonical.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { createMqttLink } from "../../../src/delivery/mqtt/link.ts";
import type { LinkAccount, LinkSession } from "../../../src/delivery/port.ts";
import type { LogChunk, Placed } from "../../../src/domain/record.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { fillStore, STREAM } from "../../support/filled-store.ts";
import { contentLines } from "../../e2e/delivery-bed.ts";
import { mqttTap, type MqttTap } from "../../e2e/mqtt-tap.ts";
import { claim, type Running, startBench } from "../../simulators/service/service-http.ts";
import { silentLog } from "../../support/silent-log.ts";
import { writerIn } from "../../support/store.ts";
import { memoryFolder } from "../../support/temporary.ts";

const NAME = "stream-1";
const ACK_DEADLINE_MS = 1_500;

let writer: Writer;
let first: readonly Placed[];
let chunk: LogChunk;
const undos: (() => unknown)[] = [];

beforeAll(() => {
  const folder = memoryFolder((undo) => void undos.push(undo));
  fillStore(folder, 0.03, { has_facts: true });
  writer = writerIn(folder);
  const { newest_seq } = writer.openStream("booth-1");
  const begin = writer.chunks(STREAM, 1, newest_seq)[0].to;
  first = writer.read(STREAM, 1, 100);
  const next = writer.chunks(STREAM, begin + 1, newest_seq)[0].chunk;
  if (next === null || next.facts.length === 0) throw new Error("no chunk with facts");
  chunk = next;
});
afterAll(() => {
  writer.close();
  for (const undo of undos) undo();
});

let bench: Running;
let tap: MqttTap;
let session: LinkSession;
beforeEach(async () => {
  bench = await startBench();
  await claim(bench);
  tap = await mqttTap({ target: () => bench.running.mqttUrl });
  session = await connected("service");
});
afterEach(async () => {
  await session.close();
  await bench.running.stop();
});

function connected(confirmed_by: LinkAccount["confirmed_by"]): Promise<LinkSession> {
  const setup = { clock: systemClock(), service_time: createServiceTime(), agentVersion: "0", log: silentLog };
  const link = createMqttLink({ ...setup, ack_deadline_ms: ACK_DEADLINE_MS });
  const names = { gateway_id: "gw-1", client_id: "gw-1", username: "gw-1", credential: "secret of gw-1" };
  const account = { ...names, topic_prefix: "bg/v1/gw-1", url: tap.url, ws_url: null, confirmed_by };
  return link.connect(account, new AbortController().signal);
}

const sendFirst = () => session.send(NAME, 1, first);
const sendChunk = () => session.sendChunk(NAME, 1, chunk);

/** Counts the chunk's seqs that the service has stored with the same content. */
function heldOfChunk(): number {
  const stream = findStream(bench.running.db, NAME);
  const stored = stream === undefined ? [] : storedRange(bench.running.db, stream, [chunk.from, chunk.to]);
  const own: Placed[] = [];
  while ((own.at(-1)?.seq ?? 0) < chunk.to)
    own.push(...writer.read(STREAM, (own.at(-1)?.seq ?? chunk.from - 1) + 1, 5_000));
  const lines = contentLines(own);
  return stored.filter((record) => lines.get(record.seq) === contentLine(record)).length;
}

const payloads = (topic: string): readonly Buffer[] =>
  tap.publishes.filter((one) => one.direction === "up" && one.topic.endsWith(topic)).map(({ payload }) => payload);

it("the service's first ack enables chunks (compressed blocks) and zstd compression for the session", async () => {
  expect(session.takesChunks()).toBe(false);
  expect(await sendFirst()).toMatchObject({ kind: "acked", is_proven: true });
  expect(session.takesChunks()).toBe(true);
  const held_seq = chunk.to;
  expect(await sendChunk()).toEqual({ kind: "acked", rejected: [], is_proven: true, held_seq });
  expect(heldOfChunk()).toBe(chunk.to - chunk.from + 1);
  expect(await sendFirst()).toMatchObject({ kind: "acked" });
  expect(payloads("/up/batch").map((payload) => payload.readUInt16BE(0))).toEqual([0x1f8b, 0x28b5]);
});

it("a chunk (compressed block) whose ack was lost is resent with the same bytes, and a duplicated ack counts once", async () => {
  await sendFirst();
  bench.running.faults.add({ topic: "down/ack", lose_ack: true });
  expect(await sendChunk()).toEqual({ kind: "keep", reason: message("service.no_ack"), is_silent: true });
  bench.running.faults.add({ topic: "down/ack", double_ack: true });
  expect(await sendChunk()).toMatchObject({ kind: "acked", rejected: [] });
  const [once, again] = payloads("/up/chunk");
  expect(once?.equals(again ?? Buffer.alloc(0))).toBe(true);
  expect(heldOfChunk()).toBe(chunk.to - chunk.from + 1);
});

it("a truncated chunk (compressed block) gets an ack with another hash, and no record counts as acked", async () => {
  await sendFirst();
  bench.running.faults.add({ topic: "up/chunk", cut: true });
  expect(await sendChunk()).toMatchObject({ kind: "keep", is_silent: true });
  expect(heldOfChunk()).toBe(0);
});

it("a chunk (compressed block) of another generation, or in conflict with stored records, is rejected as a whole", async () => {
  await sendFirst();
  expect(await session.sendChunk(NAME, 9, chunk)).toMatchObject({ kind: "refused", reason: "generation" });
  const [record] = writer.read(STREAM, chunk.from + 5, 1);
  if (record?.kind !== "r") throw new Error("no reading");
  expect(await session.send(NAME, 1, [{ ...record, value: -1 }])).toMatchObject({ kind: "acked" });
  expect(await sendChunk()).toMatchObject({ kind: "conflict", seq: record.seq });
  expect(heldOfChunk()).toBe(0);
});

it("chunks (compressed blocks) are never sent if only the broker, and not the service, acks messages", async () => {
  await session.close();
  session = await connected("broker");
  expect(await sendFirst()).toMatchObject({ kind: "acked", is_proven: false });
  expect(session.takesChunks()).toBe(false);
});
