import { render } from "../../src/domain/messages/render.ts";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { OutputStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import { breaksTold } from "../support/link-kept.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { withOutputs } from "./plant.ts";

/** Outputs with hostile brokers, which send raw bytes of MQTT 3.1.1. */

const CONNACK = Buffer.of(0x20, 2, 0, 0);
/** Memory that a flood may use until it is collected. */
const MOST_GROWTH_BYTES = 80e6;

/** Encodes the length of a packet in up to four bytes. */
function lengthOf(bytes: number): Buffer {
  const all: number[] = [];
  for (let rest = bytes; ; rest = Math.floor(rest / 128)) {
    all.push(rest < 128 ? rest : (rest % 128) | 128);
    if (rest < 128) return Buffer.from(all);
  }
}

function publish(topic: string, payload: Buffer, { qos = 0, retain = false } = {}): Buffer {
  const name = Buffer.from(topic);
  const id = qos === 0 ? Buffer.alloc(0) : Buffer.of(0, 7);
  const body = Buffer.concat([Buffer.of(name.length >> 8, name.length & 255), name, id, payload]);
  return Buffer.concat([Buffer.of(0x30 | (qos << 1) | Number(retain)), lengthOf(body.length), body]);
}

/** Confirms subscriptions, publishes and pings as a broker does. `stands`: called after the client's first packet in the session. */
function confirming(socket: Socket, { acks = true, stands = (): void => undefined } = {}): void {
  let inbox = Buffer.alloc(0);
  let is_told = false;
  socket.on("data", (bytes) => {
    inbox = Buffer.concat([inbox, bytes]);
    for (;;) {
      let length = 0;
      let at = 1;
      for (let shift = 0; at < inbox.length; shift += 7) {
        const byte = inbox.readUInt8(at++);
        length += (byte & 127) * 2 ** shift;
        if (byte < 128) break;
      }
      if (inbox.length < 2 || inbox.length < at + length) return;
      const type = inbox.readUInt8(0);
      const body = inbox.subarray(at, at + length);
      inbox = inbox.subarray(at + length);
      if (type >> 4 === 1) socket.write(CONNACK);
      else if (!is_told) {
        is_told = true;
        stands();
      }
      if (!acks) continue;
      if (type >> 4 === 8) socket.write(Buffer.of(0x90, 3, body.readUInt8(0), body.readUInt8(1), 1));
      if (type >> 4 === 12) socket.write(Buffer.of(0xd0, 0));
      const topic = type >> 4 === 3 ? body.readUInt16BE(0) : 0;
      if (type >> 4 === 3 && (type & 6) !== 0)
        socket.write(Buffer.concat([Buffer.of(0x40, 2), body.subarray(2 + topic, 4 + topic)]));
    }
  });
}

async function broker(play: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    play(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Sends the bytes repeatedly once the session is established. */
function after(bytes: Buffer, times: number): (socket: Socket) => void {
  return (socket) => {
    let left = times;
    const more = (): void => {
      while (left > 0 && socket.writable) {
        left -= 1;
        if (!socket.write(bytes)) {
          socket.once("drain", more);
          return;
        }
      }
    };
    confirming(socket, { stands: more });
  };
}

const NCMD = (gateway: string): string => `spBv1.0/plant/NCMD/${gateway}`;

interface Play {
  readonly name: string;
  readonly play: (socket: Socket, gateway: string) => void;
  readonly sparkplug?: boolean;
  /** The expected state of the output. */
  readonly told: (output: OutputStatus) => boolean;
}

const isDown =
  (pattern: RegExp) =>
  (output: OutputStatus): boolean =>
    output.link.kind === "down" && pattern.test(render(output.link.reason));
/** Each session gets all 50; on a busy machine there may be a second session. */
const isCounted = ({ link, ignored }: OutputStatus): boolean => link.kind === "up" && ignored > 0 && ignored % 50 === 0;
const random = Buffer.from(Array.from({ length: 4_000 }, (_, index) => (index * 7_919 + 13) & 255));

const PLAYS: readonly Play[] = [
  { name: "closes", play: (socket) => void socket.end(), told: isDown(/closed|reset/i) },
  { name: "mute", play: () => undefined, told: isDown(/closed|timeout|answer|without/i) },
  { name: "garbage", play: (socket) => void socket.write(random), told: isDown(/./) },
  { name: "no-acks", play: (socket) => confirming(socket, { acks: false }), told: isDown(/doesn't confirm/) },
  {
    name: "huge",
    play: (socket) => after(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, ...random]), 50)(socket),
    told: isDown(/packet that is too long/),
  },
  {
    name: "flood",
    play: (socket) => after(publish("x/y", random), 100_000)(socket),
    told: isDown(/too many messages in one second/),
  },
  {
    name: "tiny-flood",
    play: (socket) => after(Buffer.alloc(40_000, Buffer.of(0xd0, 0)), 10_000)(socket),
    told: isDown(/too many messages in one second/),
  },
  { name: "qos-2", play: (socket) => after(publish("x/y", random, { qos: 2 }), 10)(socket), told: isDown(/QoS 2/) },
  // Messages without a subscription are counted, and the session continues.
  {
    name: "strangers",
    play: (socket) => after(publish("booths/x/set", Buffer.from("1"), { retain: true }), 50)(socket),
    told: isCounted,
  },
  {
    name: "commands",
    sparkplug: true,
    play: (socket, gateway) => after(publish(NCMD(gateway), random), 50)(socket),
    told: isCounted,
  },
  {
    name: "device-commands",
    sparkplug: true,
    play: (socket, gateway) =>
      after(publish(`spBv1.0/plant/DCMD/${gateway}/booth-1`, random, { retain: true }), 50)(socket),
    told: isCounted,
  },
];

/** The most outputs that a configuration may have. */
const TOGETHER = 4;
const ROUNDS = Array.from({ length: Math.ceil(PLAYS.length / TOGETHER) }, (_, index) =>
  PLAYS.slice(index * TOGETHER, (index + 1) * TOGETHER),
);

test.each(ROUNDS.map((plays) => [plays.map(({ name }) => name).join(", "), plays] as const))(
  "hostile brokers (%s) affect only the status of their own outputs, and never the polls",
  async (_, plays) => {
    const site = await realSite({ speed: 1, serial: SERIAL });
    const urls = await Promise.all(plays.map(({ play }) => broker((socket) => play(socket, "edge"))));
    withOutputs(
      site,
      plays.map(({ name, sparkplug = false }, index) => ({
        name,
        url: urls[index] ?? "",
        mqtt_version: "v3.1.1",
        ...(sparkplug ? { sparkplug: { group_id: "plant", edge_node_id: "edge" } } : { mqtt: {} }),
      })),
    );
    const agent = site.startAgent();
    await eventually("the PLC is read", async () =>
      (await site.status())?.booths[0]?.plc.kind === "up" ? true : undefined,
    );
    for (const { name, told } of plays) {
      const found = await eventually(`${name} is told`, async () => {
        const output = (await site.status())?.outputs.find((one) => one.name === name);
        return output !== undefined && told(output) ? output : undefined;
      });
      expect(found.name).toBe(name);
    }
    const [booth] = (await site.status())?.booths ?? [];
    expect(breaksTold(agent)).toEqual([]);
    expect(booth?.plc).toMatchObject({ shows_serial: SERIAL });
    expect(booth?.log.trouble).toBe("");
    const resident = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${agent.pid}/status`, "utf8"))?.[1]) * 1024;
    process.stdout.write(`${(resident / 1e6).toFixed(0)} MB\n`);
    expect(resident).toBeLessThan(200e6 + MOST_GROWTH_BYTES);
  },
);
