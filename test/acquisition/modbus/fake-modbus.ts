import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/**
 * A scripted Modbus TCP server on loopback. It answers according to the specification unless the script says otherwise.
 */

export interface FakeRequest {
  readonly transaction: number;
  readonly unit: number;
  readonly code: number;
  readonly address: number;
  readonly count: number;
}

/** Bytes to send in pieces, or another reaction. */
export type FakeReply = readonly Buffer[] | "silence" | "close" | "reset";
export type FakeScript = (request: FakeRequest, usual: Buffer, socket: Socket) => FakeReply | undefined;

export interface FakeModbus {
  readonly port: number;
  readonly requests: FakeRequest[];
  /** Number of connections accepted so far. */
  readonly accepted: () => number;
  /** Returns the reaction to a request; undefined: the usual answer. */
  script: FakeScript | null;
  /** Returns the value of a register, or 0 or 1 for a bit. */
  memory: (code: number, address: number) => number;
  /** Returns whether an address answers exception 2. */
  holes: (code: number, address: number) => boolean;
  closeClients(): void;
  stop(): Promise<void>;
}

/** Returns different values for neighboring addresses and tables, so that a shifted answer gives a wrong value. */
export function pattern(code: number, address: number): number {
  return code <= 2 ? (address * 7 + (address >> 3) + code) & 1 : (address * 2654435761 + code * 977) >>> 16;
}

export async function fakeModbus(): Promise<FakeModbus> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => undefined); // resets are part of the script
    socket.on("close", () => sockets.delete(socket));
    let inbox = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      inbox = Buffer.concat([inbox, bytes]);
      while (inbox.length >= 12) {
        answer(inbox.subarray(0, 12), socket);
        inbox = inbox.subarray(12);
      }
    });
  });
  const answer = (frame: Buffer, socket: Socket): void => {
    const request: FakeRequest = {
      transaction: frame.readUInt16BE(0),
      unit: frame.readUInt8(6),
      code: frame.readUInt8(7),
      address: frame.readUInt16BE(8),
      count: frame.readUInt16BE(10),
    };
    fake.requests.push(request);
    const usual = usualAnswer(fake, request);
    const reply = fake.script?.(request, usual, socket) ?? [usual];
    if (reply === "close") socket.end();
    else if (reply === "reset") socket.resetAndDestroy();
    else if (reply !== "silence") for (const piece of reply) socket.write(piece);
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const fake: FakeModbus = {
    port: (server.address() as AddressInfo).port,
    requests: [],
    accepted: () => accepted,
    script: null,
    memory: pattern,
    holes: () => false,
    closeClients: () => {
      for (const socket of sockets) socket.end();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return fake;
}

/** Makes a frame with the request's transaction and unit and the given body (function code first). */
export function frame(request: Pick<FakeRequest, "transaction" | "unit">, body: readonly number[]): Buffer {
  const header = Buffer.alloc(7);
  header.writeUInt16BE(request.transaction & 0xffff, 0);
  header.writeUInt16BE(body.length + 1, 4);
  header.writeUInt8(request.unit, 6);
  return Buffer.concat([header, Buffer.from(body)]);
}

export function exception(request: FakeRequest, code: number): Buffer {
  return frame(request, [request.code | 0x80, code]);
}

/** Returns the answer according to the specification. */
export function usualAnswer(device: Pick<FakeModbus, "memory" | "holes">, request: FakeRequest): Buffer {
  const addresses = Array.from({ length: request.count }, (_, i) => request.address + i);
  if (request.code < 1 || request.code > 4) return exception(request, 1);
  if (addresses.some((address) => address > 0xffff || device.holes(request.code, address)))
    return exception(request, 2);
  const values = addresses.map((address) => device.memory(request.code, address));
  const data =
    request.code <= 2
      ? Array.from({ length: Math.ceil(values.length / 8) }, (_, byte) =>
          values.slice(byte * 8, byte * 8 + 8).reduce((sum, bit, i) => sum | (bit << i), 0),
        )
      : values.flatMap((value) => [value >> 8, value & 0xff]);
  return frame(request, [request.code, data.length, ...data]);
}
