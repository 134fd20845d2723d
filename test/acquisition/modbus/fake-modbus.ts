import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A scripted Modbus TCP server on loopback: answers by the book unless the script says otherwise. */

export interface FakeRequest {
  readonly transaction: number;
  readonly unit: number;
  readonly code: number;
  readonly address: number;
  readonly count: number;
}

/** Bytes to send, in pieces; or what to do instead. */
export type FakeReply = readonly Buffer[] | "silence" | "close" | "reset";
export type FakeScript = (request: FakeRequest, usual: Buffer, socket: Socket) => FakeReply | undefined;

export interface FakeModbus {
  readonly port: number;
  readonly requests: FakeRequest[];
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** Undefined from the script: the usual answer. */
  script: FakeScript | null;
  /** Value of a register or (0, 1) of a bit. */
  memory: (code: number, address: number) => number;
  /** Addresses that answer exception 2. */
  holes: (code: number, address: number) => boolean;
  closeClients(): void;
  stop(): Promise<void>;
}

/** Distinct for neighbouring addresses and tables, so that a shifted answer is a wrong value. */
export function pattern(code: number, address: number): number {
  return code <= 2 ? (address * 7 + (address >> 3) + code) & 1 : (address * 2654435761 + code * 977) >>> 16;
}

export async function fakeModbus(): Promise<FakeModbus> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on("error", () => undefined); // resets are part of the play
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

/** A frame with the request's transaction, unit and the given body (function code first). */
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

/** The answer by the book. */
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
