import { connect } from "node:net";
import type { Socket } from "node:net";
import type { SimClock } from "../../../simulators/clock.ts";

/** A clock that stands still until the test moves it; sleepers wake when their time has come. */
export interface HandClock extends SimClock {
  set(at: number): void;
  readonly sleepers: () => number;
}

export function handClock(start: number): HandClock {
  let now = start;
  const waiting = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    boot: "test",
    wall: () => now,
    mono: () => now - start,
    sleepers: () => waiting.size,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (ms <= 0) {
          resolve();
          return;
        }
        const entry = { until: now + ms, wake: resolve };
        waiting.add(entry);
        signal?.addEventListener("abort", () => {
          waiting.delete(entry);
          reject(signal.reason as Error);
        });
      }),
    set: (at) => {
      now = at;
      for (const entry of [...waiting].filter(({ until }) => until <= at)) {
        waiting.delete(entry);
        entry.wake();
      }
    },
  };
}

export interface RawClient {
  readonly socket: Socket;
  send(bytes: Buffer): void;
  /** Resolves with the next `count` bytes. */
  take(count: number): Promise<Buffer>;
  /** Received bytes that `take` hasn't returned yet. */
  pending(): number;
  readonly closed: Promise<void>;
}

/** A client that knows nothing of Modbus. */
export async function rawClient(port: number): Promise<RawClient> {
  const socket = connect(port, "127.0.0.1");
  let received = Buffer.alloc(0);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    socket.emit("more");
  });
  socket.on("error", () => socket.destroy());
  await Promise.race([new Promise((resolve) => socket.once("connect", resolve)), closed]);
  const more = (): Promise<boolean> => new Promise((resolve) => socket.once("more", () => resolve(false)));
  return {
    socket,
    closed,
    pending: () => received.length,
    send: (bytes) => void socket.write(bytes),
    take: async (count) => {
      while (received.length < count) {
        const isOver = await Promise.race([more(), closed.then(() => true)]);
        if (isOver && received.length < count) throw new Error(`closed after ${received.length} of ${count} bytes`);
      }
      const taken = received.subarray(0, count);
      received = received.subarray(count);
      return taken;
    },
  };
}

/** A read request. */
export function request(
  transaction: number,
  functionCode: number,
  [address, count]: readonly [number, number],
): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt16BE(transaction, 0);
  bytes.writeUInt16BE(6, 4);
  bytes.writeUInt8(1, 6);
  bytes.writeUInt8(functionCode, 7);
  bytes.writeUInt16BE(address, 8);
  bytes.writeUInt16BE(count, 10);
  return bytes;
}
