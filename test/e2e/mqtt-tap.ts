import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A PUBLISH in wire format. */
export interface TappedPublish {
  readonly direction: "up" | "down";
  readonly topic: string;
  readonly qos: number;
  readonly retain: boolean;
  readonly payload: Buffer;
}

/** The CONNECT of a session. */
export interface TappedConnect {
  readonly protocol_version: number;
  readonly client_id: string;
  readonly keepalive_s: number;
  readonly clean: boolean;
  readonly will: {
    readonly topic: string;
    readonly payload: Buffer;
    readonly qos: number;
    readonly retain: boolean;
  } | null;
  readonly username: string;
  readonly password: string;
}

export interface MqttTap {
  readonly url: string;
  readonly connects: readonly TappedConnect[];
  readonly publishes: readonly TappedPublish[];
  /** Opens the tap. Until then connections wait. */
  open(): void;
}

export interface MqttTapOptions {
  /** URL of the broker, requested at each connection. */
  readonly target: () => string;
  readonly isOpen?: boolean;
  /**
   * Called with each PUBLISH before it is forwarded. If it returns false, this packet and all later ones of the
   * connection are dropped.
   */
  readonly onPublish?: (publish: TappedPublish) => boolean;
}

/** Starts a proxy for a broker that parses the packets and forwards them unchanged. The test's end closes it. */
export async function mqttTap(options: MqttTapOptions): Promise<MqttTap> {
  const connects: TappedConnect[] = [];
  const publishes: TappedPublish[] = [];
  const sockets = new Set<Socket>();
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  if (options.isOpen !== false) open();
  const pass = (inbound: Socket): void => {
    const target = new URL(options.target());
    const outbound = connect(Number(target.port), target.hostname);
    let version = 4;
    const take = (direction: "up" | "down", packet: Buffer): boolean => {
      const kind = (packet[0] ?? 0) >> 4;
      if (kind === 1) {
        const parsed = parseConnect(packet);
        version = parsed.protocol_version;
        connects.push(parsed);
      }
      if (kind !== 3) return true;
      const publish = parsePublish(packet, { direction, version });
      publishes.push(publish);
      return options.onPublish?.(publish) ?? true;
    };
    relay(inbound, outbound, (packet) => take("up", packet));
    relay(outbound, inbound, (packet) => take("down", packet));
    for (const socket of [inbound, outbound]) sockets.add(socket.on("close", () => sockets.delete(socket)));
  };
  const server = createServer({ pauseOnConnect: true }, (inbound) => {
    sockets.add(inbound.on("error", () => inbound.destroy()));
    void opened.then(() => pass(inbound));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { url: `mqtt://127.0.0.1:${port}`, connects, publishes, open };
}

/** Forwards whole packets. If one end closes, the other is closed too. */
function relay(from: Socket, to: Socket, take: (packet: Buffer) => boolean): void {
  let rest: Buffer = Buffer.alloc(0);
  let isCut = false;
  from.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let packet = firstPacket(rest); packet !== null && !isCut; packet = firstPacket(rest)) {
      rest = rest.subarray(packet.length);
      isCut = !take(packet);
      if (!isCut) to.write(packet);
    }
  });
  from.on("close", () => to.destroy());
  from.on("error", () => to.destroy());
  from.resume();
}

/** Returns the first packet; null if it is incomplete (MQTT 2.2). */
function firstPacket(bytes: Buffer): Buffer | null {
  const length = varint(bytes, 1);
  if (length === null) return null;
  const end = length.next + length.value;
  return bytes.length >= end ? bytes.subarray(0, end) : null;
}

function varint(bytes: Buffer, at: number): { readonly value: number; readonly next: number } | null {
  let value = 0;
  for (let i = 0; i < 4; i += 1) {
    const byte = bytes[at + i];
    if (byte === undefined) return null;
    value += (byte & 0x7f) * 128 ** i;
    if (byte < 0x80) return { value, next: at + i + 1 };
  }
  throw new Error("a length of more than four bytes");
}

/** Reads the packet's fields one after the other. */
function fields(packet: Buffer) {
  let at = varint(packet, 1)?.next ?? packet.length;
  const bytes = (count: number): Buffer => packet.subarray(at, (at += count));
  const number = (count: number): number => bytes(count).readUIntBE(0, count);
  const binary = (): Buffer => bytes(number(2));
  return {
    number,
    binary,
    text: () => binary().toString("utf8"),
    properties: (version: number) => {
      if (version < 5) return;
      const length = varint(packet, at);
      at = (length?.next ?? at) + (length?.value ?? 0);
    },
    rest: () => packet.subarray(at),
  };
}

function parseConnect(packet: Buffer): TappedConnect {
  const read = fields(packet);
  read.text();
  const protocol_version = read.number(1);
  const flags = read.number(1);
  const keepalive_s = read.number(2);
  read.properties(protocol_version);
  const client_id = read.text();
  const hasWill = (flags & 0x04) !== 0;
  if (hasWill) read.properties(protocol_version);
  const will = hasWill
    ? { topic: read.text(), payload: read.binary(), qos: (flags >> 3) & 3, retain: (flags & 0x20) !== 0 }
    : null;
  const username = (flags & 0x80) === 0 ? "" : read.text();
  const password = (flags & 0x40) === 0 ? "" : read.text();
  return { protocol_version, client_id, keepalive_s, clean: (flags & 0x02) !== 0, will, username, password };
}

function parsePublish(packet: Buffer, of: { direction: "up" | "down"; version: number }): TappedPublish {
  const flags = packet[0] ?? 0;
  const qos = (flags >> 1) & 3;
  const read = fields(packet);
  const topic = read.text();
  if (qos > 0) read.number(2);
  read.properties(of.version);
  return { direction: of.direction, topic, qos, retain: (flags & 1) === 1, payload: Buffer.from(read.rest()) };
}
