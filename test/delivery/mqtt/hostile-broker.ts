import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished, expect } from "vitest";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { createMqttLink, type MqttLink } from "../../../src/delivery/mqtt/link.ts";
import type { LinkAccount } from "../../../src/delivery/port.ts";
import type { Random } from "../../../src/domain/machine.ts";
import { corpusOf } from "../../fuzz/corpus.ts";
import { T0, THREE_RECORDS } from "../../support/records.ts";
import { silentLog } from "../../support/silent-log.ts";
import { virtualClock } from "../../../simulators/virtual/clock.ts";
import { recordFault } from "../../support/faults.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { seedOf } from "../../support/seed.ts";

/** Packets that no broker should send, in MQTT 5 or invalid. */
const CORPUS = corpusOf({ name: "mqtt-packets", format: "hex" });

const ACK_TOPIC = "bg/v1/g/down/ack";

function publishOf(payload: string): Buffer {
  const topic = Buffer.from(ACK_TOPIC);
  const body = Buffer.concat([Buffer.from([0, topic.length]), topic, Buffer.from([0]), Buffer.from(payload)]);
  return Buffer.concat([Buffer.from([0x30, (body.length & 0x7f) | 0x80, body.length >> 7]), body]);
}

/** Acks that look right but are false. */
const ACKS = [
  { st: "s", s0: 1, n: 3, hash: "0".repeat(64), window: 4 },
  { st: "s", s0: 1, n: 3, hash: "", reject: [{ seq: -1, reason: "x" }], window: 1e9 },
  { st: "s", s0: 1, n: 3, hash: {}, window: null },
  { st: ["s"], s0: "1", n: "3", hash: "0".repeat(64), acked_seq: 1e300, window: -1 },
  { __proto__: null, st: "s", s0: 1, n: 3, hash: "0".repeat(64), error: "x".repeat(100) },
].map((ack) => publishOf(JSON.stringify(ack)));

/** Returns the length of the first complete packet; null: it is incomplete. */
function packetLength(bytes: Buffer): number | null {
  let length = 0;
  let at = 1;
  for (; at < 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return null;
    length += (byte & 0x7f) * 128 ** (at - 1);
    if (byte < 0x80) break;
  }
  const end = at + 1 + length;
  return bytes.length >= end ? end : null;
}

/** Returns the answer of a correct broker. */
function answerTo(packet: Buffer): Buffer {
  const type = (packet[0] ?? 0) >> 4;
  if (type === 1) return CONNACK;
  if (type === 8) return subackTo(packet);
  if (type === 12) return Buffer.from("d000", "hex");
  if (type !== 3) return Buffer.alloc(0);
  const start = packet.length > 129 ? 3 : 2;
  const topic = packet.readUInt16BE(start);
  return Buffer.from([0x40, 0x02, ...packet.subarray(start + 2 + topic, start + 4 + topic)]);
}

/** Damages an answer of this broker. */
function spoilt(answer: Buffer, random: Random): Buffer {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const dice = random.next();
  if (dice < 0.45) return answer;
  if (dice < 0.65) return Buffer.concat([answer, pick(CORPUS).bytes]);
  if (dice < 0.75) return Buffer.concat([answer, pick(ACKS)]);
  if (dice < 0.85) return answer.subarray(0, Math.floor(random.next() * answer.length));
  const bytes = Buffer.concat([answer, pick(ACKS)]);
  for (let flips = 1 + Math.floor(random.next() * 4); flips > 0; flips -= 1) {
    bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
  }
  return bytes;
}

/** Listens on loopback until the test's end, which closes all its connections. Returns the URL. */
export async function brokerOn(take: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => socket.destroy()));
    take(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** CONNACK of MQTT 5 that accepts the connection. */
export const CONNACK = Buffer.from("2003000000", "hex");

/** Accepts a connection after its CONNECT, and its subscription. Then calls `next`. */
export function acceptSession(socket: Socket, next: () => void): void {
  socket.write(CONNACK);
  socket.once("data", (subscribe) => {
    socket.write(subackTo(subscribe));
    next();
  });
}

export function subackTo(subscribe: Buffer): Buffer {
  return Buffer.of(0x90, 4, subscribe.readUInt8(2), subscribe.readUInt8(3), 0, 1);
}

interface HostileBroker {
  readonly url: string;
  /** Number of damaged answers. */
  readonly spoilt: () => number;
}

async function hostileBroker(random: Random): Promise<HostileBroker> {
  let count = 0;
  const serve = (socket: Socket): void => {
    let rest = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let length = packetLength(rest); length !== null; length = packetLength(rest)) {
        const answer = answerTo(rest.subarray(0, length));
        rest = rest.subarray(length);
        const said = spoilt(answer, random);
        if (!said.equals(answer)) count += 1;
        socket.write(said);
        if (random.next() < 0.02) socket.destroy();
      }
    });
  };
  return { url: await brokerOn(serve), spoilt: () => count };
}

/** Makes a link with short deadlines, for brokers that never answer correctly. */
export function impatientLink(): MqttLink {
  return createMqttLink({
    clock: virtualClock({ wall: T0 }),
    service_time: createServiceTime(),
    agentVersion: "0",
    log: silentLog,
    connect_timeout_ms: 1_500,
    ack_deadline_ms: 500,
  });
}

export function accountAt(url: string): LinkAccount {
  const names = { gateway_id: "g", client_id: "g", username: "g", credential: "secret", topic_prefix: "bg/v1/g" };
  return { ...names, url, ws_url: null, confirmed_by: "service" };
}

const AT_ONCE = 50;
/** Longer than any deadline of the link, so a session that is open after this time never ends. */
const WITHIN_MS = 30_000;

type End = "refused" | "lost" | "kept" | "acked";

/** Runs a session with the broker to its end. */
async function session(url: string): Promise<End> {
  const within = AbortSignal.timeout(WITHIN_MS);
  const opened = await impatientLink()
    .connect(accountAt(url), within)
    .catch(() => null);
  if (opened === null) return "refused";
  // The hello is never confirmed: the deadline of a publish is longer than this session.
  opened.hello([]).catch(() => undefined);
  const outcome = await opened.send("s", 1, THREE_RECORDS);
  await opened.close();
  if (outcome.kind === "acked") return "acked";
  return outcome.kind === "keep" && outcome.reason === "no ack in time" ? "kept" : "lost";
}

/**
 * Runs sessions with a broker that damages every other packet: each session ends, none makes the agent fail, and none
 * moves a cursor.
 */
export async function surviveHostilePackets(sessions: number): Promise<void> {
  const random = seededRandom(seedOf("hostile packets"));
  const broker = await hostileBroker(random);
  const ends: Record<End, number> = { refused: 0, lost: 0, kept: 0, acked: 0 };
  for (let begun = 0; begun < sessions; begun += AT_ONCE) {
    const some = await Promise.all(Array.from({ length: AT_ONCE }, () => session(broker.url)));
    for (const end of some) ends[end] += 1;
  }
  process.stdout.write(`hostile packets: ${broker.spoilt()} in ${JSON.stringify(ends)}\n`);
  const passed = ends.acked === 0;
  const fault = "hostile MQTT packets";
  recordFault({ row: 36, fault, injected: broker.spoilt(), lost: 0, doubled: 0, wrong: ends.acked, passed });
  expect(ends.acked).toBe(0);
  expect(ends.refused).toBeGreaterThan(sessions / 20);
  expect(ends.lost + ends.kept).toBeGreaterThan(sessions / 20);
}
