import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** A Modbus TCP device in a process of its own, so that its CPU isn't counted. Every fifth register changes each second. */
export async function startDevice(program: string): Promise<{ readonly port: number; readonly stop: () => void }> {
  const device = fork(program, ["device"], { stdio: "inherit" });
  const [port] = (await once(device, "message")) as [number];
  return { port, stop: () => device.disconnect() };
}

/** Answers a read of any table; any other request gets exception 1. */
function answerTo(request: Buffer): Buffer {
  const fn = request.readUInt8(7);
  const address = request.readUInt16BE(8);
  const count = request.readUInt16BE(10);
  const isRead = fn >= 1 && fn <= 4;
  const bytes = fn <= 2 ? Math.ceil(count / 8) : 2 * count;
  const body = isRead ? Buffer.alloc(2 + bytes) : Buffer.from([fn | 0x80, 1]);
  if (isRead) body.set([fn, bytes]);
  const second = Math.floor(Date.now() / 1_000);
  for (let at = 0; (fn === 3 || fn === 4) && at < count; at += 1) {
    const register = address + at;
    // Register 0 is the mode: spray.
    body.writeUInt16BE(register === 0 ? 3 : register % 5 === 0 ? 100 + (second % 50) : 7, 2 + 2 * at);
  }
  const head = Buffer.from(request.subarray(0, 7));
  head.writeUInt16BE(1 + body.length, 4);
  return Buffer.concat([head, body]);
}

function serve(): void {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", (request) => {
      if (request.length >= 12) socket.write(answerTo(request));
    });
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
  process.on("disconnect", () => process.exit());
}

if (process.argv[2] === "device") serve();
